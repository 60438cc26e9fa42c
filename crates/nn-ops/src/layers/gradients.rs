//! Gradients of a layer's parameters: sums that are whole, or zeros after an error.
//!
//! A backward pass computes everything else first, and adds last. An error before the first
//! addition leaves the sums as they are. A later one would leave a part of a sum: it clears the
//! gradients of all parameters of the layer.

use std::sync::Arc;

use backend_api::Queue;

use super::parameters::Parameters;
use crate::{
    ElementwiseOps, TensorOps,
    elementwise::axpby,
    error::{NnError, Result},
    functional::readable::Readable,
    optim::{ParameterArena, ParameterTable, Precision},
    tensor::{TensorMut, TensorRef},
};

/// Adds the gradients of a layer's parameters by `add`, or clears them after its error.
///
/// # Errors
/// [`NnError::OtherPlan`] before the call unless the gradients are of `table`; the error of
/// [`cleared`] after an error of `add`.
pub(super) fn add_or_clear<Q: Queue>(
    q: &Q,
    op: &'static str,
    (layer, table): (&impl Parameters, &Arc<ParameterTable>),
    gradients: &mut ParameterArena<Q, f32>,
    add: impl FnOnce(&mut ParameterArena<Q, f32>) -> Result<()>,
) -> Result<()> {
    if gradients.table() != table {
        return Err(NnError::OtherPlan { op, what: "parameter table" });
    }
    add(gradients).map_err(|reason| cleared(q, op, layer, gradients, reason))
}

/// Clears the gradients of a layer's parameters; the error that states it, with `reason`.
///
/// A lost device clears nothing: its own error is returned then.
pub(super) fn cleared<Q: Queue>(
    q: &Q,
    op: &'static str,
    layer: &impl Parameters,
    gradients: &mut ParameterArena<Q, f32>,
    reason: NnError,
) -> NnError {
    for id in layer.ids() {
        if let Err(error) = gradients.at_mut(id).and_then(|sum| Ok(q.clear(sum.into_view())?)) {
            return error;
        }
    }
    match reason {
        NnError::GradientsCleared { .. } => reason,
        reason => NnError::GradientsCleared { op, reason: Box::new(reason) },
    }
}

/// Adds a gradient in `T` to a gradient in f32.
pub(super) fn add_wide<Q: ElementwiseOps + TensorOps, T: Precision>(
    q: &Q,
    gradient: TensorRef<'_, Q, T>,
    into: TensorMut<'_, Q, f32>,
) -> Result<()> {
    axpby(q, 1.0, Readable::widened(q, gradient)?.at(), 1.0, into)
}
