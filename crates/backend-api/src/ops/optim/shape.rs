//! What the steps of all optimisers ask of their views.

use crate::{BackendError, DType, Mut, Queue, Real, Ref};

/// Refuses gradients of both types or of none, and a copy or a second type of gradients beside f32.
pub(super) fn check<Q: Queue, T: Real>(
    op: &'static str,
    g: Option<&Ref<'_, Q, T>>,
    wide: Option<&Ref<'_, Q, f32>>,
    copy: Option<&Mut<'_, Q, T>>,
) -> Result<(), BackendError> {
    let refuse = |why| Err(BackendError::Unsupported { op, why });
    if g.is_some() == wide.is_some() {
        return refuse("gradients of one type are needed");
    }
    if T::DTYPE == DType::F32 && (wide.is_some() || copy.is_some()) {
        return refuse("weights in f32 have no copy in f32");
    }
    Ok(())
}
