//! Questions about a secret.

use core_types::Ring;

use crate::{GateKind, PfssError, RangeError, SignedRange};

/// The public interval `start <= x < end` of an unsigned `x`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Interval {
    /// First element, below `2^n`.
    pub start: u64,
    /// One past the last element, above `start`; `None` for the end `2^n` of the ring.
    pub end: Option<u64>,
}

impl Interval {
    /// An injective encoding for the parties' transcript.
    pub(crate) fn facts(self) -> [u64; 3] {
        [self.start, self.end.unwrap_or(0), u64::from(self.end.is_none())]
    }

    /// Whether the interval is a non-empty part of the ring.
    pub(crate) fn check(self, index: usize, ring: Ring) -> Result<(), PfssError> {
        let Self { start, end } = self;
        for got in [Some(start), end].into_iter().flatten() {
            if got > ring.mask() {
                return Err(PfssError::Constant { index, bits: ring.bits(), got });
            }
        }
        match end {
            Some(end) if end <= start => Err(PfssError::EmptyInterval { index, start, end }),
            _ => Ok(()),
        }
    }
}

/// A public question about a secret `x`, answered from comparison keys of the mask of `x`.
///
/// One key answers any number of questions of its kind: the questions only choose the public points
/// where the key is evaluated. `n` is the ring width of the gate, and constants are
/// representatives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Predicate {
    /// `x < beta` unsigned. Needs [`Gate::full_predicates`](crate::Gate::full_predicates).
    Lt {
        /// The threshold, below `2^n`.
        beta: u64,
    },
    /// Whether `x` lies in the interval.
    ///
    /// Needs [`Gate::full_predicates`](crate::Gate::full_predicates).
    Interval(Interval),
    /// Whether `x + r` wrapped around `2^n`.
    ///
    /// Needs [`Gate::full_predicates`](crate::Gate::full_predicates).
    Wrap,
    /// The top bit of `x + c`. Needs [`Gate::sign_predicates`](crate::Gate::sign_predicates).
    Msb {
        /// The summand, below `2^n`.
        c: u64,
    },
    /// `x >= 0` signed, the derivative of ReLU.
    ///
    /// Needs [`Gate::sign_predicates`](crate::Gate::sign_predicates).
    NonNegative,
    /// Whether the low `n - 1` bits of `x + r` wrapped around `2^(n-1)`.
    ///
    /// Needs [`Gate::sign_predicates`](crate::Gate::sign_predicates).
    Borrow,
    /// `x mod 2^f < gamma`. Needs [`Gate::low_predicates`](crate::Gate::low_predicates).
    LowLt {
        /// The threshold, below `2^f`.
        gamma: u64,
    },
    /// Whether the low `f` bits of `x + r` wrapped around `2^f`.
    ///
    /// Needs [`Gate::low_predicates`](crate::Gate::low_predicates).
    Carry,
}

impl Predicate {
    /// `x < beta` signed, for values in `range`.
    ///
    /// It is the sign of `x - beta`, which is exact because no difference wraps.
    ///
    /// # Errors
    /// [`RangeError::Overflow`] if a difference `x - beta` leaves `-2^(n-1) .. 2^(n-1)`.
    pub fn signed_lt(ring: Ring, range: SignedRange, beta: i64) -> Result<Self, RangeError> {
        let half = 1i128 << (ring.bits() - 1);
        for end in [i128::from(range.min()) - i128::from(beta), i128::from(range.max()) - i128::from(beta)] {
            if end < -half || end >= half {
                return Err(RangeError::Overflow { bits: ring.bits(), end });
            }
        }
        Ok(Self::Msb { c: ring.neg(beta.cast_unsigned()) })
    }

    /// Whether the constants lie in their ring.
    pub(crate) fn check(self, index: usize, ring: Ring, domain: Ring) -> Result<(), PfssError> {
        let inside = |ring: Ring, got: u64| {
            if got > ring.mask() { Err(PfssError::Constant { index, bits: ring.bits(), got }) } else { Ok(()) }
        };
        match self {
            Self::Lt { beta } => inside(ring, beta),
            Self::LowLt { gamma } => inside(domain, gamma),
            Self::Msb { c } => inside(ring, c),
            Self::Interval(interval) => interval.check(index, ring),
            Self::Wrap | Self::NonNegative | Self::Borrow | Self::Carry => Ok(()),
        }
    }

    /// An injective encoding for the parties' transcript.
    pub(crate) fn facts(self) -> [u64; 4] {
        match self {
            Self::Lt { beta } => [1, beta, 0, 0],
            Self::Interval(interval) => {
                let [start, end, open] = interval.facts();
                [2, start, end, open]
            }
            Self::Wrap => [3, 0, 0, 0],
            Self::Msb { c } => [4, c, 0, 0],
            Self::NonNegative => [5, 0, 0, 0],
            Self::Borrow => [6, 0, 0, 0],
            Self::LowLt { gamma } => [7, gamma, 0, 0],
            Self::Carry => [8, 0, 0, 0],
        }
    }

    /// The keys that answer it.
    pub(crate) const fn kind(self) -> GateKind {
        match self {
            Self::Lt { .. } | Self::Interval(_) | Self::Wrap => GateKind::FullPredicates,
            Self::Msb { .. } | Self::NonNegative | Self::Borrow => GateKind::SignPredicates,
            Self::LowLt { .. } | Self::Carry => GateKind::LowPredicates,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Task;

    /// The transcripts of parties with different builds of one session version have to agree.
    #[test]
    fn facts_are_those_of_the_session_s_version() {
        let interval = |start, end| Predicate::Interval(Interval { start, end });
        for (predicate, facts) in [
            (Predicate::Lt { beta: 9 }, [1, 9, 0, 0]),
            (interval(3, Some(9)), [2, 3, 9, 0]),
            (interval(3, None), [2, 3, 0, 1]),
            (Predicate::Wrap, [3, 0, 0, 0]),
            (Predicate::Msb { c: 9 }, [4, 9, 0, 0]),
            (Predicate::NonNegative, [5, 0, 0, 0]),
            (Predicate::Borrow, [6, 0, 0, 0]),
            (Predicate::LowLt { gamma: 9 }, [7, 9, 0, 0]),
            (Predicate::Carry, [8, 0, 0, 0]),
        ] {
            assert_eq!(predicate.facts(), facts, "{predicate:?}");
        }
        let range = SignedRange::new(-2, 5).unwrap();
        assert_eq!(Task::ReluWithin(range).facts(), [u64::MAX - 1, 5]);
        assert_eq!((Task::Relu.facts(), Task::Abs.facts()), (vec![], vec![1]));
    }
}
