//! The choice between the shift that trusts a proven range and the one that needs none.

use crate::{GapCert, Gate, KeyBundle, PfssError, RangeError, SignedRange, Task};

/// A graph's claim about the range of a secret signed value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RangeClaim {
    /// Nothing.
    Unknown,
    /// A range that was measured or is expected.
    ///
    /// It decides nothing, since outside it a gap shift would be silently wrong.
    Hint(SignedRange),
    /// A range that holds for every possible input.
    Proof(SignedRange),
}

/// The gate for `floor(x / 2^f)` of a signed `x`, chosen from the proven range of `x`.
///
/// A proof of `-2^(n-2) <= x < 2^(n-2)` selects the gap shift, which compares `f` bits only.
/// Everything else, a hint included, selects the exact shift. Truncation without the carry, which
/// is off by one at random and cannot be simulated (SIGMA, PETS 2024, section 4.2), is never
/// selected.
///
/// ```
/// use pfss::{AutoTrunc, RangeClaim, SignedRange};
///
/// let range = SignedRange::new(-1000, 1000)?;
/// assert!(matches!(AutoTrunc::choose(64, 12, RangeClaim::Proof(range))?, AutoTrunc::Gap { .. }));
/// assert!(matches!(AutoTrunc::choose(64, 12, RangeClaim::Hint(range))?, AutoTrunc::Exact { .. }));
/// # Ok::<(), pfss::PfssError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AutoTrunc {
    /// `f = 0`: nothing to do, no keys.
    Identity,
    /// [`Gate::gap_ars`], or [`Gate::gap_ars_to`] for a wider result, under the proof.
    Gap {
        /// The gate to deal keys for.
        gate: Gate,
        /// The proof that evaluating it requires.
        cert: GapCert,
    },
    /// [`Gate::ars`].
    Exact {
        /// The gate to deal keys for.
        gate: Gate,
    },
}

impl AutoTrunc {
    /// Chooses for values of `n` bits.
    ///
    /// # Errors
    /// [`PfssError::RingWidth`] or [`PfssError::Shift`] unless `2 <= n <= 64` and `f < n`;
    /// [`PfssError::Range`] if the proven range does not even fit in `n` bits, so that it is not
    /// about values of the ring.
    pub fn choose(n: u32, f: u32, claim: RangeClaim) -> Result<Self, PfssError> {
        if let RangeClaim::Proof(range) = claim {
            range.fits(n)?;
        }
        if f == 0 {
            // the widths of the exact gate
            return Gate::ars(n, 1).map(|_| Self::Identity);
        }
        let exact = Gate::ars(n, f)?;
        let cert = match claim {
            RangeClaim::Proof(range) => range.gap_cert(n),
            RangeClaim::Unknown | RangeClaim::Hint(_) => return Ok(Self::Exact { gate: exact }),
        };
        match cert {
            // the gap leaves no room for a shift by n - 1
            Ok(cert) if f + 2 <= n => Ok(Self::Gap { gate: Gate::gap_ars(n, f)?, cert }),
            Ok(_) | Err(RangeError::NoGap { .. }) => Ok(Self::Exact { gate: exact }),
            Err(other) => Err(other.into()),
        }
    }

    /// The gap shift of values of `n` bits, with results of `out` bits.
    ///
    /// The values must be proven to leave a gap: no exact shift leads into a wider ring.
    ///
    /// ```
    /// use pfss::{AutoTrunc, SignedRange};
    ///
    /// // A dot product that 40 bits hold is opened in 41 bits, and its shift leaves 64.
    /// let sums = SignedRange::of_bits(40);
    /// let shift = AutoTrunc::widening(41, 12, 64, sums)?;
    /// assert_eq!(shift.gate().map(|gate| (gate.n(), gate.out_ring().bits())), Some((41, 64)));
    /// assert!(AutoTrunc::widening(40, 12, 64, sums).is_err());
    /// # Ok::<(), pfss::PfssError>(())
    /// ```
    ///
    /// # Errors
    /// As [`Gate::gap_ars_to`], and [`PfssError::Range`] for a range without a gap in `n` bits.
    pub fn widening(n: u32, f: u32, out: u32, proven: SignedRange) -> Result<Self, PfssError> {
        Ok(Self::Gap { gate: Gate::gap_ars_to(n, f, out)?, cert: proven.gap_cert(n)? })
    }

