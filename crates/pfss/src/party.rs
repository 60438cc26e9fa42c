//! The two parties.

use core::fmt;

use thiserror::Error;

/// One of the two parties. Public constants are added by party 0 only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Party {
    /// Party 0; its tree root starts with control bit 0.
    Zero,
    /// Party 1; its tree root starts with control bit 1.
    One,
}

impl Party {
    /// Both parties, in order.
    pub const BOTH: [Self; 2] = [Self::Zero, Self::One];

    /// 0 or 1.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The number on the wire and in key bundles.
    #[must_use]
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// The other party.
    #[must_use]
    pub const fn peer(self) -> Self {
        match self {
            Self::Zero => Self::One,
            Self::One => Self::Zero,
        }
    }

    /// This party's additive share of a public constant: `value` for party 0, zero for party 1.
    pub(crate) const fn public(self, value: u64) -> u64 {
        match self {
            Self::Zero => value,
            Self::One => 0,
        }
    }
}

impl fmt::Display for Party {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "party {}", self.number())
    }
}

/// A number that names no party.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("expected party 0 or 1, got {got}")]
pub struct PartyError {
    /// The number found.
    pub got: u8,
}

impl TryFrom<u8> for Party {
    type Error = PartyError;

    fn try_from(number: u8) -> Result<Self, PartyError> {
        match number {
            0 => Ok(Self::Zero),
            1 => Ok(Self::One),
            got => Err(PartyError { got }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_other_number_is_refused() {
        for number in 0..=u8::MAX {
            match Party::try_from(number) {
                Ok(party) => assert_eq!(party.number(), number),
                Err(error) => assert!(number > 1 && error.got == number),
            }
        }
    }
}
