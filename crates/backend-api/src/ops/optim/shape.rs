//! Checks of views that all optimiser steps share.

use crate::{BackendError, DType, Mut, Queue, Real, Ref};

/// Rejects both or neither kind of gradient and, if `T` is f32, wide gradients or a copy.
pub(super) fn check<Q: Queue, T: Real>(
    op: &'static str,
    g: Option<&Ref<'_, Q, T>>,
    wide: Option<&Ref<'_, Q, f32>>,
    copy: Option<&Mut<'_, Q, T>>,
) -> Result<(), BackendError> {
    let refuse = |why| Err(BackendError::Unsupported { op, why });
    if g.is_some() == wide.is_some() {
        return refuse("expected exactly one of `g` and `wide`");
    }
    if T::DTYPE == DType::F32 && (wide.is_some() || copy.is_some()) {
        return refuse("f32 weights have neither wide gradients nor a rounded copy");
    }
    Ok(())
}
