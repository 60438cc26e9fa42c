//! Predicates from the bits of their points.
//!
//! They are sums of bits, formed on the queue that walked the key trees.
//!
//! Each one is an XOR of shares `P(x_hat - b)` of `P(y) = 1[r <= y]` and of public bits, for
//! example `1[x < b] = P(x_hat) ^ P(x_hat - b) ^ 1[x_hat < b]` (Boyle et al., EUROCRYPT 2021,
//! interval containment).

use backend_api::{
    BackendError, Queue as _,
    ops::share::{CombineBits, ShareOps as _},
};
use core_types::params::share::{BitParams, BitTerm};
use zeroize::Zeroizing;

use super::{
    evaluator::{Activity, Evaluator},
    tree::Trees,
};
use crate::{
    PfssError,
    answers::ComparisonProgram,
    secret::staging::StagedSecret,
    tree::{KeyTree, cluster::TreePoints},
};

/// The evaluation of one comparison tree: its points, and the sums of their bits.
#[derive(Clone, Debug)]
pub(crate) struct Comparison {
    points: TreePoints,
    sums: BitSums,
    /// Whether each answer also takes the top bit of the mask.
    ///
    /// The shares of that bit are the first row of bits.
    with_msb: Vec<bool>,
}

impl Comparison {
    /// Plans the evaluation of `program`.
    pub(crate) fn new(program: &ComparisonProgram) -> Self {
        let points = TreePoints::new(KeyTree::Cmp { bits: program.domain().bits() }, program.offsets());
        let sums = BitSums::new(program.sums(points.rows()));
        Self { points, sums, with_msb: program.with_msb().collect() }
    }

    /// Where the tree is walked.
    pub(crate) fn points(&self) -> &TreePoints {
        &self.points
    }

    /// How bits are added up, and how many rows of them.
    pub(crate) fn over(&self) -> (&BitSums, usize) {
        (&self.sums, self.points.offsets().len())
    }

    /// XOR shares of the answers from comparison tree `index`.
    ///
    /// There is one row of `count.div_ceil(32)` words for each. Bits past the last element are
    /// zero.
    pub(in crate::gates) fn eval<W: Evaluator>(
        &self,
        trees: &Trees<'_, W>,
        index: usize,
    ) -> Result<Zeroizing<Vec<u32>>, PfssError> {
        let shares = trees.bits(index, &self.points)?;
        let mut bits = self.sums.combine(trees, &shares)?;
        drop(shares);
        if self.with_msb.contains(&true) {
            let (count, msb) = (trees.bundle().count(), trees.bundle().bit_row(0));
            for (_, row) in self.with_msb.iter().zip(bits.chunks_mut(count.div_ceil(32).max(1))).filter(|(on, _)| **on)
            {
                for (word, (bits, msb)) in row.iter_mut().zip(msb).enumerate() {
                    *bits ^= msb & u32::MAX >> (32 - (count - 32 * word).min(32)); // at least one element per word
                }
            }
        }
        Ok(bits)
    }
}

/// Sums of rows of bits and of public comparisons of the masked input.
#[derive(Clone, Debug)]
pub(crate) struct BitSums {
    terms: Vec<BitTerm>,
    sums: usize,
}

impl BitSums {
    pub(crate) fn new(terms: Vec<BitTerm>) -> Self {
        let sums = terms.iter().filter(|term| term.last == 1).count();
        Self { terms, sums }
    }

    /// Terms of all sums.
    pub(crate) fn terms(&self) -> usize {
        self.terms.len()
    }

    /// Number of sums.
    pub(crate) fn len(&self) -> usize {
        self.sums
    }

    /// The sums over `rows` that lie on the device.
    pub(in crate::gates) fn combine<W: Evaluator>(
        &self,
        trees: &Trees<'_, W>,
        rows: &StagedSecret<'_, W::Queue, u32>,
    ) -> Result<Zeroizing<Vec<u32>>, PfssError> {
        let (evaluator, q, bundle) = (trees.evaluator(), trees.evaluator().queue(), trees.bundle());
        // a bundle holds less than 2^32 elements
        let params = BitParams { count: bundle.count() as u32, party: bundle.party().number().into() };
        let sums = evaluator.during(Activity::Walk, || {
            let mut sums = StagedSecret::<_, u32>::alloc(q, self.sums * bundle.count().div_ceil(32))?;
            q.combine_bits(CombineBits {
                params: &params,
                terms: &self.terms,
                x: trees.x_hat(),
                rows: rows.view(),
                sums: sums.view_mut(),
            })?;
            Ok::<_, BackendError>(sums)
        })?;
        evaluator.meanwhile()?;
        Ok(Zeroizing::new(evaluator.during(Activity::CopyOut, || evaluator.results().read_secret(sums.view()))?))
    }
}
