//! AES in counter mode.

use core_types::AesKey;

use super::{
    lanes::{Kernel, Lanes, TOGETHER, encrypt, round_keys},
    scalar,
};

/// Fills `words` with the blocks from counter `first` on.
pub(super) struct Fill<'a> {
    pub(super) key: &'a AesKey,
    pub(super) first: u128,
    pub(super) words: &'a mut [u64],
}

impl Kernel for Fill<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, l: L) {
        let keys = round_keys(l, self.key);
        let mut counter = self.first;
        let mut blocks = [0u128; 4 * TOGETHER];
        for words in self.words.chunks_mut(2 * TOGETHER * L::N) {
            for block in &mut blocks[..TOGETHER * L::N] {
                *block = counter;
                counter = counter.wrapping_add(1);
            }
            let mut counters = [l.splat(0); TOGETHER];
            for (i, counters) in counters.iter_mut().enumerate() {
                *counters = l.load(&blocks[i * L::N..]);
            }
            for (i, stream) in encrypt(l, &keys, &counters).iter().enumerate() {
                l.store(&mut blocks[i * L::N..], *stream);
            }
            // on a little-endian machine, as all with these instructions are, the words of a block are in order
            let stream: &[u64] = bytemuck::cast_slice(&blocks);
            words.copy_from_slice(&stream[..words.len()]);
        }
    }

    fn scalar(self) {
        scalar::ctr_fill(self.key, self.first, self.words);
    }
}
