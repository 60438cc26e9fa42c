//! Checks of domains.

use core_types::circle::MAX_LOG_DOMAIN;

use crate::{BackendError, ops::lengths::require};

/// Refuses a log size that no domain has.
pub(super) fn domain(op: &'static str, log_size: u32) -> Result<(), BackendError> {
    let holds = (1..=MAX_LOG_DOMAIN).contains(&log_size);
    require(op, holds, "expected a circle domain with a log size of 1..=30")
}

/// Refuses a domain that is smaller than the polynomials.
pub(super) fn extension(op: &'static str, log_coefficients: u32, log_size: u32) -> Result<(), BackendError> {
    domain(op, log_size)?;
    require(op, log_coefficients <= log_size, "the domain is smaller than the polynomial")
}
