//! How long a party waits for the other.

use core::{fmt, time::Duration};

/// How long to wait for the other party.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Longest time in which nothing moves.
    pub idle: Duration,
    /// Longest time from the first byte to the result, however slowly bytes move.
    pub session: Duration,
}

/// A limit that has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Nothing moved for this long.
    Idle(Duration),
    /// The session took this long.
    Session(Duration),
}

impl Default for Limits {
    /// A minute without a byte, an hour in all.
    fn default() -> Self {
        Self { idle: Duration::from_secs(60), session: Duration::from_secs(3600) }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Idle(limit) => write!(f, "nothing moved for {} s", limit.as_secs_f32()),
            Self::Session(limit) => write!(f, "the session took {} s", limit.as_secs_f32()),
        }
    }
}
