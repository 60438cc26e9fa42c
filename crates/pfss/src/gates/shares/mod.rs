//! Shares that wait for an exchange, and the sums formed after it.

pub(super) mod bits;
pub(super) mod opened;
pub(super) mod pending;
pub(super) mod second_step;
pub(crate) mod sums;
