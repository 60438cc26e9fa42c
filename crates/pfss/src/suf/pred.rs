//! The predicates of descriptors.

use core_types::Ring;

use super::SufError;

/// A public question about `x`, an atom of the formulas of a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Pred {
    /// `x < beta`, unsigned.
    Lt {
        /// The threshold, below `2^n`.
        beta: u64,
    },
    /// `x mod 2^f < gamma`.
    LtLow {
        /// Low bits looked at, 1 to `n`.
        f: u32,
        /// The threshold, below `2^f`.
        gamma: u64,
    },
    /// The top bit of `x`: its sign.
    Msb,
    /// The top bit of `x + c`.
    MsbAdd {
        /// The summand, below `2^n`.
        c: u64,
    },
}

impl Pred {
    /// The answer for the representative `x` of `ring`.
    #[must_use]
    pub fn holds(self, ring: Ring, x: u64) -> bool {
        match self {
            Self::Lt { beta } => ring.reduce(x) < beta,
            Self::LtLow { f, gamma } => low(ring, f).reduce(x) < gamma,
            Self::Msb => ring.msb(x) == 1,
            Self::MsbAdd { c } => ring.msb(ring.add(x, c)) == 1,
        }
    }

    /// Whether the constants of predicate `pred` lie in their rings.
    pub(super) fn check(self, pred: usize, ring: Ring) -> Result<(), SufError> {
        let inside = |what, ring: Ring, got: u64| {
            let outside = SufError::Constant { what, of: "predicate", index: pred, bits: ring.bits(), got };
            if got > ring.mask() { Err(outside) } else { Ok(()) }
        };
        match self {
            Self::Lt { beta } => inside("threshold", ring, beta),
            Self::LtLow { f, .. } if f == 0 || f > ring.bits() => {
                Err(SufError::LowBits { pred, max: ring.bits(), got: f })
            }
            Self::LtLow { f, gamma } => inside("threshold", low(ring, f), gamma),
            Self::MsbAdd { c } => inside("summand", ring, c),
            Self::Msb => Ok(()),
        }
    }
}

/// The ring of the low `f` bits; a checked predicate has 1 to `n` of them.
fn low(ring: Ring, f: u32) -> Ring {
    Ring::new(f).unwrap_or(ring)
}