    /// The shift by `f` bits of values in a proven range, with results in the ring of `out` bits.
    ///
    /// Its ring is the smallest in which the range leaves a gap, since a value is opened in its
    /// bits. If no gap is left, or nothing is shifted, it is the ring of the results.
    ///
    /// ```
    /// use pfss::{AutoTrunc, SignedRange};
    ///
    /// let shift = AutoTrunc::narrowest(12, 64, SignedRange::of_bits(40))?;
    /// assert_eq!(shift.gate().map(pfss::Gate::n), Some(41));
    /// # Ok::<(), pfss::PfssError>(())
    /// ```
    ///
    /// # Errors
    /// As [`choose`](Self::choose).
    pub fn narrowest(f: u32, out: u32, proven: SignedRange) -> Result<Self, PfssError> {
        // a gap shift by `f` needs two bits more
        let narrow = proven.gap_bits().map(|n| n.max(f.saturating_add(2))).filter(|&n| f > 0 && n < out);
        match narrow {
            Some(n) => Self::widening(n, f, out, proven),
            None => Self::choose(out, f, RangeClaim::Proof(proven)),
        }
    }

    /// The same gap shift [in one round](Gate::in_one_round), with larger keys.
    ///
    /// Other shifts stay as they are.
    ///
    /// ```
    /// use pfss::{AutoTrunc, SignedRange};
    ///
    /// let shift = AutoTrunc::narrowest(12, 64, SignedRange::of_bits(40))?.in_one_round()?;
    /// assert_eq!(shift.gate().map(|gate| gate.cost().rounds), Some(1));
    /// # Ok::<(), pfss::PfssError>(())
    /// ```
    ///
    /// # Errors
    /// None is expected here: [`Gate::in_one_round`] fails only for other gates.
    pub fn in_one_round(self) -> Result<Self, PfssError> {
        Ok(match self {
            Self::Gap { gate, cert } => Self::Gap { gate: gate.in_one_round()?, cert },
            Self::Identity | Self::Exact { .. } => self,
        })
    }

    /// The gate to deal keys for; none for the identity.
    #[must_use]
    pub fn gate(&self) -> Option<&Gate> {
        match self {
            Self::Identity => None,
            Self::Gap { gate, .. } | Self::Exact { gate } => Some(gate),
        }
    }

