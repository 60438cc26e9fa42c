//! Lengths of operands and results.

use nn_ops::NnError;

/// Refuses the first tensor with another number of elements.
///
/// Each has its name, the expected number and the given one.
pub(crate) fn exact(op: &'static str, tensors: &[(&'static str, usize, usize)]) -> Result<(), NnError> {
    match tensors.iter().find(|&&(_, expected, got)| expected != got) {
        Some(&(tensor, expected, got)) => Err(NnError::Length { op, tensor, expected, got }),
        None => Ok(()),
    }
}

/// [`exact`] for a tensor that may be left out.
pub(crate) fn exact_if(
    op: &'static str,
    tensor: &'static str,
    expected: usize,
    got: Option<usize>,
) -> Result<(), NnError> {
    exact(op, &[(tensor, expected, got.unwrap_or(expected))])
}
