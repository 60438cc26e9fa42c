//! How long a party waits for the other.

use core::time::Duration;

/// How long to wait for the other party.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Longest time in which nothing moves.
    pub idle: Duration,
    /// Longest time from the first byte to the result, however slowly bytes move.
    pub session: Duration,
}

impl Default for Limits {
    /// A minute without a byte, an hour in all.
    fn default() -> Self {
        Self { idle: Duration::from_secs(60), session: Duration::from_secs(3600) }
    }
}
