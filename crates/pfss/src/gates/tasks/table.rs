//! A pass over a table for every element.
//!
//! It adds up the entries selected by the bits of a unit vector.
//!
//! With `d_p[i]` the bit of party `p` for the mask `i`, the masked word is the sum over `p` and `i`
//! of `(-1)^p d_p[i] table[x_hat - i]`, plus `ρ`. Its sign is bit 1 of the sum of `(-1)^p d_p[i]`,
//! which is 1 or 3 modulo 4, so that one of the two parties' sums is odd and their second bits add
//! up without a carry (Pika, PETS 2022; SIGMA, PETS 2024).

use std::sync::Arc;

use core_types::{Ring, cmp::cmp_blocks};
use zeroize::Zeroizing;

use crate::{
    Evaluator, KeyBundle, PfssError,
    gate::kinds::lut::RHO_ROW,
    gates::{
        shares::{bits::BitShares, pending::Pending, sums::BundleSums},
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
    domain: Ring,
    /// The ring of the words.
    ring: Ring,
    table: Arc<[u64]>,
    sums: Arc<BundleSums>,
}

impl TablePlan {
    /// Plans `table`, with a word of the second ring for each element of the first.
    ///
    /// The result is `sums` over the opened words.
    pub(in crate::gates) fn new([domain, ring]: [Ring; 2], table: &[u64], sums: BundleSums) -> Self {
        Self { domain, ring, table: table.into(), sums: Arc::new(sums) }
    }

    /// The first step, from the masked input of each element.
    pub(in crate::gates) fn eval<W: Evaluator>(
        &self,
        evaluator: &W,
        bundle: KeyBundle,
        x_hat: &[u64],
    ) -> Result<Pending, PfssError> {
        // Sums over the table and over all bits, some elements at a time.
        let [mut words, mut ones] = [(); 2].map(|()| Zeroizing::new(Vec::with_capacity(x_hat.len())));
        let tree = WholeTree::of(evaluator, &bundle, self.domain.bits(), [x_hat, &self.table])?;
        for first in (0..x_hat.len()).step_by(elements_at_once(self.domain.bits())) {
            let elements = first..x_hat.len().min(first + elements_at_once(self.domain.bits()));
            let rows = tree.sums(elements.clone())?;
            let (part, part_ones) = rows.split_at(elements.len());
            words.extend_from_slice(part);
            ones.extend_from_slice(part_ones);
        }
        drop(tree);
        // The masked words, and shares of the signs.
        let negate = |value: u64| bundle.party().public(value).wrapping_sub(bundle.party().peer().public(value));
        let rho = bundle.word_row(RHO_ROW as usize);
        let words = words.iter().zip(rho).map(|(&word, &rho)| self.ring.add(negate(word), rho)).collect();
        let sign = ones.chunks(32).map(|lanes| {
            lanes.iter().enumerate().fold(0, |word, (lane, &ones)| word | ((negate(ones) >> 1) as u32 & 1) << lane)
        });
        let bits = BitShares::new(bundle.party(), bundle.count(), sign.collect());
        let pending = Pending::summed(bundle, &bits, 0, None, Arc::clone(&self.sums));
        Ok(pending.with_words(self.ring, words))
    }
}
