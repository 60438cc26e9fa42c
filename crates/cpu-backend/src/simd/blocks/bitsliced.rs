//! AES of 32 blocks on bit planes in plain Rust.
//!
//! It is a Boolean circuit, without a table, a branch or an address that depends on the blocks.
//!
//! Loops run over the 16 bytes of the state, whose planes compute side by side, so that the
//! compiler maps them to the vector instructions of its baseline target.

use core::array;

use core_types::bitsliced::{double, sub_bytes, transposed, xor};

/// Bytes of the state, row by row: byte `4 row + column`.
const PLACES: usize = 16;

/// The words of the four columns of 32 blocks.
pub(super) type Columns = [[u32; 4]; 32];

/// 32 blocks between rounds: plane k has in word `place` bit k of that byte of every block.
#[derive(Clone, Copy)]
pub(crate) struct Planes([[u32; PLACES]; 8]);

impl Planes {
    /// Zeros.
    pub(super) const ZERO: Self = Self([[0; PLACES]; 8]);

    /// A round key, the same for all blocks.
    pub(super) fn of_key(key: u128) -> Self {
        let bit_of = |bit: usize, place: usize| (key >> (8 * (4 * (place % 4) + place / 4) + bit)) as u32 & 1;
        Self(array::from_fn(|bit| array::from_fn(|place| bit_of(bit, place).wrapping_neg())))
    }

    /// The planes of `blocks`.
    pub(super) fn of_blocks(blocks: &Columns) -> Self {
        // four blocks at a time: byte b of a word then belongs to block b, and words are in the order of places
        let mut groups = Self::ZERO;
        for (group, blocks) in groups.0.iter_mut().zip(blocks.as_chunks::<4>().0) {
            for column in 0..4 {
                let words = bytes_transposed(array::from_fn(|block| blocks[block][column]));
                for (row, word) in words.into_iter().enumerate() {
                    group[4 * row + column] = word;
                }
            }
        }
        let mut planes = Self::ZERO;
        for place in 0..PLACES {
            planes.put(place, transposed(groups.at(place)));
        }
        planes
    }

    /// The blocks.
    pub(super) fn blocks(&self) -> Columns {
        let mut groups = Self::ZERO;
        for place in 0..PLACES {
            groups.put(place, transposed(self.at(place)));
        }
        let mut blocks = [[0; 4]; 32];
        for (group, blocks) in groups.0.iter().zip(blocks.as_chunks_mut::<4>().0) {
            for column in 0..4 {
                let words = bytes_transposed(array::from_fn(|row| group[4 * row + column]));
                for (block, word) in blocks.iter_mut().zip(words) {
                    block[column] = word;
                }
            }
        }
        blocks
    }

    /// The eight planes of a byte.
    #[inline(always)]
    fn at(&self, place: usize) -> [u32; 8] {
        array::from_fn(|bit| self.0[bit][place])
    }

    /// Sets the eight planes of a byte.
    #[inline(always)]
    fn put(&mut self, place: usize, words: [u32; 8]) {
        for (plane, word) in self.0.iter_mut().zip(words) {
            plane[place] = word;
        }
    }

    /// Planes whose byte at a place is that at `from(place)`.
    #[inline(always)]
    fn moved(&self, from: impl Fn(usize) -> usize) -> Self {
        Self(array::from_fn(|bit| array::from_fn(|place| self.0[bit][from(place)])))
    }

    /// SubBytes and ShiftRows.
    pub(super) fn substitute(&mut self) {
        for place in 0..PLACES {
            self.put(place, sub_bytes(self.at(place)));
        }
        *self = self.moved(|place| place / 4 * 4 + (place + place / 4) % 4);
    }

    /// MixColumns and the addition of a round key.
    fn mix(&mut self, key: &Self) {
        let next = self.moved(|place| (place + 4) % PLACES); // a row further down
        let mut pair = *self;
        pair.0.as_flattened_mut().iter_mut().zip(next.0.as_flattened()).for_each(|(own, next)| *own ^= next);
        let opposite = pair.moved(|place| (place + 8) % PLACES);
        // with the bytes a, b, c, d of a column from a place down: 2a + 3b + c + d
        for place in 0..PLACES {
            let rest = xor(xor(next.at(place), opposite.at(place)), key.at(place));
            self.put(place, xor(double(pair.at(place)), rest));
        }
    }

    /// A middle round.
    pub(super) fn round(&mut self, key: &Self) {
        self.substitute();
        self.mix(key);
    }
}

/// Byte b of word j becomes byte j of word b.
#[inline(always)]
fn bytes_transposed([a, b, c, d]: [u32; 4]) -> [u32; 4] {
    let bytes =
        |a: u32, b: u32| ((a & 0x00ff_00ff) | (b & 0x00ff_00ff) << 8, (a >> 8 & 0x00ff_00ff) | (b & 0xff00_ff00));
    let halves = |a: u32, b: u32| ((a & 0xffff) | b << 16, a >> 16 | (b & 0xffff_0000));
    let ((a, b), (c, d)) = (bytes(a, b), bytes(c, d));
    let ((a, c), (b, d)) = (halves(a, c), halves(b, d));
    [a, b, c, d]
}

#[cfg(test)]
mod tests {
    use core_types::{AesKey, Encrypt};

    use super::*;

    #[test]
    fn all_rounds_are_those_of_the_scalar_cipher_in_every_block() {
        let mut rng = fastrand::Rng::with_seed(1);
        let words = |block: u128| array::from_fn(|column| (block >> (32 * column)) as u32);
        let mut keys = [AesKey::new([0; 16]), AesKey::new(rng.u128(..).to_le_bytes())];
        // FIPS 197, appendix C.1
        keys[0] = AesKey::new(0x000102030405060708090a0b0c0d0e0f_u128.to_be_bytes());
        let example = u128::from_be_bytes(0x00112233445566778899aabbccddeeff_u128.to_le_bytes());
        for key in keys {
            let blocks: [u128; 32] = array::from_fn(|i| if i == 5 { example } else { rng.u128(..) });
            let [first, middle @ .., last] = key.rounds();
            let mut planes = Planes::of_blocks(&blocks.map(|block| words(block ^ first)));
            middle.iter().for_each(|&key| planes.round(&Planes::of_key(key)));
            planes.substitute();
            let encrypted: Vec<[u32; 4]> = blocks.iter().map(|&block| words(key.encrypt(block) ^ last)).collect();
            assert_eq!(planes.blocks().as_slice(), encrypted);
        }
    }
}
