//! Tensors as matrices of rows, which is how most layers see them.

use backend_api::{Queue, Real};

use crate::{
    error::{NnError, Result},
    tensor::{Layout, Tensor, TensorMut, TensorRef},
};

/// A row-major tensor `[.., features]` as a matrix `[rows, features]`.
pub(super) fn matrix<'a, Q: Queue + 'a, T: Real>(
    op: &'static str,
    tensor: &'static str,
    x: TensorRef<'a, Q, T>,
    features: usize,
) -> Result<TensorRef<'a, Q, T>> {
    let shape = x.layout().shape();
    let Some((&last, leading)) = shape.split_last() else { return Err(NnError::TooFewAxes { op, min: 1, got: 0 }) };
    if last != features {
        return Err(NnError::shape(op, tensor, &[leading, &[features]].concat()[..], shape));
    }
    Layout::of(op, shape)?.admit(op, tensor, x.layout())?;
    x.reshaped(&[leading.iter().product(), features])
}

/// The gradient of an output with the leading axes of `x`, as a matrix `[rows, features]`.
pub(super) fn gradient<'a, Q: Queue + 'a, T: Real>(
    op: &'static str,
    x: &Layout,
    g: TensorRef<'a, Q, T>,
    features: usize,
) -> Result<TensorRef<'a, Q, T>> {
    let expected = with_features(x, features);
    if g.layout().shape() != expected {
        return Err(NnError::shape(op, "g", &expected[..], g.layout()));
    }
    matrix(op, "g", g, features)
}

/// A new tensor with the leading axes of `x` and `features` elements in a row.
pub(super) fn alloc_rows<Q: Queue, T: Real>(q: &Q, x: &Layout, features: usize) -> Result<Tensor<Q, T>> {
    Tensor::alloc(q, &with_features(x, features))
}

/// The shape of `x` with `features` elements in a row.
fn with_features(x: &Layout, features: usize) -> Vec<usize> {
    let leading = x.shape().split_last().map_or(&[][..], |(_, leading)| leading);
    [leading, &[features]].concat()
}

/// A row-major tensor, to be written in another shape of equally many elements.
pub(super) fn written<'a, Q: Queue + 'a, T: Real>(
    tensor: &'a mut Tensor<Q, T>,
    shape: &[usize],
) -> Result<TensorMut<'a, Q, T>> {
    TensorMut::contiguous(tensor.at_mut().into_view(), shape)
}
