use core::ops::Range;

use super::tree::{check_inputs, dcf_shares};
use crate::{GateKind, Interval, KeyBundle, PfssError, Walk};

impl KeyBundle {
    /// Additive shares of `1[x in I] (-r)^j` for every interval `I`, power `0 <= j <= degree` and element, in this
    /// order with the element innermost: `[intervals][degree + 1][count]`. No round is needed.
    ///
    /// With these, a polynomial of `x = x_hat - r` on each interval is public arithmetic. The key is one comparison
    /// key with payload `D(y) = (-r)^j 1[y < r]`, evaluated at the ends: `D(x_hat - end) - D(x_hat - start)`, plus
    /// `(-r)^j` where the ends wrap around (Boyle et al., EUROCRYPT 2021, interval containment).
    ///
    /// # Errors
    /// [`PfssError::Constant`] or [`PfssError::EmptyInterval`] for intervals outside the ring, and as
    /// [`eval_relu`](Self::eval_relu).
    pub fn eval_interval_powers<Q: Walk>(
        self,
        q: &Q,
        intervals: &[Interval],
        x_hat: &[u64],
    ) -> Result<Vec<u64>, PfssError> {
        self.check_use(GateKind::IntervalPowers, x_hat.len())?;
        let ring = self.gate().ring();
        let mut offsets = Vec::new();
        let mut ends = Vec::with_capacity(intervals.len());
        for (index, interval) in intervals.iter().enumerate() {
            interval.check(index, ring)?;
            let mut point = |offset: u64| {
                offsets.iter().position(|&known| known == offset).unwrap_or_else(|| {
                    offsets.push(offset);
                    offsets.len() - 1
                })
            };
            ends.push([point(interval.start), point(interval.end.unwrap_or(0))]);
        }
        let x_hat = check_inputs(&self, x_hat)?;
        let (count, words) = (x_hat.len(), self.gate().degree() as usize + 1);
        let shares = dcf_shares(q, &self, 0, &offsets, &x_hat)?;
        let share = |point: usize, j: usize, e: usize| shares[(point * words + j) * count + e];

        let mut out = Vec::with_capacity(intervals.len() * words * x_hat.len());
        for [start, end] in ends {
            for j in 0..words {
                for (e, &x) in x_hat.iter().enumerate() {
                    // equal ends are the whole ring, whose two values cancel
                    let wraps = start == end || ring.sub(x, offsets[end]) > ring.sub(x, offsets[start]);
                    let inside = if wraps { self.mask_power(j, e) } else { 0 };
                    out.push(ring.add(ring.sub(share(end, j, e), share(start, j, e)), inside));
                }
            }
        }
        Ok(out)
    }

    /// This party's shares of `(-r)^j` for a range of elements.
    pub(super) fn mask_powers(&self, j: usize, range: Range<usize>, out: &mut [u64]) {
        match j {
            0 => out.fill(self.party().public(1)),
            1 => {
                let (ring, r) = (self.gate().ring(), &self.word_row(0)[range]);
                out.iter_mut().zip(r).for_each(|(share, &r)| *share = ring.neg(r));
            }
            _ => out.copy_from_slice(&self.word_row(j - 1)[range]),
        }
    }

    /// This party's share of `(-r)^j` of element `e`.
    pub(super) fn mask_power(&self, j: usize, e: usize) -> u64 {
        match j {
            0 => self.party().public(1),
            1 => self.gate().ring().neg(self.word_row(0)[e]),
            _ => self.word_row(j - 1)[e],
        }
    }
}
