//! The tensors of a model in one buffer.

use std::sync::Arc;

use backend_api::{Buffer, BufferMut, Element, Mut, Queue, Real, Ref};

use super::table::{ParameterId, ParameterTable};
use crate::{
    TensorOps,
    error::{NnError, Result},
    movement::{Overflow, narrow},
    tensor::{TensorMut, TensorRef},
};

const OP: &str = "parameter_arena";

/// The tensors of a [`ParameterTable`] in one buffer of a queue's device.
///
/// They are the values of a model, its gradients, a copy in 16 bits, or the state of an optimizer.
///
/// ```
/// use nn_ops::{Optimizer, OptimizerConfig, ParameterArena, ParameterSpec, ParameterTable};
///
/// let q = runtime::cpu()?;
/// let table = ParameterTable::new(&[
///     ParameterSpec::new("weight", &[2, 3]),
///     ParameterSpec::new("bias", &[3]).without_decay(),
/// ])?;
/// let (weight, bias) = (table.id("weight")?, table.id("bias")?);
/// let mut values = ParameterArena::<_, f32>::zeros(&q, &table)?;
/// values.write(&q, weight, &[1.0; 6])?;
/// let mut gradients = ParameterArena::zeros(&q, &table)?;
/// gradients.write(&q, bias, &[2.0f32, -2.0, 0.5])?; // a backward pass would write to `gradients.at_mut(..)`
///
/// let mut optimizer = Optimizer::new(&q, OptimizerConfig::adam_w(0.1), &table)?;
/// optimizer.step(&q, gradients.view(), values.view_mut(), None)?;
/// for (value, expected) in values.values(&q, bias)?.into_iter().zip([-0.1, 0.1, -0.1]) {
///     assert!((value - expected).abs() < 1e-6); // a first step is as long as the rate
/// }
/// assert!(values.values(&q, weight)?.iter().all(|w| (w - (1.0 - 0.1 * 0.01)).abs() < 1e-6)); // decay
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ParameterArena<Q: Queue, T: Element> {
    table: Arc<ParameterTable>,
    buffer: Q::Buf<T>,
}

impl<Q: Queue, T: Element> ParameterArena<Q, T> {
    /// Zeros.
    ///
    /// # Errors
    /// [`NnError::Backend`] if memory is short.
    pub fn zeros(q: &Q, table: &Arc<ParameterTable>) -> Result<Self> {
        Ok(Self { table: table.clone(), buffer: q.zeros(table.len())? })
    }

    /// The tensors.
    #[must_use]
    pub fn table(&self) -> &Arc<ParameterTable> {
        &self.table
    }

    /// A tensor as an operand.
    ///
    /// # Errors
    /// As [`ParameterTable::name`].
    pub fn at(&self, id: ParameterId) -> Result<TensorRef<'_, Q, T>> {
        TensorRef::new(self.buffer.slice(self.table.range(id)?)?, *self.table.layout(id)?)
    }

    /// A tensor as a result.
    ///
    /// # Errors
    /// As [`ParameterTable::name`].
    pub fn at_mut(&mut self, id: ParameterId) -> Result<TensorMut<'_, Q, T>> {
        let layout = *self.table.layout(id)?;
        TensorMut::new(self.buffer.slice_mut(self.table.range(id)?)?, layout)
    }

    /// Several tensors as results of one operator.
    ///
    /// # Errors
    /// [`NnError::Parameter`] if one is named twice; otherwise as [`ParameterTable::name`].
    pub fn at_mut_each<const N: usize>(&mut self, ids: [ParameterId; N]) -> Result<[TensorMut<'_, Q, T>; N]> {
        let mut order: [usize; N] = core::array::from_fn(|i| i);
        order.sort_unstable_by_key(|&i| ids[i]);
        if let Some(pair) = order.windows(2).find(|pair| ids[pair[0]] == ids[pair[1]]) {
            return Err(NnError::parameter(OP, "index of a tensor", "different from the others", pair[1] as f64));
        }
        let mut ranges = Vec::with_capacity(N);
        for &id in &ids {
            ranges.push(self.table.range(id)?);
        }
        order.sort_unstable_by_key(|&i| (ranges[i].start, ranges[i].end));
        let mut found: [Option<TensorMut<'_, Q, T>>; N] = [const { None }; N];
        let (mut rest, mut first) = (self.buffer.view_mut(), 0);
        for i in order {
            let (_, from) = rest.split_at(ranges[i].start - first)?;
            let (tensor, later) = from.split_at(ranges[i].len())?;
            found[i] = Some(TensorMut::new(tensor, *self.table.layout(ids[i])?)?);
            (rest, first) = (later, ranges[i].end);
        }
        let absent = NnError::Overflow { op: OP };
        let found: Option<Vec<_>> = found.into_iter().collect();
        found.and_then(|found| <[_; N]>::try_from(found).ok()).ok_or(absent)
    }

    /// Copies the row-major `values` of a tensor to the device.
    ///
    /// # Errors
    /// [`NnError::NamedTensor`] unless there is a value for each element; otherwise as
    /// [`ParameterTable::name`].
    pub fn write(&mut self, q: &Q, id: ParameterId, values: &[T]) -> Result<()> {
        let expected = self.table.layout(id)?.numel();
        if values.len() != expected {
            let reason = NnError::Length { op: OP, tensor: "a tensor", expected, got: values.len() };
            return Err(NnError::named(self.table.name(id)?, reason));
        }
        Ok(q.write(values, self.buffer.slice_mut(self.table.range(id)?)?)?)
    }

    /// Waits and copies a tensor to the host, in row-major order.
    ///
    /// # Errors
    /// As [`ParameterTable::name`], and [`NnError::Backend`] from the device.
    pub fn values(&self, q: &Q, id: ParameterId) -> Result<Vec<T>> {
        Ok(q.read(self.buffer.slice(self.table.range(id)?)?)?)
    }

    /// All elements.
    #[must_use]
    pub fn view(&self) -> Ref<'_, Q, T> {
        self.buffer.view()
    }

    /// All elements, to be written. Those between tensors have to stay zeros.
    #[must_use]
    pub fn view_mut(&mut self) -> Mut<'_, Q, T> {
        self.buffer.view_mut()
    }
}

