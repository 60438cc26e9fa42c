//! Predicates from the bits of their points.
//!
//! They are sums of bits, formed on the queue that walked the key trees.
//!
//! Each one is an XOR of shares `P(x_hat - b)` of `P(y) = 1[r <= y]` and of public bits, for
//! example `1[x < b] = P(x_hat) ^ P(x_hat - b) ^ 1[x_hat < b]` (Boyle et al., EUROCRYPT 2021,
//! interval containment).

use backend_api::{
    BufferMut as _, BufferRef as _, Queue as _,
    ops::share::{CombineBits, ShareOps as _},
};
use core_types::params::share::{BitParams, BitTerm};
use zeroize::Zeroizing;

use super::{
    evaluator::{Activity, Evaluator},
    tree::Trees,
};
use crate::{
    KeyBundle, PfssError,
    answers::ComparisonProgram,
    lanes::live,
    secret::{kept::retrying, staging::StagedSecret},
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

    /// The list of the sums.
    pub(in crate::gates) fn list(&self) -> &[u64] {
        self.sums.list()
    }

    /// How bits are added up, and how many rows of them.
    pub(crate) fn over(&self) -> (&BitSums, usize) {
        (&self.sums, self.points.offsets().len())
    }

    /// Adds the top bit of the mask to the sums of the answers that take it.
    fn add_msb(&self, bundle: &KeyBundle, sums: &mut [u32]) {
        let rows = self.with_msb.iter().zip(sums.chunks_mut(bundle.count().div_ceil(32).max(1)));
        for (_, row) in rows.filter(|(on, _)| **on) {
            for (word, (bits, msb)) in row.iter_mut().zip(bundle.bit_row(0)).enumerate() {
                *bits ^= msb & live(bundle.count(), word);
            }
        }
    }
}

/// XOR shares of the answers of `comparisons`, one for each tree.
///
/// There is one row of `count.div_ceil(32)` words for each answer. Bits past the last element are
/// zero.
pub(in crate::gates) fn answers<W: Evaluator>(
    trees: &Trees<'_, W>,
    comparisons: &[Comparison],
) -> Result<Zeroizing<Vec<u32>>, PfssError> {
    let mut rows = BitRows::of(trees, comparisons.iter().map(Comparison::over))?;
    for (index, comparison) in comparisons.iter().enumerate() {
        rows.compare(index, comparison)?;
    }
    let mut bits = rows.read()?;
    let (mut rest, row) = (&mut bits[..], trees.bundle().count().div_ceil(32));
    for comparison in comparisons {
        let (sums, after) = rest.split_at_mut(comparison.sums.len() * row);
        comparison.add_msb(trees.bundle(), sums);
        rest = after;
    }
    Ok(bits)
}

/// Sums of bits over several trees, in device memory until they are read together.
///
/// The same buffer has room for the bits of one tree at a time, so that one clear wipes all.
pub(in crate::gates) struct BitRows<'t, 'w, W: Evaluator> {
    trees: &'t Trees<'w, W>,
    /// The bits of a tree, and then the sums.
    memory: StagedSecret<'w, W::Queue, u32>,
    /// Words before the sums.
    first: usize,
    /// Words that hold sums.
    filled: usize,
}

impl<'t, 'w, W: Evaluator> BitRows<'t, 'w, W> {
    /// Room for all of `sums`, each over a number of rows of bits.
    pub(in crate::gates) fn of<'s>(
        trees: &'t Trees<'w, W>,
        sums: impl Iterator<Item = (&'s BitSums, usize)>,
    ) -> Result<Self, PfssError> {
        let most = |(rows, all): (usize, usize), (sums, over): (&BitSums, usize)| (rows.max(over), all + sums.len());
        let ((rows, all), row) = (sums.fold((0, 0), most), trees.bundle().count().div_ceil(32));
        let memory = StagedSecret::alloc(trees.evaluator().queue(), (rows + all) * row)?;
        Ok(Self { trees, memory, first: rows * row, filled: 0 })
    }

