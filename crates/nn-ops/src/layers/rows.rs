//! Tensors as matrices of rows, which is how most layers see them.

use backend_api::Queue;

use crate::{
    ElementwiseOps, TensorOps,
    elementwise::axpby,
    error::{NnError, Result},
    optim::{ParameterArena, ParameterId},
    tensor::{Layout, Tensor, TensorMut, TensorRef},
};

/// A row-major tensor `[.., features]` as a matrix `[rows, features]`.
pub(super) fn matrix<'a, Q: Queue + 'a>(
    op: &'static str,
    tensor: &'static str,
    x: TensorRef<'a, Q, f32>,
    features: usize,
) -> Result<TensorRef<'a, Q, f32>> {
    let shape = x.layout().shape();
    let Some((&last, leading)) = shape.split_last() else { return Err(NnError::TooFewAxes { op, min: 1, got: 0 }) };
    if last != features {
        return Err(NnError::shape(op, tensor, &[leading, &[features]].concat()[..], shape));
    }
    Layout::of(op, shape)?.admit(op, tensor, x.layout())?;
    x.reshaped(&[leading.iter().product(), features])
}

/// The gradient of an output with the leading axes of `x`, as a matrix `[rows, features]`.
pub(super) fn gradient<'a, Q: Queue + 'a>(
    op: &'static str,
    x: &Layout,
    g: TensorRef<'a, Q, f32>,
    features: usize,
) -> Result<TensorRef<'a, Q, f32>> {
    let expected = with_features(x, features);
    if g.layout().shape() != expected {
        return Err(NnError::shape(op, "g", &expected[..], g.layout()));
    }
    matrix(op, "g", g, features)
}

/// A new tensor with the leading axes of `x` and `features` elements in a row.
pub(super) fn alloc_rows<Q: Queue>(q: &Q, x: &Layout, features: usize) -> Result<Tensor<Q, f32>> {
    Tensor::alloc(q, &with_features(x, features))
}

/// The shape of `x` with `features` elements in a row.
fn with_features(x: &Layout, features: usize) -> Vec<usize> {
    let leading = x.shape().split_last().map_or(&[][..], |(_, leading)| leading);
    [leading, &[features]].concat()
}

/// A row-major tensor, to be written in another shape of equally many elements.
pub(super) fn written<'a, Q: Queue + 'a>(
    tensor: &'a mut Tensor<Q, f32>,
    shape: &[usize],
) -> Result<TensorMut<'a, Q, f32>> {
    TensorMut::contiguous(tensor.at_mut().into_view(), shape)
}

/// Adds the gradient of a parameter to the gradients of a model.
pub(super) fn add_gradient<Q: ElementwiseOps + TensorOps>(
    q: &Q,
    gradients: &mut ParameterArena<Q, f32>,
    id: ParameterId,
    gradient: TensorRef<'_, Q, f32>,
) -> Result<()> {
    axpby(q, 1.0, gradient, 1.0, gradients.at_mut(id)?)
}
