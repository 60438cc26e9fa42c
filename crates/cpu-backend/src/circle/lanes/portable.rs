use core::array;

use core_types::field::P;

use super::{Lanes, NEGATE};

/// Four words in plain Rust; the compiler maps the loops to the vector instructions of its baseline target.
#[derive(Clone, Copy)]
pub(crate) struct Portable([u32; 4]);

impl Portable {
    #[inline(always)]
    fn reduced(words: [u32; 4]) -> Self {
        Self(words.map(|word| word.min(word.wrapping_sub(P))))
    }
}

impl Lanes for Portable {
    const LOG: u32 = 2;

    #[inline(always)]
    unsafe fn load(source: *const u32) -> Self {
        // SAFETY: the caller vouches for four readable words.
        Self(unsafe { source.cast::<[u32; 4]>().read_unaligned() })
    }

    #[inline(always)]
    unsafe fn store(self, target: *mut u32) {
        // SAFETY: the caller vouches for four writable words.
        unsafe { target.cast::<[u32; 4]>().write_unaligned(self.0) }
    }

    #[inline(always)]
    unsafe fn splat(word: u32) -> Self {
        Self([word; 4])
    }

    #[inline(always)]
    unsafe fn add(self, rhs: Self) -> Self {
        Self::reduced(array::from_fn(|i| self.0[i].wrapping_add(rhs.0[i])))
    }

    #[inline(always)]
    unsafe fn sub(self, rhs: Self) -> Self {
        let differences: [u32; 4] = array::from_fn(|i| self.0[i].wrapping_sub(rhs.0[i]));
        Self(differences.map(|word| word.min(word.wrapping_add(P))))
    }

    #[inline(always)]
    unsafe fn mul(self, doubled: Self) -> Self {
        let wide: [u64; 4] = array::from_fn(|i| u64::from(self.0[i]) * u64::from(doubled.0[i]));
        Self::reduced(wide.map(|w| ((w >> 32) as u32).wrapping_add(w as u32 >> 1)))
    }

    #[inline(always)]
    unsafe fn mul_splat(self, doubled: Self) -> Self {
        // SAFETY: no requirement on this level.
        unsafe { self.mul(doubled) }
    }

    #[inline(always)]
    unsafe fn rotate(self, k: u32) -> Self {
        Self(self.0.map(|word| ((word << k) & P) | (word >> (31 - k))))
    }

    #[inline(always)]
    unsafe fn split<const K: u32>(a: Self, b: Self) -> (Self, Self) {
        let ([a0, a1, a2, a3], [b0, b1, b2, b3]) = (a.0, b.0);
        (Self([a0, a2, b0, b2]), Self([a1, a3, b1, b3]))
    }

    #[inline(always)]
    unsafe fn merge<const K: u32>(a: Self, b: Self) -> (Self, Self) {
        let ([a0, a1, a2, a3], [b0, b1, b2, b3]) = (a.0, b.0);
        (Self([a0, b0, a1, b1]), Self([a2, b2, a3, b3]))
    }

    #[inline(always)]
    unsafe fn circle_twiddles(layer_1: *const u32) -> Self {
        // SAFETY: the caller vouches for two readable words.
        let [x0, x1] = unsafe { layer_1.cast::<[u32; 2]>().read_unaligned() };
        Self([x1, x1 ^ NEGATE, x0 ^ NEGATE, x0])
    }

    #[inline(always)]
    unsafe fn line_twiddles<const K: u32>(layer: *const u32) -> Self {
        // SAFETY: the caller vouches for two readable words, K being 1.
        let [t0, t1] = unsafe { layer.cast::<[u32; 2]>().read_unaligned() };
        Self([t0, t1, t0, t1])
    }
}
