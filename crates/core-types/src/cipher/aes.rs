//! AES-128 (FIPS 197) on one block, as a Boolean circuit.
//!
//! No branch and no address depends on a key or a block. Backends use only the key schedule from
//! here and implement [`Encrypt`] with rounds of their own, many blocks at a time.

use core::{array, fmt};

use bytemuck::{Pod, Zeroable};
use zeroize::DefaultIsZeroes;

use crate::cipher::{
    bitsliced::{self, each, sub_bytes, xor},
    block::block_words,
};

/// Encryption of one 128-bit block under a fixed key.
///
/// The integer is the little-endian reading of the 16 bytes.
pub trait Encrypt {
    /// The ciphertext of `block`.
    fn encrypt(&self, block: u128) -> u128;
}

/// The eleven round keys of AES-128, each the little-endian reading of its 16 bytes.
///
/// A plain record, so that it travels in launch parameters. Some keys are secret, so `Debug` shows
/// nothing.
///
/// ```
/// use core_types::{AesKey, Encrypt};
///
/// // FIPS 197, appendix C.1
/// let key = AesKey::new(0x000102030405060708090a0b0c0d0e0fu128.to_be_bytes());
/// let block = u128::from_le_bytes(0x00112233445566778899aabbccddeeffu128.to_be_bytes());
/// assert_eq!(key.encrypt(block).to_le_bytes(), 0x69c4e0d86a7b0430d8cdb78070b4c55au128.to_be_bytes());
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
pub struct AesKey {
    rounds: [u128; 11],
}

impl AesKey {
    /// The key schedule of `key`.
    #[must_use]
    pub fn new(key: [u8; 16]) -> Self {
        let mut last = u128::from_le_bytes(key);
        let mut rounds = [last; 11];
        let mut constant = 1;
        for round in rounds.iter_mut().skip(1) {
            let turned = (bytes(sub_bytes(planes(last))) >> 96) as u32;
            let word = u128::from(turned.rotate_right(8) ^ u32::from(constant));
            // each of the four words is xored with all words before it, and with the turned last word
            let mut next = last;
            next ^= next << 32;
            next ^= next << 64;
            next ^= word | word << 32 | word << 64 | word << 96;
            *round = next;
            last = next;
            constant = double(constant);
        }
        Self { rounds }
    }

    /// The round keys, in the order they are added.
    #[inline]
    #[must_use]
    pub const fn rounds(&self) -> &[u128; 11] {
        &self.rounds
    }
}

impl Encrypt for AesKey {
    fn encrypt(&self, block: u128) -> u128 {
        let [first, middle @ .., last] = self.rounds.map(planes);
        let mut state = xor(planes(block), first);
        for key in middle {
            state = xor(mix_columns(each(sub_bytes(state), shift_rows)), key);
        }
        bytes(xor(each(sub_bytes(state), shift_rows), last))
    }
}

impl DefaultIsZeroes for AesKey {}

impl fmt::Debug for AesKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AesKey(..)")
    }
}

/// Multiplication by x in the field of 2^8 elements modulo x^8 + x^4 + x^3 + x + 1.
const fn double(a: u8) -> u8 {
    (a << 1) ^ ((a >> 7) * 0x1b)
}

const SBOX: [u8; 256] = {
    let mut table = [0x63; 256];
    // p runs through the powers of the generator 3, q through the powers of its inverse
    let (mut p, mut q) = (1u8, 1u8);
    loop {
        p ^= double(p);
        q ^= q << 1;
        q ^= q << 2;
        q ^= q << 4;
        q ^= (q >> 7) * 9;
        table[p as usize] = q ^ q.rotate_left(1) ^ q.rotate_left(2) ^ q.rotate_left(3) ^ q.rotate_left(4) ^ 0x63;
        if p == 1 {
            break table;
        }
    }
};

