//! AES-128 (FIPS 197) on one block, by table look-up.
//!
//! **Not constant-time**: table indices depend on the data. Backends with AES instructions use only the key schedule
//! from here and give [`Encrypt`] their own rounds.

use core::fmt;

use bytemuck::{Pod, Zeroable};
use zeroize::DefaultIsZeroes;

/// Encryption of one 128-bit block under a fixed key; the integer is the little-endian reading of the 16 bytes.
pub trait Encrypt {
    /// The ciphertext of `block`.
    fn encrypt(&self, block: u128) -> u128;
}

/// The eleven round keys of AES-128, each the little-endian reading of its 16 bytes.
///
/// A plain record, so that it travels in launch parameters. Some keys are secret, so `Debug` shows nothing.
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
    pub const fn new(key: [u8; 16]) -> Self {
        let mut rounds = [0; 11];
        let mut last = u128::from_le_bytes(key);
        rounds[0] = last;
        let mut constant = 1u8;
        let mut i = 1;
        while i < 11 {
            let [_, _, _, _, _, _, _, _, _, _, _, _, b0, b1, b2, b3] = last.to_le_bytes();
            let turned = [sbox(b1) ^ constant, sbox(b2), sbox(b3), sbox(b0)];
            // each of the four words is xored with all words before it, and with the turned last word
            let mut next = last;
            next ^= next << 32;
            next ^= next << 64;
            let word = u32::from_le_bytes(turned) as u128;
            next ^= word | word << 32 | word << 64 | word << 96;
            rounds[i] = next;
            last = next;
            constant = double(constant);
            i += 1;
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
    #[inline]
    fn encrypt(&self, block: u128) -> u128 {
        let [first, middle @ .., last] = &self.rounds;
        let mut state = block ^ first;
        for key in middle {
            state = round(state) ^ key;
        }
        final_round(state) ^ last
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
    // p runs through the powers of the generator 3 and q through those of its inverse
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

/// SubBytes and MixColumns of a byte in row 0; other rows are rotations, by 8 bits for each row.
///
/// The word's second lowest byte is SubBytes alone. For devices that keep their own copies of the table.
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

const fn sbox(a: u8) -> u8 {
    SBOX[a as usize]
}

/// Byte `row` of column `column + row`, where ShiftRows takes it from.
#[inline]
fn shifted(state: u128, column: u32, row: u32) -> usize {
    let byte = 4 * ((column + row) % 4) + row;
    (state >> (8 * byte)) as usize & 0xff
}

#[inline]
fn round(state: u128) -> u128 {
    let mut next = 0;
    for column in 0..4 {
        let mut word = 0;
        for row in 0..4 {
            word ^= AES_TABLE[shifted(state, column, row)].rotate_left(8 * row);
        }
        next |= u128::from(word) << (32 * column);
    }
    next
}

#[inline]
fn final_round(state: u128) -> u128 {
    let mut next = 0;
    for column in 0..4 {
        for row in 0..4 {
            next |= u128::from(SBOX[shifted(state, column, row)]) << (32 * column + 8 * row);
        }
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hex: u128) -> [u8; 16] {
        hex.to_be_bytes()
    }

    #[test]
    fn the_examples_of_fips_197_hold() {
        let c1 = AesKey::new(bytes(0x000102030405060708090a0b0c0d0e0f));
        let block = u128::from_le_bytes(bytes(0x00112233445566778899aabbccddeeff));
        assert_eq!(c1.encrypt(block).to_le_bytes(), bytes(0x69c4e0d86a7b0430d8cdb78070b4c55a));
        let a1 = AesKey::new(bytes(0x2b7e151628aed2a6abf7158809cf4f3c));
        assert_eq!(a1.rounds()[10].to_le_bytes(), bytes(0xd014f9a8c9ee2589e13f0cc8b6630ca6));
        let block = u128::from_le_bytes(bytes(0x3243f6a8885a308d313198a2e0370734));
        assert_eq!(a1.encrypt(block).to_le_bytes(), bytes(0x3925841d02dc09fbdc118597196a0b32));
    }
}
