//! Sums of products that are kept in memory between their terms.

#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::*;

use super::Wide;
use crate::simd::Portable;
#[cfg(target_arch = "x86_64")]
use crate::simd::{Avx2, Avx512};

/// Lanes whose sums can be stored: `WIDTH` numbers of 64 bits, in an order of their own.
pub(crate) trait StoredSums: Wide {
    /// `WIDTH` sums from `source`, in the order in which they were stored.
    ///
    /// # Safety
    /// They are readable; no alignment is needed.
    unsafe fn load_sums(self, source: *const u64) -> Self::Sums;
    /// `WIDTH` sums to `target`.
    ///
    /// # Safety
    /// They are writable; no alignment is needed.
    unsafe fn store_sums(self, target: *mut u64, sums: Self::Sums);
}

impl StoredSums for Portable {
    #[inline(always)]
    unsafe fn load_sums(self, source: *const u64) -> [u64; 4] {
        // SAFETY: the caller vouches for four readable sums.
        unsafe { source.cast::<[u64; 4]>().read_unaligned() }
    }

    #[inline(always)]
    unsafe fn store_sums(self, target: *mut u64, sums: [u64; 4]) {
        // SAFETY: the caller vouches for four writable sums.
        unsafe { target.cast::<[u64; 4]>().write_unaligned(sums) }
    }
}

#[cfg(target_arch = "x86_64")]
impl StoredSums for Avx2 {
    #[inline(always)]
    unsafe fn load_sums(self, source: *const u64) -> [__m256i; 2] {
        // SAFETY: `self` proves AVX2, the caller vouches for eight readable sums.
        unsafe { [_mm256_loadu_si256(source.cast()), _mm256_loadu_si256(source.add(4).cast())] }
    }

    #[inline(always)]
    unsafe fn store_sums(self, target: *mut u64, [even, odd]: [__m256i; 2]) {
        // SAFETY: `self` proves AVX2, the caller vouches for eight writable sums.
        unsafe {
            _mm256_storeu_si256(target.cast(), even);
            _mm256_storeu_si256(target.add(4).cast(), odd);
        }
    }
}

#[cfg(target_arch = "x86_64")]
impl StoredSums for Avx512 {
    #[inline(always)]
    unsafe fn load_sums(self, source: *const u64) -> [__m512i; 2] {
        // SAFETY: `self` proves AVX-512, the caller vouches for sixteen readable sums.
        unsafe { [_mm512_loadu_si512(source.cast()), _mm512_loadu_si512(source.add(8).cast())] }
    }

    #[inline(always)]
    unsafe fn store_sums(self, target: *mut u64, [even, odd]: [__m512i; 2]) {
        // SAFETY: `self` proves AVX-512, the caller vouches for sixteen writable sums.
        unsafe {
            _mm512_storeu_si512(target.cast(), even);
            _mm512_storeu_si512(target.add(8).cast(), odd);
        }
    }
}

#[cfg(test)]
mod tests {
    use core_types::field::{M31, P};

    use super::*;
    use crate::simd::{LaneKernel, dispatch, levels};

    /// Four products on top of a folded sum, again and again, at the largest words there are.
    struct Law;

    impl<L: StoredSums> LaneKernel<L> for Law {
        type Out = ();

        #[inline(always)]
        fn run(self, l: L) {
            let mut words = [0u32; 16];
            words.iter_mut().enumerate().for_each(|(i, word)| *word = if i % 3 == 0 { P - 1 } else { 77 * i as u32 });
            let (mut stored, mut expected, mut reduced) = ([0u64; 16], [M31::ZERO; 16], [0u32; 16]);
            for factor in [P - 1, P - 2, 5, 0, P - 1] {
                // SAFETY: no vector has more than sixteen words.
                unsafe {
                    let v = l.load(words.as_ptr());
                    let mut sums = l.folded(l.load_sums(stored.as_ptr()));
                    for _ in 0..4 {
                        sums = l.add_products(sums, v, l.splat(factor));
                    }
                    l.store_sums(stored.as_mut_ptr(), sums);
                    l.store(reduced.as_mut_ptr(), l.canonical(sums));
                }
                for (i, expected) in expected.iter_mut().enumerate().take(L::WIDTH) {
                    *expected += M31::from_u64(4 * u64::from(words[i])) * M31::from_u32(factor);
                    assert_eq!(reduced[i], expected.word(), "{i} {factor}");
                }
            }
        }
    }

    #[test]
    fn stored_sums_go_on_where_they_were() {
        levels().for_each(|simd| dispatch(simd, Law));
    }
}
