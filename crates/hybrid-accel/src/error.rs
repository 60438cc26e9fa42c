//! The one error type of the crate.

use backend_api::{BackendError, DType};
use nn_ops::NnError;
use runtime::OpenError;
use thiserror::Error;

/// Why a call was refused, or the device's error.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum AccelError {
    /// The device of a backend cannot be opened.
    #[error("backend `{backend}` is not available: {reason}")]
    Unavailable {
        /// Name of the backend.
        backend: &'static str,
        /// Why not.
        reason: OpenError,
    },
    /// A tensor or a list has another shape than the call needs.
    #[error("`{call}` expected {tensor} of shape {expected}, got {got:?}")]
    Shape {
        /// Name of the call.
        call: &'static str,
        /// Name of the argument.
        tensor: &'static str,
        /// The shape that is needed.
        expected: String,
        /// The shape supplied.
        got: Vec<usize>,
    },
    /// Two tensors of one call have different element types.
    #[error("`{call}` expected {tensor} of {expected}, got {got}")]
    Elements {
        /// Name of the call.
        call: &'static str,
        /// Name of the argument.
        tensor: &'static str,
        /// The type that is needed.
        expected: DType,
        /// The type supplied.
        got: DType,
    },
    /// A tensor is on another device than the accelerator, or the device was opened twice.
    #[error("`{call}` expected {tensor} on {expected}, got one on {got}; copy it through the host")]
    OtherDevice {
        /// Name of the call.
        call: &'static str,
        /// Name of the argument.
        tensor: &'static str,
        /// The device of the accelerator, a GPU with its number.
        expected: String,
        /// The device of the tensor, a GPU with its number.
        got: String,
    },
    /// A number of a configuration is outside its domain.
    #[error("{name} must be {expected}, got {got}")]
    Config {
        /// Name of the number.
        name: &'static str,
        /// The values allowed.
        expected: &'static str,
        /// The value supplied.
        got: String,
    },
    /// A training has a loss or a gradient that is not finite.
    #[error("step {step} of the training has {name} {got}, expected a finite number")]
    Diverged {
        /// The step, from 0.
        step: u64,
        /// Name of the number.
        name: &'static str,
        /// The number.
        got: f32,
    },
    /// The model of the caller failed.
    #[error("the model failed: {reason}")]
    Model {
        /// Its reason.
        reason: String,
    },
    /// An operator or the device failed.
    #[error(transparent)]
    Ops(#[from] NnError),
}

impl AccelError {
    /// An argument of another shape.
    pub(crate) fn shape(call: &'static str, tensor: &'static str, expected: impl Into<String>, got: &[usize]) -> Self {
        Self::Shape { call, tensor, expected: expected.into(), got: got.to_vec() }
    }

    /// A number outside its domain.
    pub(crate) fn config(name: &'static str, expected: &'static str, got: impl ToString) -> Self {
        Self::Config { name, expected, got: got.to_string() }
    }
}

impl From<BackendError> for AccelError {
    fn from(error: BackendError) -> Self {
        Self::Ops(error.into())
    }
}
