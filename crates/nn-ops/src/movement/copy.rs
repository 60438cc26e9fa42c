//! Copies between layouts: transposes, slices, repetitions, concatenation.

use backend_api::Buffer;
use core_types::params::tensor::CopyParams;

use crate::{
    StridedElement, TensorOps,
    error::{NnError, Result},
    tensor::{Layout, TensorMut, TensorRef},
};

/// `y = x` for tensors of any layout, of floats, booleans, u32 or u64.
///
/// x is broadcast to the shape of y by the rules of NumPy.
///
/// ```
/// use nn_ops::{Tensor, copy};
///
/// let q = runtime::cpu()?;
/// let x = Tensor::from_values(&q, &[2, 3], &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// let mut y = Tensor::alloc(&q, &[3, 2])?;
/// copy(&q, x.at().transposed()?, y.at_mut())?;
/// assert_eq!(y.values(&q)?, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`NnError::Broadcast`] if x does not broadcast, [`NnError::Backend`] from the device.
pub fn copy<Q: TensorOps, T: StridedElement>(q: &Q, x: TensorRef<'_, Q, T>, y: TensorMut<'_, Q, T>) -> Result<()> {
    let to = *y.layout();
    let from = x.layout().broadcast_by("copy", to.shape())?;
    let params = CopyParams {
        rank: to.rank() as u32,
        reserved: 0,
        shape: to.six_lengths(),
        x_strides: from.six_strides(),
        y_strides: to.six_strides(),
    };
    Ok(T::copy_strided(q, &params, q.shorten(x.view()), q.shorten_mut(y.into_view()))?)
}

/// Concatenates the parts along `axis` of a row-major tensor.
///
/// Elements are floats, booleans, u32 or u64. The parts fill all of y, with a copy for each.
///
/// ```
/// use nn_ops::{Tensor, concat};
///
/// let q = runtime::cpu()?;
/// let (a, b) = (Tensor::from_values(&q, &[2, 1], &[1.0f32, 2.0])?, Tensor::from_values(&q, &[2, 2], &[3.0f32; 4])?);
/// let mut y = Tensor::alloc(&q, &[2, 3])?;
/// concat(&q, 1, &[a.at(), b.at()], y.buffer_mut())?;
/// assert_eq!(y.values(&q)?, [1.0, 3.0, 3.0, 2.0, 3.0, 3.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`NnError::Axis`] if the first part has no such axis, [`NnError::ShapeMismatch`] for a part that
/// differs from it in another axis, [`NnError::Length`] unless y has the elements of all parts,
/// [`NnError::Backend`] from the device. Shapes are checked before anything is copied.
pub fn concat<Q: TensorOps, T: StridedElement>(
    q: &Q,
    axis: usize,
    parts: &[TensorRef<'_, Q, T>],
    y: &mut Q::Buf<T>,
) -> Result<()> {
    const OP: &str = "concat";
    let mut whole = parts.first().map_or(Vec::new(), |part| part.layout().shape().to_vec());
    if axis >= whole.len() {
        return Err(NnError::Axis { op: OP, rank: whole.len(), axis });
    }
    let mut len = 0usize;
    for part in parts {
        whole[axis] = part.layout().shape().get(axis).copied().unwrap_or_default();
        if part.layout().shape() != whole {
            return Err(NnError::shape(OP, "a part", &whole[..], part.layout()));
        }
        len = len.saturating_add(whole[axis]);
    }
    whole[axis] = len;
    let to = Layout::contiguous(&whole)?;
    if y.len() != to.numel() {
        return Err(NnError::Length { op: OP, tensor: "y", expected: to.numel(), got: y.len() });
    }
    let mut first = 0;
    for &part in parts {
        let end = first + part.layout().shape()[axis];
        let (start, layout) = to.narrowed(OP, axis, first..end)?;
        copy(q, part, TensorMut::new(y.slice_mut(start..start + layout.span())?, layout)?)?;
        first = end;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use backend_api::Queue;

    use super::*;

    #[test]
    fn parts_that_do_not_make_up_the_whole_are_refused() {
        let q = runtime::cpu().unwrap();
        let (x, mut y) = (q.zeros::<f32>(6).unwrap(), q.zeros::<f32>(12).unwrap());
        let mut outcome = |axis, a: &[usize], b: &[usize]| {
            let part = |shape| TensorRef::contiguous(x.view(), shape).unwrap();
            concat(&q, axis, &[part(a), part(b)], &mut y)
        };
        assert_eq!(outcome(0, &[2, 3], &[2, 3]), Ok(()));
        assert_eq!(outcome(1, &[2, 3], &[2, 3]), Ok(()));
        assert_eq!(outcome(2, &[2, 3], &[2, 3]), Err(NnError::Axis { op: "concat", rank: 2, axis: 2 }));
        assert!(matches!(outcome(0, &[2, 3], &[2, 2]), Err(NnError::ShapeMismatch { tensor: "a part", .. })));
        assert!(matches!(outcome(0, &[2, 3], &[6]), Err(NnError::ShapeMismatch { tensor: "a part", .. })));
        let short = NnError::Length { op: "concat", tensor: "y", expected: 9, got: 12 };
        assert_eq!(outcome(0, &[2, 3], &[1, 3]), Err(short));
    }
}