/// SubBytes and MixColumns of a byte in row 0, as a table of words.
///
/// Words of other rows are rotations, by 8 bits for each row. The word's second lowest byte is
/// SubBytes alone.
///
/// The table is for devices on which every lane keeps a separate copy; on a processor the time of a
/// lookup reveals its index.
pub const AES_TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        let s = SBOX[i];
        table[i] = u32::from_le_bytes([double(s), s, s, s ^ double(s)]);
        i += 1;
    }
    table
};

/// The planes of a block: bit i of plane k is bit k of byte i.
fn planes(block: u128) -> [u16; 8] {
    let gathered = |half: u64| half.wrapping_mul(0x0102_0408_1020_4080) >> 56; // the lowest bit of each byte
    array::from_fn(|bit| {
        let [low, high] = block_words(block >> bit).map(|half| gathered(half & EACH_BYTE));
        (low | high << 8) as u16
    })
}

/// The block of the [`planes`].
fn bytes(planes: [u16; 8]) -> u128 {
    let spread = |bits: u16| {
        // bit i alone in byte i, then at the bottom of its byte
        let alone = (u64::from(bits & 0xff) * EACH_BYTE) & 0x8040_2010_0804_0201;
        u128::from((alone + 0x7f * EACH_BYTE) >> 7 & EACH_BYTE)
    };
    planes.iter().rev().fold(0, |block, &plane| block << 1 | spread(plane) | spread(plane >> 8) << 64)
}

/// The lowest bit of each byte.
const EACH_BYTE: u64 = u64::MAX / 0xff;

/// ShiftRows on one plane, whose nibbles are columns.
fn shift_rows(plane: u16) -> u16 {
    (plane & 0x1111)
        | (plane & 0x2222).rotate_right(4)
        | (plane & 0x4444).rotate_right(8)
        | (plane & 0x8888).rotate_right(12)
}

/// MixColumns: 2a + 3b + c + d for the bytes a, b, c and d of a column.
///
/// The bytes are in order from each byte down.
fn mix_columns(own: [u16; 8]) -> [u16; 8] {
    let next = each(own, |plane| (plane >> 1 & 0x7777) | (plane << 3 & 0x8888));
    let pair = xor(own, next);
    let opposite = each(pair, |plane| (plane >> 2 & 0x3333) | (plane << 2 & 0xcccc));
    xor(xor(bitsliced::double(pair), next), opposite)
}

#[cfg(test)]
mod tests {
    use aes::cipher::{BlockCipherEncrypt, KeyInit};

    use super::*;

    fn from_hex(hex: u128) -> [u8; 16] {
        hex.to_be_bytes()
    }

    #[test]
    fn the_examples_of_fips_197_hold() {
        let c1 = AesKey::new(from_hex(0x000102030405060708090a0b0c0d0e0f));
        let block = u128::from_le_bytes(from_hex(0x00112233445566778899aabbccddeeff));
        assert_eq!(c1.encrypt(block).to_le_bytes(), from_hex(0x69c4e0d86a7b0430d8cdb78070b4c55a));
        let a1 = AesKey::new(from_hex(0x2b7e151628aed2a6abf7158809cf4f3c));
        assert_eq!(a1.rounds()[10].to_le_bytes(), from_hex(0xd014f9a8c9ee2589e13f0cc8b6630ca6));
        let block = u128::from_le_bytes(from_hex(0x3243f6a8885a308d313198a2e0370734));
        assert_eq!(a1.encrypt(block).to_le_bytes(), from_hex(0x3925841d02dc09fbdc118597196a0b32));
    }

    #[test]
    fn blocks_are_those_of_another_implementation() {
        let word = |i: u128| (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835).rotate_left(19);
        for i in 0..64 {
            let (key, block) = (word(2 * i).to_le_bytes(), word(2 * i + 1));
            let mut expected = block.to_le_bytes().into();
            aes::Aes128::new(&key.into()).encrypt_block(&mut expected);
            assert_eq!(AesKey::new(key).encrypt(block).to_le_bytes(), <[u8; 16]>::from(expected));
        }
    }
}
