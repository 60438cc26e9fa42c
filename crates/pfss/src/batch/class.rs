//! The two classes of gates that a phase flushes one after the other.

use core::fmt;

/// The two classes of gates that a phase flushes separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Coefficients, comparisons and everything else.
    Coeff,
    /// Truncations.
    Trunc,
}

impl Class {
    /// Both, in the order of their flushes.
    pub const ALL: [Self; 2] = [Self::Coeff, Self::Trunc];

    pub(super) const fn index(self) -> usize {
        self as usize
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Coeff => "coeff",
            Self::Trunc => "trunc",
        })
    }
}
