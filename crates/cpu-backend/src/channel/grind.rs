//! The search for a proof-of-work nonce.
//!
//! Nonce `k` is `(k >> 20) 2^32 + (k mod 2^20)`. It shows work if `Blake2s(prefix || nonce)` has
//! `bits` trailing zeros as a little-endian number (stwo 2.3, `prover/backend/simd/grind.rs`).
//! Threads take chunks of nonces in order, a nonce in each lane. The least nonce found wins.

use core::sync::atomic::{AtomicU64, Ordering};

use backend_api::Queue;
use core_types::{
    blake2s::Digest,
    channel::{nonce, shows_work},
    params::channel::ChannelState,
};

use crate::{
    CpuQueue,
    blake2s::one_block,
    simd::{LaneKernel, WIDEST, bits::Bits, dispatch},
};

/// Nonces that a thread takes at once; a power of two below the number of lower words.
const CHUNK: u64 = 1 << 12;

impl CpuQueue {
    /// The first nonce that shows `bits` bits of work.
    pub(super) fn first_nonce(&self, channel: ChannelState, bits: u32) -> [u32; 2] {
        let prefix = channel.work_prefix(bits);
        let (next, best) = (AtomicU64::new(0), AtomicU64::new(u64::MAX));
        self.for_indices(self.caps().threads, 1, |_| {
            loop {
                let first = next.fetch_add(CHUNK, Ordering::Relaxed);
                // A chunk below the best nonce is searched whatever the threads do, so the result is the least of all.
                if first >= best.load(Ordering::Relaxed) {
                    break;
                }
                if let Some(found) = dispatch(self.simd(), Search { first, prefix, bits }) {
                    best.fetch_min(found, Ordering::Relaxed);
                }
            }
        });
        nonce(best.into_inner())
    }
}

/// Finds the first number of a nonce in the chunk from `first` on that shows the work.
struct Search {
    first: u64,
    prefix: Digest,
    bits: u32,
}

impl<L: Bits> LaneKernel<L> for Search {
    type Out = Option<u64>;

    #[inline(always)]
    fn run(self, l: L) -> Option<u64> {
        let Self { first, prefix, bits } = self;
        // All lanes have the prefix; they differ in the lower word of the nonce.
        let lowest_zeros = ((1u64 << bits.min(32)) - 1) as u32;
        let mut block = [l.splat(0); 16];
        for (lanes, word) in block.iter_mut().zip(prefix.0) {
            *lanes = l.splat(word);
        }
        let mut places = [0; WIDEST];
        for (place, word) in (0..).zip(&mut places) {
            *word = place;
        }
        let places = l.load(&places);
        let mut done = 0;
        // A lane whose first digest word passes is checked for all bits.
        while done < CHUNK {
            let [lower, upper] = nonce(first + done);
            block[8] = l.add(l.splat(lower), places);
            block[9] = l.splat(upper);
            let mut lowest = [0; WIDEST];
            l.store(&mut lowest, one_block(l, &block, 40)[0]);
            for (index, &word) in (first + done..).zip(&lowest[..L::N]) {
                if word & lowest_zeros == 0 && shows_work(prefix, nonce(index), bits) {
                    return Some(index);
                }
            }
            done += L::N as u64;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::levels;

    #[test]
    fn the_upper_word_takes_part() {
        let prefix = ChannelState::default().work_prefix(9);
        for first in [1 << 20, (3 << 20) + 4 * CHUNK, (1 << 40) - CHUNK] {
            let expected = (first..first + CHUNK).find(|&index| shows_work(prefix, nonce(index), 9));
            assert!(expected.is_some());
            for simd in levels() {
                assert_eq!(dispatch(simd, Search { first, prefix, bits: 9 }), expected);
            }
        }
    }
}
