//! Why a text does not describe a machine or a fault.

/// A text that is not a [`Spec`](super::Spec).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("simulator item `{item}`: expected {expected}")]
pub struct SpecError {
    /// The item that was refused.
    pub item: String,
    /// What may stand there.
    pub expected: &'static str,
}
