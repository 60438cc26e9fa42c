//! Four words in an array.
//!
//! This is the portable level if the baseline has no vectors. Tests use it everywhere.

use core::array;

use super::Bits;
#[cfg(not(target_arch = "x86_64"))]
use crate::simd::Portable as Arrays;
#[cfg(target_arch = "x86_64")]
use crate::simd::tokens::plain_token;

/// The token of this level in tests on processors whose portable level is another.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub(crate) struct Arrays;

#[cfg(target_arch = "x86_64")]
plain_token!(Arrays);

impl Bits for Arrays {
    const LOG: u32 = 2;
    type V = [u32; 4];

    #[inline(always)]
    fn splat(self, word: u32) -> [u32; 4] {
        [word; 4]
    }

    #[inline(always)]
    fn load(self, s: &[u32]) -> [u32; 4] {
        let s = &s[..4];
        array::from_fn(|i| s[i])
    }

    #[inline(always)]
    fn store(self, s: &mut [u32], v: [u32; 4]) {
        s[..4].copy_from_slice(&v);
    }

    #[inline(always)]
    fn add(self, a: [u32; 4], b: [u32; 4]) -> [u32; 4] {
        array::from_fn(|i| a[i].wrapping_add(b[i]))
    }

    #[inline(always)]
    fn xor(self, a: [u32; 4], b: [u32; 4]) -> [u32; 4] {
        array::from_fn(|i| a[i] ^ b[i])
    }

    #[inline(always)]
    fn rotate_7(self, a: [u32; 4]) -> [u32; 4] {
        a.map(|word| word.rotate_right(7))
    }

    #[inline(always)]
    fn rotate_8(self, a: [u32; 4]) -> [u32; 4] {
        a.map(|word| word.rotate_right(8))
    }

    #[inline(always)]
    fn rotate_12(self, a: [u32; 4]) -> [u32; 4] {
        a.map(|word| word.rotate_right(12))
    }

    #[inline(always)]
    fn rotate_16(self, a: [u32; 4]) -> [u32; 4] {
        a.map(|word| word.rotate_right(16))
    }

    #[inline(always)]
    fn zip(self, [a0, a1, a2, a3]: [u32; 4], [b0, b1, b2, b3]: [u32; 4]) -> ([u32; 4], [u32; 4]) {
        ([a0, b0, a1, b1], [a2, b2, a3, b3])
    }

    #[inline(always)]
    fn unzip(self, [a0, a1, a2, a3]: [u32; 4], [b0, b1, b2, b3]: [u32; 4]) -> ([u32; 4], [u32; 4]) {
        ([a0, a2, b0, b2], [a1, a3, b1, b3])
    }
}
