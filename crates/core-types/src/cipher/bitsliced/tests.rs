//! Tests of AES on bit planes.
//!
//! The circuit is tested on every byte against the table, and all rounds on blocks against another
//! implementation.

use core::{
    array,
    ops::{BitAnd, BitXor, Not},
};

use aes::{
    Aes128,
    cipher::{BlockCipherEncrypt, KeyInit},
};

use super::{Places, ROUNDS, bit_of, byte_at, encrypt, owner_at, prefix, sub_bytes, transposed};
use crate::cipher::aes::{AES_TABLE, AesKey};

/// A plane of all 16 places.
#[derive(Clone, Copy)]
struct Group([u32; 16]);

impl BitXor for Group {
    type Output = Self;

    fn bitxor(self, other: Self) -> Self {
        Self(array::from_fn(|at| self.0[at] ^ other.0[at]))
    }
}

impl BitAnd for Group {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(array::from_fn(|at| self.0[at] & other.0[at]))
    }
}

impl Not for Group {
    type Output = Self;

    fn not(self) -> Self {
        Self(self.0.map(|plane| !plane))
    }
}

impl Places for Group {
    fn moved(self, from: impl Fn(u32) -> u32) -> Self {
        Self(array::from_fn(|at| self.0[from(at as u32) as usize]))
    }
}

/// The planes of 32 blocks.
fn planes(blocks: &[u128; 32]) -> [Group; 8] {
    let bits = |at: usize, bit: usize| {
        blocks.iter().enumerate().fold(0, |plane, (i, block)| plane | ((block >> (8 * at + bit)) as u32 & 1) << i)
    };
    array::from_fn(|bit| Group(array::from_fn(|at| bits(at, bit))))
}

#[test]
fn the_circuit_substitutes_every_byte() {
    for first in (0..256u32).step_by(32) {
        let bytes: [u32; 32] = array::from_fn(|i| first + i as u32);
        let plane = |bit: usize| bytes.iter().enumerate().fold(0, |plane, (i, byte)| plane | (byte >> bit & 1) << i);
        let substituted: [u32; 8] = sub_bytes(array::from_fn(plane));
        for (i, byte) in bytes.into_iter().enumerate() {
            let got = substituted.iter().enumerate().fold(0, |byte, (bit, plane)| byte | (plane >> i & 1) << bit);
            assert_eq!(got, AES_TABLE[byte as usize] >> 8 & 0xff, "of {byte:#x}");
        }
    }
}

#[test]
fn blocks_are_those_of_another_implementation() {
    let word = |i: u128| (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835).rotate_left(19);
    for salt in 0..4 {
        let bytes = word(100 + salt).to_le_bytes();
        let (key, other) = (AesKey::new(bytes), Aes128::new(&bytes.into()));
        let blocks: [u128; 32] = array::from_fn(|i| word(salt << 8 | i as u128));
        let round_key = |round: u32| {
            let bit =
                |at: u32, bit: usize| (key.rounds()[round as usize] >> (8 * byte_at(at, round)) >> bit) as u32 & 1;
            array::from_fn(|k| Group(array::from_fn(|at| bit(at as u32, k).wrapping_neg())))
        };
        let encrypted = encrypt(planes(&blocks), round_key);
        let expected = planes(&blocks.map(|block| {
            let mut block = block.to_le_bytes().into();
            other.encrypt_block(&mut block);
            u128::from_le_bytes(block.into())
        }));
        for (bit, (got, expected)) in encrypted.iter().zip(&expected).enumerate() {
            assert_eq!(got.0, expected.0, "bit {bit} of all bytes");
        }
    }
}

#[test]
fn shifts_of_rows_are_undone_after_all_rounds() {
    assert_eq!(array::from_fn(|at| byte_at(at as u32, 0)), array::from_fn::<u32, 16, _>(|at| at as u32));
    // FIPS 197: row r is shifted by r columns to the left
    assert_eq!(array::from_fn(|at| byte_at(at as u32, 1)), [0, 13, 10, 7, 4, 1, 14, 11, 8, 5, 2, 15, 12, 9, 6, 3u32]);
    for at in 0..16 {
        assert_eq!(byte_at(super::place_of(at, ROUNDS), ROUNDS), at);
    }
}

#[test]
fn prefixes_end_at_every_position_in_every_place() {
    for (first, place) in (0..128u32).step_by(32).flat_map(|first| (0..16u32).map(move |place| (first, place))) {
        let plane = |bit: usize| (0..32).fold(0, |plane, i| plane | ((first + i) >> bit & 1) << i);
        let number = array::from_fn(|bit| (place >> bit & 1).wrapping_neg());
        for (j, plane) in prefix::<u32>(array::from_fn(plane), number).into_iter().enumerate() {
            for i in 0..32 {
                assert_eq!(plane >> i & 1 == 1, 8 * place + j as u32 <= first + i);
            }
        }
    }
}

#[test]
fn planes_are_transposed_bytes() {
    for bit in 0..32 {
        assert_eq!(bit_of(owner_at(bit)), bit);
    }
    let words: [u32; 8] = array::from_fn(|j| (j as u32 + 1).wrapping_mul(0x9e37_79b9).rotate_left(7));
    let planes = transposed(words);
    for (k, plane) in planes.into_iter().enumerate() {
        for (j, word) in words.into_iter().enumerate() {
            for b in [0, 8, 16, 24] {
                assert_eq!(plane >> (b + j) & 1, word >> (b + k) & 1);
            }
        }
    }
    assert_eq!(transposed(planes), words);
}