impl<Q: TensorOps> ParameterArena<Q, f32> {
    /// The tensors rounded to `T`.
    pub(crate) fn narrowed<T: Real>(&self, q: &Q, overflow: Overflow) -> Result<ParameterArena<Q, T>> {
        let (mut narrowed, shape) = (ParameterArena::zeros(q, &self.table)?, [self.table.len()]);
        let into = TensorMut::contiguous(narrowed.view_mut(), &shape)?;
        narrow(q, overflow, TensorRef::contiguous(self.view(), &shape)?, into)?;
        Ok(narrowed)
    }
}

impl<Q: Queue, T: Element> core::fmt::Debug for ParameterArena<Q, T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("ParameterArena")
            .field("element", &core::any::type_name::<T>())
            .field("table", &self.table)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optim::table::ParameterSpec;

    #[test]
    fn tensors_are_written_and_read_by_place() {
        let q = runtime::cpu().unwrap();
        let specs = [
            ParameterSpec::new("a", &[2]).without_decay(),
            ParameterSpec::new("none", &[0]),
            ParameterSpec::new("b", &[1, 3]),
            ParameterSpec::new("c", &[]),
        ];
        let table = ParameterTable::new(&specs).unwrap();
        let ids: Vec<_> = table.ids().collect();
        let &[a, none, b, c] = &ids[..] else { panic!("{ids:?}") };
        let mut arena = ParameterArena::zeros(&q, &table).unwrap();
        let [of_c, of_a, of_none, of_b] = arena.at_mut_each([c, a, none, b]).unwrap();
        for (tensor, values) in [(of_a, &[1.0f32, 2.0][..]), (of_b, &[3.0, 4.0, 5.0]), (of_c, &[6.0]), (of_none, &[])] {
            assert_eq!(tensor.layout().numel(), values.len());
            q.write(values, tensor.into_view()).unwrap();
        }
        arena.write(&q, b, &[7.0, 8.0, 9.0]).unwrap();
        assert_eq!(arena.values(&q, a).unwrap(), [1.0, 2.0]);
        assert_eq!(arena.values(&q, b).unwrap(), [7.0, 8.0, 9.0]);
        assert_eq!(arena.values(&q, c).unwrap(), [6.0]);
        assert_eq!(arena.at(b).unwrap().layout().shape(), [1, 3]);
        assert_eq!(q.read(arena.view()).unwrap().iter().sum::<f32>(), 33.0);
        assert!(matches!(arena.at_mut_each([a, b, a]).map(drop), Err(NnError::Parameter { .. })));
        let short = arena.write(&q, b, &[0.0; 2]).unwrap_err();
        assert_eq!(short.to_string(), "tensor `b`: `parameter_arena` expected a tensor of 3 elements, got 2");
    }
}
