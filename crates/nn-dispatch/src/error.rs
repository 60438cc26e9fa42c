//! The error type of the crate.

use backend_api::BackendError;
use nn_ops::NnError;
use runtime::OpenError;
use thiserror::Error;

use crate::tag::Tag;

/// The result of a function that fails with [`DispatchError`] unless another error is given.
pub(crate) type Result<T, E = DispatchError> = core::result::Result<T, E>;

/// Why a dispatcher was not opened or an op was refused.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum DispatchError {
    /// The backward pass would run on another device or generation than the forward pass.
    #[error(
        "`{op}` runs on {backward}, but the forward pass ran on {forward}; RSI_ML_ALLOW_MIXED=1 permits a transfer"
    )]
    Mixed {
        /// Name of the op.
        op: &'static str,
        /// The tag of the saved result.
        forward: Tag,
        /// The tag of the device that would run the op.
        backward: Tag,
    },
    /// The saved result belongs to another op.
    #[error("`{op}` expected the saved result of `{expected}`, got one of `{got}`")]
    OtherPass {
        /// Name of the op.
        op: &'static str,
        /// The forward pass it belongs to.
        expected: &'static str,
        /// The forward pass that saved the result.
        got: &'static str,
    },
    /// The operands were refused, or the device failed.
    #[error(transparent)]
    Op(#[from] NnError),
    /// A setting cannot be used, or the device cannot be opened and nothing may take its place.
    #[error(transparent)]
    Open(#[from] OpenError),
}

impl From<BackendError> for DispatchError {
    fn from(error: BackendError) -> Self {
        Self::Op(error.into())
    }
}

impl DispatchError {
    /// Whether the device lacks memory or a feature, so that another device may run the op.
    pub(crate) fn is_shortage(&self) -> bool {
        matches!(
            self,
            Self::Op(NnError::Backend(
                BackendError::BudgetExceeded { .. }
                    | BackendError::OutOfMemory { .. }
                    | BackendError::Unsupported { .. }
            ))
        )
    }
}
