//! Element-wise functions other than activations, selections, fills, and in-place variants.

use backend_api::{
    BufferMut, Real,
    ops::{linalg::Activate, tensor},
};
use core_types::params::tensor::{Function, MapParams};

use super::activation::ElementwisePlan;
use crate::{
    Activation, ElementwiseOps, TensorOps,
    error::{NnError, Result},
    movement::{Fit, Unpacked, copy},
    tensor::{Tensor, TensorMut, TensorRef},
};

/// A function of every element. NaN stays NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Map {
    /// -x.
    Neg,
    /// The magnitude.
    Abs,
    /// exp(x).
    Exp,
    /// The natural logarithm; -inf at zeros, NaN below them.
    Log,
    /// The square root; NaN below zero.
    Sqrt,
    /// 1 / sqrt(x).
    Rsqrt,
    /// 1 / x.
    Recip,
    /// x held within `low..=high`.
    Clamp {
        /// The least result.
        low: f32,
        /// The greatest result.
        high: f32,
    },
    /// Huber's function: x^2 / 2 up to a magnitude of `delta`, and the tangent beyond.
    ///
    /// Its derivative is the clamp to `-delta..=delta`.
    Huber {
        /// Where it becomes straight; greater than 0.
        delta: f32,
    },
}

impl Map {
    /// The launch record.
    fn params(self, op: &'static str) -> Result<MapParams> {
        let refused = |name, domain, value: f32| Err(NnError::parameter(op, name, domain, value));
        let (f, low, high) = match self {
            Self::Neg => (Function::Neg, 0.0, 0.0),
            Self::Abs => (Function::Abs, 0.0, 0.0),
            Self::Exp => (Function::Exp, 0.0, 0.0),
            Self::Log => (Function::Log, 0.0, 0.0),
            Self::Sqrt => (Function::Sqrt, 0.0, 0.0),
            Self::Rsqrt => (Function::Rsqrt, 0.0, 0.0),
            Self::Recip => (Function::Recip, 0.0, 0.0),
            Self::Clamp { low, high } if low <= high => (Function::Clamp, low, high),
            Self::Clamp { low, .. } => return refused("low", "at most the upper bound", low),
            Self::Huber { delta } if delta > 0.0 => (Function::Huber, 0.0, delta),
            Self::Huber { delta } => return refused("delta", "greater than 0", delta),
        };
        Ok(MapParams { f, low, high })
    }
}

impl ElementwisePlan {
    /// `y = f(x)`.
    ///
    /// # Errors
    /// [`NnError::Parameter`] for a clamp between bounds out of order and a Huber function without
    /// a positive bound; otherwise as [`activate`](Self::activate).
    pub fn map<Q: TensorOps, T: Real>(
        &self,
        q: &Q,
        f: Map,
        x: TensorRef<'_, Q, T>,
        y: TensorMut<'_, Q, T>,
    ) -> Result<()> {
        const OP: &str = "map";
        let params = f.params(OP)?;
        let (mut x, y) = (x.fit(OP, "x", self.layout())?, y.fit(OP, "y", self.layout())?);
        let mut result = Unpacked::new();
        let (len, x) = (self.layout().numel(), Some(x.view(q)?));
        q.map(tensor::Map { params: &params, len, x, y: result.target(q, y)? })?;
        result.finish(q)
    }

    /// `x = f(x)`, with the bits of [`map`](Self::map); elements in the gaps of x stay.
    ///
    /// # Errors
    /// As [`map`](Self::map).
    pub fn map_in_place<Q: TensorOps, T: Real>(&self, q: &Q, f: Map, x: TensorMut<'_, Q, T>) -> Result<()> {
        const OP: &str = "map_in_place";
        let (params, len) = (f.params(OP)?, self.layout().numel());
        let (x, mut result) = (x.fit(OP, "x", self.layout())?, Unpacked::new());
        q.map(tensor::Map { params: &params, len, x: None, y: result.unordered(q, x)? })?;
        result.finish(q)
    }

