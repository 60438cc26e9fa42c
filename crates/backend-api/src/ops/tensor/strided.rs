//! The element types of strided copies.

use core_types::params::tensor::CopyParams;

use super::{CopyStrided, CopyStridedBool, CopyStridedU32, CopyStridedU64, TensorOps};
use crate::{BackendError, Element, Mut, Real, Ref};

/// An element that strided copies move: a float, a boolean, a u32 or a u64.
pub trait StridedElement: Element {
    /// Runs the strided copy of this type.
    ///
    /// It is [`CopyStrided`], [`CopyStridedBool`], [`CopyStridedU32`] or [`CopyStridedU64`].
    ///
    /// # Errors
    /// The errors of the op.
    fn copy_strided<'a, Q: TensorOps + 'a>(
        q: &Q,
        params: &'a CopyParams,
        x: Ref<'a, Q, Self>,
        y: Mut<'a, Q, Self>,
    ) -> Result<(), BackendError>;
}

impl<T: Real> StridedElement for T {
    fn copy_strided<'a, Q: TensorOps + 'a>(
        q: &Q,
        params: &'a CopyParams,
        x: Ref<'a, Q, Self>,
        y: Mut<'a, Q, Self>,
    ) -> Result<(), BackendError> {
        q.copy_strided(CopyStrided { params, x, y })
    }
}

impl StridedElement for bool {
    fn copy_strided<'a, Q: TensorOps + 'a>(
        q: &Q,
        params: &'a CopyParams,
        x: Ref<'a, Q, Self>,
        y: Mut<'a, Q, Self>,
    ) -> Result<(), BackendError> {
        q.copy_strided_bool(CopyStridedBool { params, x, y })
    }
}

impl StridedElement for u32 {
    fn copy_strided<'a, Q: TensorOps + 'a>(
        q: &Q,
        params: &'a CopyParams,
        x: Ref<'a, Q, Self>,
        y: Mut<'a, Q, Self>,
    ) -> Result<(), BackendError> {
        q.copy_strided_u32(CopyStridedU32 { params, x, y })
    }
}

impl StridedElement for u64 {
    fn copy_strided<'a, Q: TensorOps + 'a>(
        q: &Q,
        params: &'a CopyParams,
        x: Ref<'a, Q, Self>,
        y: Mut<'a, Q, Self>,
    ) -> Result<(), BackendError> {
        q.copy_strided_u64(CopyStridedU64 { params, x, y })
    }
}
