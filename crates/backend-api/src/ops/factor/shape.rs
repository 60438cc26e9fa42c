//! Lengths of the views of factorisations.

use core_types::params::factor::MAX_SIDE;

use crate::BackendError;

/// Number of elements of a `rows x cols` matrix.
///
/// If it does not fit, `usize::MAX`, which is no view's length.
pub(super) fn elements(rows: u64, cols: u64) -> usize {
    rows.checked_mul(cols).and_then(|count| usize::try_from(count).ok()).unwrap_or(usize::MAX)
}

/// Refuses a small matrix that is not small.
pub(super) fn small(op: &'static str, sides: [u64; 2]) -> Result<(), BackendError> {
    if sides.into_iter().all(|side| side <= MAX_SIDE) {
        return Ok(());
    }
    Err(BackendError::Unsupported { op, why: "expected a matrix of at most 1024 rows and columns" })
}

/// Refuses matrices with 2^31 rows or more, which kernels could not index.
pub(super) fn indexed(op: &'static str, rows: u64) -> Result<(), BackendError> {
    if rows < 1 << 31 {
        return Ok(());
    }
    Err(BackendError::Unsupported { op, why: "expected a matrix of fewer than 2^31 rows" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_that_cannot_be_counted_fit_no_view() {
        assert_eq!(elements(3, 5), 15);
        assert_eq!(elements(0, u64::MAX), 0);
        assert_eq!(elements(1 << 40, 1 << 40), usize::MAX);
    }
}
