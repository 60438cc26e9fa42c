//! Where a super-batch stands, in words.

use core::fmt;

/// Where a super-batch stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// It takes in jobs.
    Pending,
    /// All key trees are walked, and bits wait to be opened.
    Flushed,
    /// Results are there.
    Finalized,
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pending => "pending",
            Self::Flushed => "flushed",
            Self::Finalized => "finalized",
        })
    }
}
