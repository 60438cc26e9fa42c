//! The Blake2s transcript of a proof, as in the channel of stwo 2.3.
//!
//! It absorbs words, draws challenges and checks proof of work. Every function is inlined, since
//! kernels have neither calls nor arrays in memory.

use crate::{
    blake2s::{BLOCK_WORDS, Digest, START, compress, one_block},
    field::{M31, P, QM31},
    params::stark::channel::ChannelState,
};

/// Words of a digest.
const DIGEST_WORDS: u64 = 8;

/// Bytes of a word.
const WORD_BYTES: u64 = 4;

/// Log of the number of lower words that nonces run through before their upper word grows.
const LOG_LOWER: u32 = 20;

impl ChannelState {
    /// Absorbs `count` words, where word `i` is `word(i)`.
    ///
    /// The new digest is the hash of the old digest and the words, and draws start again. There are
    /// less than `2^61` words.
    #[inline(always)]
    pub fn absorb(&mut self, count: u64, word: impl Fn(u64) -> u32) {
        let at = |i: u64| if i < count { word(i) } else { 0 };
        let [d0, d1, d2, d3, d4, d5, d6, d7] = self.digest.0;
        let mut block = [d0, d1, d2, d3, d4, d5, d6, d7, at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7)];
        let mut chain = START;
        // Words that the block and those before it hold.
        let mut held = 8;
        loop {
            // Loaded ahead of use: the memory latency overlaps with the compression.
            let next = [
                at(held),
                at(held + 1),
                at(held + 2),
                at(held + 3),
                at(held + 4),
                at(held + 5),
                at(held + 6),
                at(held + 7),
                at(held + 8),
                at(held + 9),
                at(held + 10),
                at(held + 11),
                at(held + 12),
                at(held + 13),
                at(held + 14),
                at(held + 15),
            ];
            let (last, words) = if held < count { (false, held) } else { (true, count) };
            chain = compress(chain, &block, WORD_BYTES * (DIGEST_WORDS + words), last);
            if last {
                break;
            }
            block = next;
            held += BLOCK_WORDS as u64;
        }
        *self = Self { digest: Digest(chain), draws: 0 };
    }

    /// The eight words that the draw after `skipped` more gives.
    #[inline(always)]
    #[must_use]
    pub fn words_after(self, skipped: u32) -> [u32; 8] {
        let [d0, d1, d2, d3, d4, d5, d6, d7] = self.digest.0;
        let draws = self.draws.wrapping_add(skipped);
        // The byte after the count is zero: without it a draw would be the digest after one word is absorbed.
        one_block(&[d0, d1, d2, d3, d4, d5, d6, d7, draws, 0, 0, 0, 0, 0, 0, 0], 37).0
    }

    /// Draws two challenges.
    ///
    /// A draw that gives none is repeated, which happens once in `2^28` draws.
    #[inline(always)]
    pub fn draw_pair(&mut self) -> [QM31; 2] {
        loop {
            let words = self.words_after(0);
            self.draws = self.draws.wrapping_add(1);
            if let Some(pair) = challenges(words) {
                return pair;
            }
        }
    }

    /// What nonces that show `bits` bits of work are hashed with.
    #[inline(always)]
    #[must_use]
    pub fn work_prefix(self, bits: u32) -> Digest {
        let [d0, d1, d2, d3, d4, d5, d6, d7] = self.digest.0;
        one_block(&[0x1234_5678, 0, 0, 0, d0, d1, d2, d3, d4, d5, d6, d7, bits, 0, 0, 0], 52)
    }
}

/// The two challenges of eight words, or `None` if a word is `2 P` or more.
///
/// With such words, the elements would not be equally likely.
#[inline(always)]
#[must_use]
pub const fn challenges(words: [u32; 8]) -> Option<[QM31; 2]> {
    let [a, b, c, d, e, f, g, h] = words;
    let most = 2 * P - 1;
    if a > most || b > most || c > most || d > most || e > most || f > most || g > most || h > most {
        return None;
    }
    let [a, b, c, d] = [M31::from_u32(a), M31::from_u32(b), M31::from_u32(c), M31::from_u32(d)];
    let [e, f, g, h] = [M31::from_u32(e), M31::from_u32(f), M31::from_u32(g), M31::from_u32(h)];
    Some([QM31::from_coordinates([a, b, c, d]), QM31::from_coordinates([e, f, g, h])])
}

/// Lower and upper word of nonce `index`, below `2^52`: the order of stwo's SIMD prover.
#[inline(always)]
#[must_use]
pub const fn nonce(index: u64) -> [u32; 2] {
    [index as u32 & ((1 << LOG_LOWER) - 1), (index >> LOG_LOWER) as u32]
}

/// Whether a nonce shows `bits` bits of work, at most 40, after `prefix`.
#[inline(always)]
#[must_use]
pub fn shows_work(prefix: Digest, [lower, upper]: [u32; 2], bits: u32) -> bool {
    let [p0, p1, p2, p3, p4, p5, p6, p7] = prefix.0;
    let Digest([w0, w1, ..]) = one_block(&[p0, p1, p2, p3, p4, p5, p6, p7, lower, upper, 0, 0, 0, 0, 0, 0], 40);
    let lowest = w0 as u64 | (w1 as u64) << 32;
    lowest & 1u64.wrapping_shl(bits).wrapping_sub(1) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn felt(words: [u32; 4]) -> QM31 {
        QM31::from_coordinates(words.map(M31::from_u32))
    }

    #[test]
    fn draws_are_those_of_stwo() {
        // Made by stwo 2.3's Blake2s channel: 1, 2 and 3 absorbed, then two challenges drawn one by one.
        let mut channel = ChannelState::default();
        channel.absorb(3, |i| i as u32 + 1);
        let digest =
            [0x3d05_0c0b, 0x59e3_69d8, 0x6202_8bf3, 0x3404_bd69, 0x6612_e5fe, 0xa416_90e3, 0x06c3_e4e2, 0xa064_eb7a];
        assert_eq!(channel, ChannelState { digest: Digest(digest), draws: 0 });
        assert_eq!(channel.draw_pair()[0], felt([807_610_791, 2_097_869_073, 376_334_573, 1_057_186_329]));
        assert_eq!(channel.draw_pair()[0], felt([654_349_963, 769_559_648, 727_752_076, 1_296_872_392]));
        assert_eq!(channel.draws, 2);
    }

    #[test]
    fn a_draw_with_a_word_beyond_twice_the_prime_gives_nothing() {
        let words = [0, 1, P - 1, P, P + 1, 2 * P - 1, 7, 2 * P - 2];
        assert_eq!(challenges(words), Some([felt([0, 1, P - 1, 0]), felt([1, P - 1, 7, P - 2])]));
        for place in 0..8 {
            for refused in [2 * P, u32::MAX] {
                let mut words = words;
                words[place] = refused;
                assert_eq!(challenges(words), None, "{refused} at {place}");
            }
        }
    }

    #[test]
    fn upper_words_of_nonces_grow_after_lower_ones() {
        assert_eq!([0, 1, (1 << 20) - 1, 1 << 20].map(nonce), [[0, 0], [1, 0], [(1 << 20) - 1, 0], [0, 1]]);
        assert_eq!(nonce((5 << 20) + 9), [9, 5]);
    }

    #[test]
    fn no_work_is_shown_by_every_nonce_and_much_by_none() {
        let prefix = ChannelState::default().work_prefix(0);
        assert!((0..99).all(|index| shows_work(prefix, nonce(index), 0)));
        assert!(!(0..99).any(|index| shows_work(prefix, nonce(index), 40)));
    }
}
