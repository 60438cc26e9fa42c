//! A pass over a table for every element.
//!
//! It adds up the entries selected by the bits of a unit vector.
//!
//! With `d_p[i]` the bit of party `p` for the mask `i`, the masked word is the sum over `p` and `i`
//! of `(-1)^p d_p[i] table[x_hat - i]`, plus `ρ`. Its sign is bit 1 of the sum of `(-1)^p d_p[i]`
//! (Pika, PETS 2022; SIGMA, PETS 2024).

use std::sync::Arc;

use core_types::{Ring, block_words, cmp::cmp_blocks};
use zeroize::Zeroizing;

use crate::{
    Evaluator, KeyBundle, PfssError,
    gate::kinds::lut::RHO_ROW,
    gates::{
        shares::{
            bits::BitShares,
            pending::{Pending, Step},
            sums::BundleSums,
        },
        walk::tree::WholeTree,
    },
};

/// Number of words of 128 points evaluated at once.
///
/// This bounds memory and does not change results.
const BLOCKS_AT_ONCE: usize = 1 << 18;

/// Elements whose tables of `2^bits` entries are read at once, a multiple of 32.
pub(crate) const fn elements_at_once(bits: u32) -> usize {
    BLOCKS_AT_ONCE / cmp_blocks(bits) as usize // at most 64 blocks
}

/// The evaluation of a given table.
#[derive(Clone, Debug)]
pub(crate) struct TablePlan {
    entries: Entries,
    /// The ring of the words.
    ring: Ring,
    sums: Arc<BundleSums>,
}

impl TablePlan {
    /// Plans `table`, with a word of the second ring for each element of the first.
    ///
    /// The result is `sums` over the opened words.
    pub(in crate::gates) fn new([domain, ring]: [Ring; 2], table: &[u64], sums: BundleSums) -> Self {
        Self { entries: Entries::new(domain, table), ring, sums: Arc::new(sums) }
    }

    /// The first step, from the masked input of each element.
    pub(in crate::gates) fn eval<W: Evaluator>(
        &self,
        evaluator: &W,
        bundle: KeyBundle,
        x_hat: &[u64],
    ) -> Result<Step, PfssError> {
        let mut sums = TableSums::new(x_hat.len());
        let tree = WholeTree::of(evaluator, &bundle, self.entries.domain.bits())?;
        let at_once = elements_at_once(self.entries.domain.bits());
        for (first, x_hat) in (0..).step_by(at_once).zip(x_hat.chunks(at_once)) {
            let units = tree.units(first..first + x_hat.len())?;
            for (block, row) in units.chunks_exact(x_hat.len()).enumerate() {
                for (at, (&bits, &x)) in row.iter().zip(x_hat).enumerate() {
                    sums.add(first + at, bits, self.entries.of(block, x));
                }
            }
        }
        drop(tree);
        let (words, sign) = sums.finish(&bundle, self.ring);
        let bits = BitShares::new(bundle.party(), bundle.count(), sign);
        let pending = Pending::summed(bundle, &bits, 0, None, Arc::clone(&self.sums));
        Ok(Step::Open(pending.with_words(self.ring, words)))
    }
}

/// The table from its end to its start, twice.
///
/// The entries for the masks `i`, `i + 1`, .. of one element are then consecutive.
#[derive(Clone, Debug)]
struct Entries {
    domain: Ring,
    words: Vec<u64>,
}

impl Entries {
    fn new(domain: Ring, table: &[u64]) -> Self {
        let backwards = table[..1].iter().chain(table[1..].iter().rev());
        Self { domain, words: backwards.clone().chain(backwards).copied().collect() }
    }

    /// `table[x_hat - i]` for each `i` of a block of 128 masks, or for all if there are fewer.
    fn of(&self, block: usize, x_hat: u64) -> &[u64] {
        let start = self.domain.neg(x_hat) as usize + POINTS * block; // below twice the length of the table
        &self.words[start..][..POINTS.min(self.words.len() / 2)]
    }
}

/// Points whose bits one word of shares holds.
const POINTS: usize = 128;

/// Sums over the table of one party's bits, for each element.
struct TableSums {
    words: Zeroizing<Vec<u64>>,
    bits: Zeroizing<Vec<u64>>,
}

impl TableSums {
    fn new(count: usize) -> Self {
        Self { words: Zeroizing::new(vec![0; count]), bits: Zeroizing::new(vec![0; count]) }
    }

    /// Adds to the sums of element `e` the entries whose bits are set, without a branch on a bit.
    fn add(&mut self, e: usize, bits: u128, entries: &[u64]) {
        let mut sum = self.words[e];
        for (half, entries) in block_words(bits).into_iter().zip(entries.chunks(64)) {
            for (i, entry) in entries.iter().enumerate() {
                // a bit shifted into every place; of its negative the compiler makes a branch
                let mask = ((half << (63 - i)).cast_signed() >> 63).cast_unsigned();
                sum = sum.wrapping_add(entry & mask);
            }
        }
        self.words[e] = sum;
        self.bits[e] += u64::from(bits.count_ones());
    }

    /// The masked words, and shares of the signs.
    ///
    /// The sum of both parties' bits, one negated, is 1 or 3 modulo 4, so one of the two is odd and
    /// their second bits add up without a carry.
    fn finish(&self, bundle: &KeyBundle, ring: Ring) -> (Vec<u64>, Vec<u32>) {
        let negate = |value: u64| bundle.party().public(value).wrapping_sub(bundle.party().peer().public(value));
        let rho = bundle.word_row(RHO_ROW as usize);
        let words = self.words.iter().zip(rho).map(|(&word, &rho)| ring.add(negate(word), rho)).collect();
        let signs = self.bits.chunks(32).map(|lanes| {
            lanes.iter().enumerate().fold(0, |word, (lane, &bits)| word | ((negate(bits) >> 1) as u32 & 1) << lane)
        });
        (words, signs.collect())
    }
}
