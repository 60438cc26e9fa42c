//! Plans of products by shape.
//!
//! Their making allocates. Plans of other ops are a few words, made in each call.

use std::{
    collections::{HashMap, VecDeque},
    hash::Hash,
    sync::{Arc, Mutex, PoisonError},
};

use nn_ops::{Activation, GemmPlan, Layout, LinearBackwardPlan, LinearPlan, NnError};

use crate::product::Product;

/// Most plans of one kind; the oldest makes room for a new one.
const MOST: usize = 256;

/// A plan of products with the layouts of its operands.
pub(crate) struct ProductPlan {
    pub(crate) plan: GemmPlan,
    pub(crate) a: Layout,
    pub(crate) b: Layout,
    pub(crate) c: Layout,
}

/// The plans of a linear layer and of its gradients, with their layouts.
pub(crate) struct LayerPlan {
    pub(crate) forward: LinearPlan,
    pub(crate) backward: LinearBackwardPlan,
    pub(crate) x: Layout,
    pub(crate) w: Layout,
    pub(crate) bias: Layout,
    pub(crate) y: Layout,
}

/// The plans of a dispatcher.
#[derive(Default)]
pub(crate) struct Plans {
    products: Cache<Product, ProductPlan>,
    layers: Cache<[usize; 3], LayerPlan>,
}

impl Plans {
    pub(crate) fn product(&self, product: Product) -> Result<Arc<ProductPlan>, NnError> {
        self.products.get(product, || {
            let Product { batch, m, k, n, transpose_a, transpose_b } = product;
            let stored = |rows: usize, columns: usize, transpose: bool| match transpose {
                false => Layout::contiguous(&[batch, rows, columns]),
                true => Layout::contiguous(&[batch, columns, rows])?.transposed(),
            };
            let (a, b, c) = (stored(m, k, transpose_a)?, stored(k, n, transpose_b)?, stored(m, n, false)?);
            Ok(ProductPlan { plan: GemmPlan::new(&a, &b, &c)?, a, b, c })
        })
    }

    /// The plans of a layer of `[m, k]` inputs and `[k, n]` weights.
    pub(crate) fn layer(&self, shape: [usize; 3]) -> Result<Arc<LayerPlan>, NnError> {
        self.layers.get(shape, || {
            let [m, k, n] = shape;
            let (x, w, y) = (Layout::contiguous(&[m, k])?, Layout::contiguous(&[k, n])?, Layout::contiguous(&[m, n])?);
            Ok(LayerPlan {
                forward: LinearPlan::new(&x, &w, Activation::Identity, &y)?,
                backward: LinearBackwardPlan::new(&x, &w)?,
                bias: Layout::contiguous(&[n])?,
                x,
                w,
                y,
            })
        })
    }
}

/// At most [`MOST`] values by key.
struct Cache<K, P> {
    entries: Mutex<Entries<K, P>>,
}

struct Entries<K, P> {
    plans: HashMap<K, Arc<P>>,
    /// Keys, the oldest first.
    order: VecDeque<K>,
}

impl<K, P> Default for Cache<K, P> {
    fn default() -> Self {
        Self { entries: Mutex::new(Entries { plans: HashMap::new(), order: VecDeque::new() }) }
    }
}

impl<K: Copy + Eq + Hash, P> Cache<K, P> {
    /// The value of `key`, made if it is not there.
    fn get(&self, key: K, make: impl FnOnce() -> Result<P, NnError>) -> Result<Arc<P>, NnError> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(plan) = entries.plans.get(&key) {
            return Ok(plan.clone());
        }
        let plan = Arc::new(make()?);
        if entries.order.len() == MOST
            && let Some(oldest) = entries.order.pop_front()
        {
            entries.plans.remove(&oldest);
        }
        entries.order.push_back(key);
        entries.plans.insert(key, plan.clone());
        Ok(plan)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_plan_makes_room() {
        let cache = Cache::<usize, usize>::default();
        let made = |key: usize| {
            let mut is_new = false;
            let value = cache.get(key, || {
                is_new = true;
                Ok(key + 1)
            });
            assert_eq!(value.as_deref(), Ok(&(key + 1)));
            is_new
        };
        assert!((0..MOST).all(made));
        assert!(!(0..MOST).any(made));
        assert!(made(MOST));
        assert!(!made(1));
        assert!(made(0), "the oldest plan is still there");
        assert_eq!(cache.entries.lock().unwrap().plans.len(), MOST);
    }

    #[test]
    fn a_refused_plan_is_not_kept() {
        let cache = Cache::<usize, usize>::default();
        let refusal = NnError::Overflow { op: "matmul" };
        assert_eq!(cache.get(0, || Err(refusal.clone())), Err(refusal));
        assert_eq!(cache.get(0, || Ok(7)).as_deref(), Ok(&7));
    }
}
