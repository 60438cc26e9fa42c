//! Conversions between element types.

use backend_api::{Buffer, Real, ops::tensor};
use core_types::params::tensor::Beyond;

use super::packed::{Fit, Unpacked};
use crate::{
    TensorOps,
    error::{NnError, Result},
    tensor::{Layout, TensorMut, TensorRef},
};

/// Treatment of values beyond the range of a narrower type.
///
/// These are infinities, and values that rounding makes infinite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// They become infinite, as IEEE 754 has it.
    Infinite,
    /// They become the greatest finite value of their sign.
    Saturate,
    /// They cause an error with their count.
    ///
    /// The result is written all the same, and the device is waited for.
    Refuse,
}

/// `y = x` in f32, exactly.
///
/// Both have one shape. Tensors that are not row-major are packed by a copy.
///
/// # Errors
/// [`NnError::ShapeMismatch`] unless y has the shape of x, [`NnError::Backend`] from the device.
pub fn widen<Q: TensorOps, T: Real>(q: &Q, x: TensorRef<'_, Q, T>, y: TensorMut<'_, Q, f32>) -> Result<()> {
    const OP: &str = "widen";
    let layout = Layout::contiguous(x.layout().shape())?;
    let (mut x, y) = (x.fit(OP, "x", &layout)?, y.fit(OP, "y", &layout)?);
    let mut result = Unpacked::new();
    q.widen(tensor::Widen { x: x.view(q)?, y: result.target(q, y)? })?;
    result.finish(q)
}

/// `y = x` rounded to nearest, ties to even; NaN stays NaN.
///
/// Both have one shape. Tensors that are not row-major are packed by a copy.
///
/// ```
/// use half::f16;
/// use nn_ops::{NnError, Overflow, Tensor, narrow};
///
/// let q = runtime::cpu()?;
/// let (x, mut y) = (Tensor::from_values(&q, &[3], &[1.0f32, 1e5, -1e6])?, Tensor::<_, f16>::alloc(&q, &[3])?);
/// narrow(&q, Overflow::Saturate, x.at(), y.at_mut())?;
/// assert_eq!(y.values(&q)?, [f16::ONE, f16::MAX, f16::MIN]);
/// let refused = narrow(&q, Overflow::Refuse, x.at(), y.at_mut());
/// assert_eq!(refused, Err(NnError::Range { op: "narrow", count: 2, first: 1 }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`NnError::Range`] for values beyond the range where they are refused; otherwise as [`widen`].
pub fn narrow<Q: TensorOps, T: Real>(
    q: &Q,
    overflow: Overflow,
    x: TensorRef<'_, Q, f32>,
    y: TensorMut<'_, Q, T>,
) -> Result<()> {
    const OP: &str = "narrow";
    let layout = Layout::contiguous(x.layout().shape())?;
    let (mut x, y) = (x.fit(OP, "x", &layout)?, y.fit(OP, "y", &layout)?);
    let mut result = Unpacked::new();
    let (x, y) = (x.view(q)?, result.target(q, y)?);
    let beyond = if overflow == Overflow::Saturate { Beyond::Saturated } else { Beyond::Infinite };
    if overflow != Overflow::Refuse {
        q.narrow(tensor::Narrow { beyond, x, y, found: None })?;
        return result.finish(q);
    }
    let mut found = q.upload(&[0, u64::MAX])?;
    q.narrow(tensor::Narrow { beyond, x: q.shorten(x), y: q.shorten_mut(y), found: Some(found.view_mut()) })?;
    result.finish(q)?;
    match q.download(&found)?[..] {
        [count, first] if count > 0 => Err(NnError::Range { op: OP, count, first }),
        _ => Ok(()),
    }
}
