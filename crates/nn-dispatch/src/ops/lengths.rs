//! Lengths of operands and results.

use nn_ops::NnError;

/// Refuses a tensor with another number of elements.
pub(crate) fn exact(op: &'static str, tensor: &'static str, expected: usize, got: usize) -> Result<(), NnError> {
    if got == expected { Ok(()) } else { Err(NnError::Length { op, tensor, expected, got }) }
}

/// [`exact`] for tensors that may be left out.
pub(crate) fn exact_if(
    op: &'static str,
    tensor: &'static str,
    expected: usize,
    got: Option<usize>,
) -> Result<(), NnError> {
    got.map_or(Ok(()), |got| exact(op, tensor, expected, got))
}
