//! Copies between layouts: transposes, slices, repetitions, concatenation.

use backend_api::{
    Buffer, Real,
    ops::tensor::{CopyStrided, TensorOps},
};
use core_types::params::{elementwise::MAX_RANK, tensor::CopyParams};

use crate::{
    error::{NnError, Shape},
    tensor::{
        layout::Layout,
        views::{TensorMut, TensorRef},
    },
};

/// `y = x` for tensors of any layout.
///
/// x is broadcast to the shape of y by the rules of NumPy.
///
/// ```
/// use backend_api::{Buffer, Queue};
/// use nn_ops::{TensorMut, TensorRef, copy};
///
/// let q = runtime::cpu()?;
/// let (x, mut y) = (q.upload(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?, q.zeros::<f32>(6)?);
/// let x = TensorRef::contiguous(x.view(), &[2, 3])?;
/// copy(&q, x.transposed()?, TensorMut::contiguous(y.view_mut(), &[3, 2])?)?;
/// assert_eq!(q.download(&y)?, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`NnError::Broadcast`] if x does not broadcast, [`NnError::Backend`] from the device.
pub fn copy<Q: TensorOps, T: Real>(q: &Q, x: TensorRef<'_, Q, T>, y: TensorMut<'_, Q, T>) -> Result<(), NnError> {
    let to = *y.layout();
    let from = x.layout().broadcast_by("copy", to.shape())?;
    let six = |values: &[usize], fill: u64| {
        let mut all = [fill; MAX_RANK];
        all.iter_mut().zip(values).for_each(|(slot, &v)| *slot = v as u64);
        all
    };
    let params = CopyParams {
        rank: to.rank() as u32,
        reserved: 0,
        shape: six(to.shape(), 1),
        x_strides: six(from.strides(), 0),
        y_strides: six(to.strides(), 0),
    };
    Ok(q.copy_strided(CopyStrided { params: &params, x: q.shorten(x.view()), y: q.shorten_mut(y.into_view()) })?)
}

/// Concatenates the parts along `axis` of a row-major tensor.
///
/// The parts fill all of y, with a copy for each.
///
/// ```
/// use backend_api::{Buffer, Queue};
/// use nn_ops::{TensorRef, concat};
///
/// let q = runtime::cpu()?;
/// let (a, b, mut y) = (q.upload(&[1.0f32, 2.0])?, q.upload(&[3.0f32; 4])?, q.zeros::<f32>(6)?);
/// let parts = [TensorRef::contiguous(a.view(), &[2, 1])?, TensorRef::contiguous(b.view(), &[2, 2])?];
/// concat(&q, 1, &parts, &mut y)?;
/// assert_eq!(q.download(&y)?, [1.0, 3.0, 3.0, 2.0, 3.0, 3.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`NnError::Axis`] if the first part has no such axis, [`NnError::ShapeMismatch`] for a part that
/// differs from it in another axis, [`NnError::Length`] unless y has the elements of all parts,
/// [`NnError::Backend`] from the device. Shapes are checked before anything is copied.
pub fn concat<Q: TensorOps, T: Real>(
    q: &Q,
    axis: usize,
    parts: &[TensorRef<'_, Q, T>],
    y: &mut Q::Buf<T>,
) -> Result<(), NnError> {
    const OP: &str = "concat";
    let mut whole = parts.first().map_or(Vec::new(), |part| part.layout().shape().to_vec());
    if axis >= whole.len() {
        return Err(NnError::Axis { op: OP, rank: whole.len(), axis });
    }
    let mut len = 0usize;
    for part in parts {
        whole[axis] = part.layout().shape().get(axis).copied().unwrap_or_default();
        if part.layout().shape() != whole {
            let (expected, got) = (Shape::from(&whole[..]), part.layout().into());
            return Err(NnError::ShapeMismatch { op: OP, tensor: "a part", expected, got });
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
        assert_eq!(
            outcome(0, &[2, 3], &[1, 3]),
            Err(NnError::Length { op: "concat", tensor: "y", expected: 9, got: 12 })
        );
    }
}
