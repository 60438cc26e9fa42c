//! Key streams of seeds on vectors: AES-128 in counter mode (NIST SP 800-38A, section 6.5).

use backend_api::ops::fss::GROUP;
use core_types::{block_words, params::fss::SeedParams};

use super::cipher::{Passage, RoundKeys};
use crate::simd::{
    LaneKernel,
    blocks::{AesBlocks, TOGETHER},
};

/// Expands the blocks from `first` on that each of `rows` has words for.
pub(super) struct Expand<'a, 'b> {
    pub(super) params: &'a SeedParams,
    pub(super) first: usize,
    pub(super) rows: &'a mut [&'b mut [u64]],
}

impl<L: AesBlocks> LaneKernel<L> for Expand<'_, '_> {
    type Out = ();

    #[inline(always)]
    fn run(self, l: L) {
        let Self { params, first, rows } = self;
        let keys = RoundKeys::new(l, &params.key);
        let [low, high] = params.mask;
        let mask = l.splat(u128::from(high) << 64 | u128::from(low));
        let step_blocks = TOGETHER * L::N;
        for (row, words) in rows.iter_mut().enumerate() {
            for (step, words) in words.chunks_mut(2 * step_blocks).enumerate() {
                let start = first + step * step_blocks;
                // The counters. Those past the last block wrap around and are dropped.
                let mut blocks = [0u128; GROUP];
                for (i, block) in blocks.iter_mut().enumerate() {
                    *block = params.counter(row as u32, (start + i) as u32);
                }
                // H(u) = AES(u) ^ u, changed by u, is AES(u).
                let mut passage = Passage::idle(l);
                for i in 0..TOGETHER {
                    let counter = l.load(&blocks[i * L::N..]);
                    passage.enter(l, &keys, i, counter, counter);
                }
                for (i, block) in passage.leave(l, &keys).iter().enumerate() {
                    l.store(&mut blocks[i * L::N..], l.and(*block, mask));
                }
                for (pair, block) in words.chunks_exact_mut(2).zip(&blocks) {
                    pair.copy_from_slice(&block_words(*block));
                }
            }
        }
    }
}
