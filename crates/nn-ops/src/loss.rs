use backend_api::{
    Mut, Real, Ref,
    ops::linalg::{CrossEntropy, CrossEntropyProbs, LossOps},
};

use crate::{NnError, Shape, TensorMut, TensorRef};

/// Softmax cross-entropy of `rows x classes` logits against class numbers, with its gradient in the same pass.
///
/// `losses[r] = ln(sum_j exp(x_rj)) - x_rc` for class `c = targets[r]`, and `dlogits = scale (softmax(x) - onehot(c))`: pass
/// `scale = 1 / rows` for the gradient of the mean. Rows whose target is not below `classes` are ignored (zero loss and
/// gradient). Tensors are contiguous.
///
/// # Errors
/// [`NnError::Rank`] unless the logits are a matrix, [`NnError::EmptyReduction`] for rows without classes,
/// [`NnError::ShapeMismatch`], [`NnError::InvalidStride`], or [`NnError::Backend`] from the device.
pub fn cross_entropy<Q: LossOps, T: Real>(
    q: &Q,
    scale: f32,
    logits: TensorRef<'_, Q, T>,
    targets: Ref<'_, Q, u32>,
    losses: Mut<'_, Q, f32>,
    dlogits: TensorMut<'_, Q, T>,
) -> Result<(), NnError> {
    const OP: &str = "cross_entropy";
    let Some(classes) = check(OP, &logits, &dlogits)? else { return Ok(()) };
    Ok(q.cross_entropy(CrossEntropy {
        classes,
        scale,
        logits: logits.flat(OP)?,
        targets: q.shorten(targets),
        losses: q.shorten_mut(losses),
        dlogits: dlogits.flat(OP)?,
    })?)
}

/// Softmax cross-entropy against target probabilities t: `losses[r] = -sum_j t_j log_softmax(x)_j`,
/// `dlogits = scale (softmax(x) sum_i t_i - t)`.
///
/// # Errors
/// As [`cross_entropy`].
pub fn cross_entropy_probs<Q: LossOps, T: Real>(
    q: &Q,
    scale: f32,
    logits: TensorRef<'_, Q, T>,
    probs: TensorRef<'_, Q, T>,
    losses: Mut<'_, Q, f32>,
    dlogits: TensorMut<'_, Q, T>,
) -> Result<(), NnError> {
    const OP: &str = "cross_entropy_probs";
    if probs.layout().shape() != logits.layout().shape() {
        return Err(NnError::ShapeMismatch { op: OP, lhs: logits.layout().into(), rhs: probs.layout().into() });
    }
    let Some(classes) = check(OP, &logits, &dlogits)? else { return Ok(()) };
    Ok(q.cross_entropy_probs(CrossEntropyProbs {
        classes,
        scale,
        logits: logits.flat(OP)?,
        probs: probs.flat(OP)?,
        losses: q.shorten_mut(losses),
        dlogits: dlogits.flat(OP)?,
    })?)
}

/// The number of classes; `None` without rows.
fn check<Q: LossOps, T: Real>(
    op: &'static str,
    logits: &TensorRef<'_, Q, T>,
    dlogits: &TensorMut<'_, Q, T>,
) -> Result<Option<usize>, NnError> {
    let &[rows, classes] = logits.layout().shape() else {
        return Err(NnError::Rank { op, expected: 2, got: logits.layout().rank() });
    };
    if dlogits.layout().shape() != logits.layout().shape() {
        return Err(NnError::ShapeMismatch {
            op,
            lhs: Shape::from(logits.layout()),
            rhs: Shape::from(dlogits.layout()),
        });
    }
    match (rows, classes) {
        (0, _) => Ok(None),
        (_, 0) => Err(NnError::EmptyReduction { op }),
        _ => Ok(Some(classes)),
    }
}