    /// `x = f(x)` for an activation, with the bits of [`activate`](Self::activate).
    ///
    /// # Errors
    /// As [`map_in_place`](Self::map_in_place).
    pub fn activate_in_place<Q: ElementwiseOps + TensorOps, T: Real>(
        &self,
        q: &Q,
        f: Activation,
        x: TensorMut<'_, Q, T>,
    ) -> Result<()> {
        let (len, x) = (self.layout().numel(), x.fit("activate_in_place", "x", self.layout())?);
        let mut result = Unpacked::new();
        q.activate(Activate { f, len, x: None, y: result.unordered(q, x)? })?;
        result.finish(q)
    }

    /// y is a where `mask` is true, and b where it is not.
    ///
    /// NaN and infinities that are not chosen leave no trace.
    ///
    /// # Errors
    /// As [`activate`](Self::activate).
    pub fn select<Q: TensorOps, T: Real>(
        &self,
        q: &Q,
        mask: TensorRef<'_, Q, bool>,
        [a, b]: [TensorRef<'_, Q, T>; 2],
        y: TensorMut<'_, Q, T>,
    ) -> Result<()> {
        const OP: &str = "select";
        let mut mask = mask.fit(OP, "mask", self.layout())?;
        let (mut a, mut b) = (a.fit(OP, "a", self.layout())?, b.fit(OP, "b", self.layout())?);
        let (y, mut result) = (y.fit(OP, "y", self.layout())?, Unpacked::new());
        let y = result.target(q, y)?;
        q.select(tensor::Select { mask: mask.view(q)?, a: Some(a.view(q)?), b: b.view(q)?, y })?;
        result.finish(q)
    }

    /// a stays where `mask` is true and becomes b elsewhere.
    ///
    /// a then has the bits of [`select`](Self::select).
    ///
    /// # Errors
    /// As [`activate`](Self::activate).
    pub fn select_in_place<Q: TensorOps, T: Real>(
        &self,
        q: &Q,
        mask: TensorRef<'_, Q, bool>,
        a: TensorMut<'_, Q, T>,
        b: TensorRef<'_, Q, T>,
    ) -> Result<()> {
        const OP: &str = "select_in_place";
        let (mut mask, mut b) = (mask.fit(OP, "mask", self.layout())?, b.fit(OP, "b", self.layout())?);
        let (a, mut result) = (a.fit(OP, "a", self.layout())?, Unpacked::new());
        let y = result.updated(q, a)?;
        q.select(tensor::Select { mask: mask.view(q)?, a: None, b: b.view(q)?, y })?;
        result.finish(q)
    }

    /// `y = value`; elements in the gaps of y stay.
    ///
    /// # Errors
    /// As [`activate`](Self::activate).
    pub fn fill<Q: TensorOps, T: Real>(&self, q: &Q, value: f32, y: TensorMut<'_, Q, T>) -> Result<()> {
        const OP: &str = "fill";
        self.layout().admit_shape(OP, "y", y.layout())?;
        if y.layout().is_dense() {
            let len = self.layout().numel();
            return Ok(q.fill(tensor::Fill { value, len, y: q.shorten_mut(y.into_view().slice(0..len)?) })?);
        }
        let mut one = Tensor::alloc(q, &[])?;
        fill(q, value, one.at_mut())?;
        copy(q, one.at(), y)
    }
}

/// `y = f(x)`; see [`ElementwisePlan::map`].
///
/// ```
/// use nn_ops::{Map, Tensor, map, map_in_place};
///
/// let q = runtime::cpu()?;
/// let (x, mut y) = (Tensor::from_values(&q, &[3], &[-4.0f32, 1.0, 9.0])?, Tensor::alloc(&q, &[3])?);
/// map(&q, Map::Abs, x.at(), y.at_mut())?;
/// map_in_place(&q, Map::Sqrt, y.at_mut())?;
/// assert_eq!(y.values(&q)?, [2.0, 1.0, 3.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`ElementwisePlan::map`].
pub fn map<Q: TensorOps, T: Real>(q: &Q, f: Map, x: TensorRef<'_, Q, T>, y: TensorMut<'_, Q, T>) -> Result<()> {
    ElementwisePlan::new(x.layout().shape())?.map(q, f, x, y)
}

/// `x = f(x)`; see [`ElementwisePlan::map_in_place`].
///
/// # Errors
/// As [`ElementwisePlan::map_in_place`].
pub fn map_in_place<Q: TensorOps, T: Real>(q: &Q, f: Map, x: TensorMut<'_, Q, T>) -> Result<()> {
    ElementwisePlan::new(x.layout().shape())?.map_in_place(q, f, x)
}

/// `x = f(x)` for an activation; see [`ElementwisePlan::activate_in_place`].
///
/// # Errors
/// As [`ElementwisePlan::activate_in_place`].
pub fn activate_in_place<Q: ElementwiseOps + TensorOps, T: Real>(
    q: &Q,
    f: Activation,
    x: TensorMut<'_, Q, T>,
) -> Result<()> {
    ElementwisePlan::new(x.layout().shape())?.activate_in_place(q, f, x)
}

/// y is a where `mask` is true, and b where it is not; see [`ElementwisePlan::select`].
///
/// # Errors
/// As [`ElementwisePlan::select`].
pub fn select<Q: TensorOps, T: Real>(
    q: &Q,
    mask: TensorRef<'_, Q, bool>,
    of: [TensorRef<'_, Q, T>; 2],
    y: TensorMut<'_, Q, T>,
) -> Result<()> {
    ElementwisePlan::new(mask.layout().shape())?.select(q, mask, of, y)
}

/// a stays where `mask` is true and becomes b elsewhere.
///
/// See [`ElementwisePlan::select_in_place`].
///
/// ```
/// use nn_ops::{Tensor, select_in_place};
///
/// let q = runtime::cpu()?;
/// let (mut a, b) = (Tensor::from_values(&q, &[3], &[1.0f32, 2.0, 3.0])?, Tensor::from_values(&q, &[3], &[0.0; 3])?);
/// let mask = Tensor::from_values(&q, &[3], &[true, false, true])?;
/// select_in_place(&q, mask.at(), a.at_mut(), b.at())?;
/// assert_eq!(a.values(&q)?, [1.0, 0.0, 3.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`ElementwisePlan::select_in_place`].
pub fn select_in_place<Q: TensorOps, T: Real>(
    q: &Q,
    mask: TensorRef<'_, Q, bool>,
    a: TensorMut<'_, Q, T>,
    b: TensorRef<'_, Q, T>,
) -> Result<()> {
    ElementwisePlan::new(mask.layout().shape())?.select_in_place(q, mask, a, b)
}

/// `y = value`; see [`ElementwisePlan::fill`].
///
/// # Errors
/// [`NnError::Backend`] from the device.
pub fn fill<Q: TensorOps, T: Real>(q: &Q, value: f32, y: TensorMut<'_, Q, T>) -> Result<()> {
    ElementwisePlan::new(y.layout().shape())?.fill(q, value, y)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_that_make_no_function_are_refused_by_name() {
        let refused = |f: Map| match f.params("map") {
            Err(NnError::Parameter { name, .. }) => name,
            other => panic!("{other:?}"),
        };
        assert_eq!(refused(Map::Clamp { low: 1.0, high: 0.0 }), "low");
        assert_eq!(refused(Map::Clamp { low: f32::NAN, high: 0.0 }), "low");
        assert_eq!(refused(Map::Huber { delta: 0.0 }), "delta");
        assert_eq!(refused(Map::Huber { delta: f32::NAN }), "delta");
        assert!(Map::Clamp { low: 1.0, high: 1.0 }.params("map").is_ok());
    }
}
