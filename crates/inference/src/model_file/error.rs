//! Why a file does not describe a model.

use thiserror::Error;

/// Why a file does not describe a model.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ModelFileError {
    /// The file is too long.
    #[error("model file: expected at most {max} bytes, got {got}")]
    Length {
        /// The most bytes.
        max: usize,
        /// Its length.
        got: usize,
    },
    /// It is not JSON, has an unknown field or lacks one.
    #[error("model file: {reason}")]
    Json {
        /// The parser's error, with line and column.
        reason: String,
    },
    /// A value is out of range, or a layer does not take the results of the layer before it.
    #[error("model file: {place}: expected {expected}, got {got}")]
    Value {
        /// The field, after the layer that has it.
        place: String,
        /// The allowed values.
        expected: String,
        /// The value, escaped.
        got: String,
    },
}
