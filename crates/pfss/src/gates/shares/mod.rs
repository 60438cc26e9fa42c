//! Shares that wait for an exchange, the sums formed after it, and the results.

pub(super) mod bits;
pub(super) mod opened;
pub(crate) mod pending;
pub(super) mod results;
pub(crate) mod sums;
