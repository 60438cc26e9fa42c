//! Sizes of domains and columns, as the checks of circle ops need them.

use core_types::{circle::MAX_LOG_DOMAIN, params::circle::CircleExtendParams};

use crate::BackendError;

/// The log size of a domain.
pub(super) fn domain(op: &'static str, log_size: u32) -> Result<u32, BackendError> {
    if (1..=MAX_LOG_DOMAIN).contains(&log_size) {
        return Ok(log_size);
    }
    Err(BackendError::Unsupported { op, why: "expected a circle domain with a log size of 1..=30" })
}

/// Refuses a domain that is smaller than the polynomials.
pub(super) fn extension(op: &'static str, params: &CircleExtendParams) -> Result<(), BackendError> {
    domain(op, params.log_size)?;
    if params.log_coefficients <= params.log_size {
        return Ok(());
    }
    Err(BackendError::Unsupported { op, why: "the domain is smaller than the polynomial" })
}

/// Number of elements of `count` columns of `2^log_len`.
///
/// If it does not fit, `usize::MAX`, which is no view's length.
pub(super) fn columns(count: u32, log_len: u32) -> usize {
    (count as usize).saturating_mul(1 << log_len) // log_len is at most 30
}
