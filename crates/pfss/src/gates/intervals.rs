//! Indicators of intervals times powers of the mask, from a comparison key with a payload.
//!
//! With `D(y) = (-r)^j 1[y < r]`, `u = x_hat - start` and `v = x_hat - end`, the indicator of
//! `start <= x < end` times `(-r)^j` is `D(v) - D(u) + 1[v > u] (-r)^j` (Boyle et al., EUROCRYPT
//! 2021, interval containment). For the whole ring, the condition is dropped.

use backend_api::ops::fss::FssOps;
use core_types::{
    Ring,
    params::share::{Threshold, WordTerm},
};

use super::{
    shares::sums::BundleSums,
    walk::{evaluator::Evaluator, tree::Trees},
};
use crate::{
    Gate, Interval, KeyBundle, PfssError,
    gate::kinds::intervals::{IntervalPowers, mask_row},
    secret::staging::StagedSecret,
    tree::cluster::TreePoints,
};

/// Sums over the shares of a tree with a payload, with nothing to open.
#[derive(Clone, Debug)]
pub(crate) struct PayloadPlan {
    points: TreePoints,
    sums: BundleSums,
}

impl IntervalPowers {
    /// The plan of `1[x in I] (-r)^j` for each of `intervals` and each power `0 <= j <= degree`.
    ///
    /// The shares are `[intervals][degree + 1][count]`, with the element innermost. With them, a
    /// polynomial of `x = x_hat - r` on each interval is public arithmetic.
    pub(super) fn plan(&self, gate: &Gate, intervals: &[Interval]) -> Result<PayloadPlan, PfssError> {
        let (ring, words) = (gate.ring(), self.degree as usize + 1);
        // Each end is a point, shared by the intervals that have it.
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
        // The difference of the shares at both ends, plus the power if the ends wrap.
        let points = TreePoints::new(gate.trees()[0], &offsets); // the gate's only tree
        let word_rows = gate.word_rows() as usize;
        let share = |point: usize, j: usize| WordTerm::word((word_rows + points.rows()[point] * words + j) as u32);
        let powers = ends.iter().flat_map(|ends| (0..words).map(move |j| (ends, j)));
        let sums = powers.fold(BundleSums::new(ring, ring), |sums, (&[start, end], j)| {
            // equal ends are the whole ring, whose two values cancel
            let inside = if start == end {
                mask_power(j)
            } else {
                mask_power(j).when(wraps(ring, offsets[start], offsets[end]))
            };
            sums.sum([share(end, j), share(start, j).minus(), inside])
        });
        Ok(PayloadPlan::new(points, sums))
    }
}

impl PayloadPlan {
    /// Walks the gate's only tree at `points`; the result is `sums`.
    pub(super) const fn new(points: TreePoints, sums: BundleSums) -> Self {
        Self { points, sums }
    }

    /// Where the tree is walked.
    pub(crate) fn points(&self) -> &TreePoints {
        &self.points
    }

    /// The sums over the shares of the tree.
    pub(crate) fn sums(&self) -> &BundleSums {
        &self.sums
    }

    /// Shares for the keys and the sums of the plan.
    ///
    /// `x_hat` has the masked input of each element, an element of the gate's ring.
    pub(super) fn eval<W: Evaluator>(
        &self,
        evaluator: &W,
        bundle: &KeyBundle,
        x_hat: &[u64],
    ) -> Result<Vec<u64>, PfssError> {
        let trees = self.trees(evaluator, bundle, x_hat)?;
        let shares = trees.words(0, &self.points)?;
        self.sums.run_with(&trees, shares.view())
    }

    /// [`eval`](Self::eval) with the shares left in device memory.
    pub(super) fn eval_on_device<'q, Q: FssOps>(
        &self,
        q: &'q Q,
        bundle: &KeyBundle,
        x_hat: &[u64],
    ) -> Result<StagedSecret<'q, Q, u64>, PfssError> {
        let trees = self.trees(q, bundle, x_hat)?;
        let shares = trees.words(0, &self.points)?;
        self.sums.sums_with(q, &trees, shares.view())
    }

    /// The gate's only tree, at the points of the plan.
    fn trees<'w, W: Evaluator>(
        &'w self,
        evaluator: &'w W,
        bundle: &'w KeyBundle,
        x_hat: &[u64],
    ) -> Result<Trees<'w, W>, PfssError> {
        Trees::at(evaluator, bundle, x_hat, [&self.points], [self.sums.list()], true)
    }
}

/// The threshold of `x_hat - end > x_hat - start`.
///
/// This holds if `x_hat - end` is at least the size of the ring outside the interval.
fn wraps(ring: Ring, start: u64, end: u64) -> Threshold {
    Threshold { shift: ring.neg(end), bound: ring.sub(start, end), bits: ring.bits(), wanted: 0 }
}

/// `(-r)^j`.
pub(super) const fn mask_power(j: usize) -> WordTerm {
    match j {
        0 => WordTerm::ONE,
        1 => WordTerm::word(mask_row(1)).minus(),
        _ => WordTerm::word(mask_row(j)),
    }
}
