use core_types::{
    Ring,
    params::share::{Threshold, WordTerm},
};

use super::{
    sums::Sums,
    tree::{check_inputs, dcf_shares},
};
use crate::{GateKind, Interval, MaskedKeys, PfssError, Walk};

impl MaskedKeys {
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
        let Self(bundle) = &self;
        bundle.check_use(GateKind::IntervalPowers, x_hat.len())?;
        let ring = bundle.gate().ring();
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
        let x_hat = check_inputs(bundle, x_hat)?;
        let words = bundle.gate().degree() as usize + 1;
        let shares = dcf_shares(q, bundle, 0, &offsets, &x_hat)?;
        let share =
            |point: usize, j: usize| WordTerm::word((bundle.word_rows() + shares.rows[point] * words + j) as u32);
        let powers = ends.iter().flat_map(|ends| (0..words).map(move |j| (ends, j)));
        let sums = powers.fold(Sums::new(ring, ring), |sums, (&[start, end], j)| {
            // equal ends are the whole ring, whose two values cancel
            let inside = if start == end {
                mask_power(j)
            } else {
                mask_power(j).when(wraps(ring, offsets[start], offsets[end]))
            };
            sums.sum([share(end, j), share(start, j).minus(), inside])
        });
        sums.run_with(q, bundle, &x_hat, shares.buf.buffer())
    }
}

/// Where `x_hat - end > x_hat - start`: there, `x_hat - end` is not below what is left of the ring past the interval.
fn wraps(ring: Ring, start: u64, end: u64) -> Threshold {
    Threshold { shift: ring.neg(end), bound: ring.sub(start, end), bits: ring.bits(), wanted: 0 }
}

/// The row of the words section that the power `j >= 1` of `-r` comes from: for `j = 1` that of `[r]`.
pub(super) const fn mask_row(j: usize) -> u32 {
    if j <= 1 { 0 } else { j as u32 - 1 }
}

/// `(-r)^j`.
pub(super) const fn mask_power(j: usize) -> WordTerm {
    match j {
        0 => WordTerm::ONE,
        1 => WordTerm::word(mask_row(1)).minus(),
        _ => WordTerm::word(mask_row(j)),
    }
}