    /// What to run with those keys; nothing for the identity.
    #[must_use]
    pub fn task(&self) -> Option<Task<'static>> {
        match self {
            Self::Identity => None,
            Self::Gap { cert, .. } => Some(Task::GapArs(*cert)),
            Self::Exact { .. } => Some(Task::Ars),
        }
    }

    /// The task with its keys; `None` for the identity, which has none.
    ///
    /// # Errors
    /// [`PfssError::Length`] if there is a bundle for the identity, or none for any other shift,
    /// [`PfssError::Program`] for keys of another gate.
    pub(crate) fn keyed(&self, bundle: Option<KeyBundle>) -> Result<Option<(Task<'static>, KeyBundle)>, PfssError> {
        match (self.task(), bundle) {
            // only the chosen gate drops these bits, into this ring
            (Some(_), Some(bundle)) if self.gate() != Some(bundle.gate()) => Err(PfssError::Program),
            (Some(task), Some(bundle)) => Ok(Some((task, bundle))),
            (None, None) => Ok(None),
            (task, bundle) => {
                let expected = usize::from(task.is_some());
                Err(PfssError::Length { what: "bundles", expected, got: usize::from(bundle.is_some()) })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(min: i64, max: i64) -> SignedRange {
        SignedRange::new(min, max).unwrap()
    }

    #[test]
    fn only_a_proof_within_the_gap_selects_the_gap_shift() {
        for n in 3..=64u32 {
            let quarter = 1i64 << (n - 2);
            for f in 1..n {
                let chosen = |claim| AutoTrunc::choose(n, f, claim).unwrap();
                let inside = range(-quarter, quarter - 1);
                assert_eq!(matches!(chosen(RangeClaim::Proof(inside)), AutoTrunc::Gap { .. }), f <= n - 2, "{n} {f}");
                for claim in [
                    RangeClaim::Unknown,
                    RangeClaim::Hint(inside),
                    RangeClaim::Hint(range(0, 0)),
                    RangeClaim::Proof(range(-quarter, quarter)),
                    RangeClaim::Proof(range(-quarter - 1, 0)),
                ] {
                    assert_eq!(chosen(claim), AutoTrunc::Exact { gate: Gate::ars(n, f).unwrap() });
                }
            }
        }
    }

    #[test]
    fn a_widening_shift_is_refused_without_a_gap() {
        for n in 3..=63u32 {
            let quarter = 1i64 << (n - 2);
            let inside = range(-quarter, quarter - 1);
            for f in 1..=n - 2 {
                let chosen = AutoTrunc::widening(n, f, 64, inside).unwrap();
                assert_eq!(chosen.gate(), Gate::gap_ars_to(n, f, 64).ok().as_ref());
                assert_eq!(chosen.task(), inside.gap_cert(n).ok().map(Task::GapArs));
                assert_eq!(AutoTrunc::widening(n, f, n, inside), AutoTrunc::choose(n, f, RangeClaim::Proof(inside)));
            }
            for (min, max) in [(-quarter - 1, 0), (0, quarter)] {
                let refused = AutoTrunc::widening(n, 1, 64, range(min, max));
                assert_eq!(refused, Err(PfssError::Range(RangeError::NoGap { n, min, max })));
            }
            for f in [0, n - 1] {
                assert!(matches!(AutoTrunc::widening(n, f, 64, inside), Err(PfssError::Shift { .. })));
            }
            assert!(matches!(AutoTrunc::widening(n, 1, n - 1, inside), Err(PfssError::RingWidth { .. })));
        }
    }

    #[test]
    fn only_a_gap_shift_is_made_one_of_one_round() {
        let gap = AutoTrunc::choose(64, 12, RangeClaim::Proof(range(-1000, 1000))).unwrap();
        let fewer = gap.clone().in_one_round().unwrap();
        assert_eq!(fewer.gate().cloned(), gap.gate().cloned().map(|gate| gate.in_one_round().unwrap()));
        assert_ne!(fewer, gap);
        assert_eq!(fewer.task(), gap.task());
        for other in [AutoTrunc::choose(64, 12, RangeClaim::Unknown), AutoTrunc::choose(64, 0, RangeClaim::Unknown)] {
            let other = other.unwrap();
            assert_eq!(other.clone().in_one_round(), Ok(other));
        }
    }

    #[test]
    fn no_shift_is_the_identity_and_a_whole_shift_is_refused() {
        for n in [2, 64] {
            assert_eq!(AutoTrunc::choose(n, 0, RangeClaim::Unknown), Ok(AutoTrunc::Identity));
            assert_eq!(AutoTrunc::narrowest(0, n, range(0, 1)), Ok(AutoTrunc::Identity));
        }
        assert!(AutoTrunc::Identity.gate().is_none() && AutoTrunc::Identity.task().is_none());
        for f in [64, 65, u32::MAX] {
            assert!(matches!(AutoTrunc::choose(64, f, RangeClaim::Unknown), Err(PfssError::Shift { .. })));
        }
        for n in [0, 1, 65] {
            assert!(matches!(AutoTrunc::choose(n, 0, RangeClaim::Unknown), Err(PfssError::RingWidth { .. })));
        }
        let refused = AutoTrunc::choose(8, 3, RangeClaim::Proof(range(0, 200)));
        assert_eq!(refused, Err(PfssError::Range(RangeError::Overflow { bits: 8, end: 200 })));
    }
}
