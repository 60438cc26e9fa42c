//! What a backend checks before a transform touches memory.

use core_types::{circle::MAX_LOG_DOMAIN, params::circle::CircleExtendParams};

use crate::BackendError;

/// Refuses a log size that no domain has.
///
/// # Errors
/// [`BackendError::Unsupported`] by `op`.
pub fn check_domain(op: &'static str, log_size: u32) -> Result<(), BackendError> {
    if (1..=MAX_LOG_DOMAIN).contains(&log_size) {
        return Ok(());
    }
    Err(BackendError::Unsupported { op, why: "a circle domain has a log size of 1..=30" })
}

/// Refuses a view of `got` elements that is not `columns` columns of `2^log_len`.
///
/// # Errors
/// [`BackendError::Length`].
pub fn check_columns(got: usize, columns: u32, log_len: u32) -> Result<(), BackendError> {
    let expected = (columns as usize).checked_shl(log_len).filter(|len| len >> log_len == columns as usize);
    match expected {
        Some(expected) if expected == got => Ok(()),
        _ => Err(BackendError::Length { expected: expected.unwrap_or(usize::MAX), got }),
    }
}

/// Refuses lengths of the views of an inversion that do not fit.
///
/// # Errors
/// [`BackendError::Length`].
pub fn check_inverse(elements: usize, inverses: usize, first_zero: usize) -> Result<(), BackendError> {
    for (expected, got) in [(elements, inverses), (1, first_zero)] {
        if expected != got {
            return Err(BackendError::Length { expected, got });
        }
    }
    Ok(())
}

/// Refuses parameters and lengths of views that are no extension of coefficients to a domain at least as large.
///
/// # Errors
/// [`BackendError::Unsupported`] by `op`, or [`BackendError::Length`].
pub fn check_extension(
    op: &'static str,
    params: &CircleExtendParams,
    twiddles: usize,
    coefficients: usize,
    values: usize,
) -> Result<(), BackendError> {
    let CircleExtendParams { log_coefficients, log_size, columns } = *params;
    check_domain(op, log_size)?;
    if log_coefficients > log_size {
        return Err(BackendError::Unsupported { op, why: "the domain is smaller than the polynomial" });
    }
    check_columns(twiddles, 1, log_size - 1)?;
    check_columns(coefficients, columns, log_coefficients)?;
    check_columns(values, columns, log_size)
}
