//! Four words in plain Rust.
//!
//! The compiler maps the loops to the vector instructions of its baseline target.

use core::array;

use core_types::field::P;

use super::{NEGATE, WordLanes, WordVectors};
use crate::simd::Portable;

/// `words < 2 P` modulo P.
#[inline(always)]
fn reduced(words: [u32; 4]) -> [u32; 4] {
    words.map(|word| word.min(word.wrapping_sub(P)))
}

impl WordLanes for Portable {
    const LOG: u32 = 2;
    type V = [u32; 4];

    #[inline(always)]
    unsafe fn load(self, source: *const u32) -> [u32; 4] {
        // SAFETY: the caller vouches for four readable words.
        unsafe { source.cast::<[u32; 4]>().read_unaligned() }
    }

    #[inline(always)]
    unsafe fn store(self, target: *mut u32, v: [u32; 4]) {
        // SAFETY: the caller vouches for four writable words.
        unsafe { target.cast::<[u32; 4]>().write_unaligned(v) }
    }

    #[inline(always)]
    fn splat(self, word: u32) -> [u32; 4] {
        [word; 4]
    }

    #[inline(always)]
    fn split<const K: u32>(self, [a0, a1, a2, a3]: [u32; 4], [b0, b1, b2, b3]: [u32; 4]) -> ([u32; 4], [u32; 4]) {
        ([a0, a2, b0, b2], [a1, a3, b1, b3])
    }

    #[inline(always)]
    fn merge<const K: u32>(self, [a0, a1, a2, a3]: [u32; 4], [b0, b1, b2, b3]: [u32; 4]) -> ([u32; 4], [u32; 4]) {
        ([a0, b0, a1, b1], [a2, b2, a3, b3])
    }

    #[inline(always)]
    unsafe fn circle_twiddles(self, layer_1: *const u32) -> [u32; 4] {
        // SAFETY: the caller vouches for two readable words.
        let [x0, x1] = unsafe { layer_1.cast::<[u32; 2]>().read_unaligned() };
        [x1, x1 ^ NEGATE, x0 ^ NEGATE, x0]
    }

    #[inline(always)]
    unsafe fn line_twiddles<const K: u32>(self, layer: *const u32) -> [u32; 4] {
        // SAFETY: the caller vouches for two readable words, K being 1.
        let [t0, t1] = unsafe { layer.cast::<[u32; 2]>().read_unaligned() };
        [t0, t1, t0, t1]
    }
}

impl WordVectors for Portable {
    #[inline(always)]
    fn add(self, a: [u32; 4], b: [u32; 4]) -> [u32; 4] {
        reduced(array::from_fn(|i| a[i].wrapping_add(b[i])))
    }

    #[inline(always)]
    fn sub(self, a: [u32; 4], b: [u32; 4]) -> [u32; 4] {
        let differences: [u32; 4] = array::from_fn(|i| a[i].wrapping_sub(b[i]));
        differences.map(|word| word.min(word.wrapping_add(P)))
    }

    #[inline(always)]
    fn doubled(self, a: [u32; 4]) -> [u32; 4] {
        a.map(|word| word << 1)
    }

    #[inline(always)]
    fn mul(self, a: [u32; 4], doubled: [u32; 4]) -> [u32; 4] {
        let wide: [u64; 4] = array::from_fn(|i| u64::from(a[i]) * u64::from(doubled[i]));
        reduced(wide.map(|w| ((w >> 32) as u32).wrapping_add(w as u32 >> 1)))
    }

    #[inline(always)]
    fn mul_splat(self, a: [u32; 4], doubled: [u32; 4]) -> [u32; 4] {
        self.mul(a, doubled)
    }

    #[inline(always)]
    fn rotate(self, a: [u32; 4], k: u32) -> [u32; 4] {
        a.map(|word| ((word << k) & P) | (word >> (31 - k)))
    }
}