    /// Adds the sums of `comparison`, over the bits of tree `index` at its points.
    pub(in crate::gates) fn compare(&mut self, index: usize, comparison: &Comparison) -> Result<(), PfssError> {
        self.trees.bits(index, &comparison.points, &mut self.memory)?;
        let rows = comparison.points.offsets().len() * self.trees.bundle().count().div_ceil(32);
        self.add(&comparison.sums, rows)
    }

    /// Adds `sums` over rows of bits in host memory.
    pub(in crate::gates) fn add_over(&mut self, sums: &BitSums, rows: &[u32]) -> Result<(), PfssError> {
        let evaluator = self.trees.evaluator();
        evaluator
            .during(Activity::CopyIn, || evaluator.queue().write_secret(rows, self.memory.slice_mut(0..rows.len())?))?;
        self.add(sums, rows.len())
    }

    /// Adds `sums` over the first `rows` words of the memory.
    fn add(&mut self, sums: &BitSums, rows: usize) -> Result<(), PfssError> {
        let (trees, evaluator, bundle) = (self.trees, self.trees.evaluator(), self.trees.bundle());
        // a bundle holds less than 2^32 elements
        let params = BitParams { count: bundle.count() as u32, party: bundle.party().number().into() };
        let place = self.filled..self.filled + sums.len() * bundle.count().div_ceil(32);
        self.filled = place.end;
        // A device may copy the terms.
        let combine = || {
            let (bits, all) = self.memory.split_at(self.first)?;
            evaluator.queue().combine_bits(CombineBits {
                params: &params,
                terms: &sums.terms,
                placed: trees.placed(sums.list())?,
                x: trees.x_hat()?,
                rows: bits.slice(0..rows)?,
                sums: all.slice(place.clone())?,
            })
        };
        evaluator.during(Activity::Walk, || retrying(evaluator.queue(), combine))?;
        Ok(())
    }

    /// All sums in host memory, in the order in which they were added.
    pub(in crate::gates) fn read(self) -> Result<Zeroizing<Vec<u32>>, PfssError> {
        let evaluator = self.trees.evaluator();
        evaluator.meanwhile()?;
        let sums = evaluator.during(Activity::CopyOut, || {
            evaluator.results().read_secret(self.memory.slice(self.first..self.first + self.filled)?)
        })?;
        Ok(Zeroizing::new(sums))
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

    /// The terms as words.
    pub(in crate::gates) fn list(&self) -> &[u64] {
        bytemuck::cast_slice(&self.terms)
    }

    /// Terms of all sums.
    pub(crate) fn terms(&self) -> usize {
        self.terms.len()
    }

    /// Number of sums.
    pub(crate) fn len(&self) -> usize {
        self.sums
    }
}

#[cfg(test)]
mod tests {
    use core::slice;

    use core_types::Ring;
    use runtime::AnyQueue;

    use super::*;
    use crate::{Dealer, Gate, secret::kept::tests::expect_eviction};

    #[test]
    fn terms_that_an_op_copies_replace_unused_copies() {
        let (gate, x_hat): (_, Vec<u64>) = (Gate::relu(64).unwrap(), (0..96).map(|at| at << 57 | at).collect());
        let [bundle, _] = Dealer::insecure_from_seed(3).deal(&runtime::cpu().unwrap(), &gate, 96).unwrap();
        let [domain, ring] = [63, 64].map(|bits| Ring::new(bits).unwrap());
        let sign = Comparison::new(&ComparisonProgram::non_negative(domain, ring));
        expect_eviction(|q: &AnyQueue| {
            // The list of the sums is not copied before.
            let trees = Trees::at(q, &bundle, &x_hat, [sign.points()], [], false)?;
            answers(&trees, slice::from_ref(&sign)).map(|bits| bits.to_vec())
        });
    }
}
