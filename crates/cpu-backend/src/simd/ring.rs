//! Vectors of 64-bit words as numbers modulo 2^64: shares.

#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::*;
use core::array;

use super::Portable;
#[cfg(target_arch = "x86_64")]
use super::{Avx2, Avx512, instructions, memory};

/// Operations on vectors of `N` words modulo 2^64.
///
/// A value of the implementing token proves that the processor has the instructions. None takes
/// longer for some words or bits than for others.
pub(crate) trait RingWords: Copy {
    /// Words in a vector.
    const N: usize;
    /// A vector.
    type V: Copy;

    /// `word` in every lane.
    fn splat(self, word: u64) -> Self::V;
    /// The first `N` words of `s`.
    fn load(self, s: &[u64]) -> Self::V;
    /// Writes the first `N` words of `s`.
    fn store(self, s: &mut [u64], v: Self::V);
    /// Sums modulo 2^64.
    fn add(self, a: Self::V, b: Self::V) -> Self::V;
    /// Products modulo 2^64.
    fn mul(self, a: Self::V, b: Self::V) -> Self::V;
    /// `sum`, plus `a` in the lanes whose bit of `bits` is set.
    ///
    /// Lane `i` has bit `from + i`; `from` is at most `64 - N`.
    fn add_where(self, sum: Self::V, a: Self::V, bits: u64, from: u32) -> Self::V;
}

#[cfg(target_arch = "x86_64")]
impl RingWords for Avx512 {
    const N: usize = 8;
    type V = __m512i;

    #[inline(always)]
    fn splat(self, word: u64) -> __m512i {
        // SAFETY: `self` proves AVX-512.
        unsafe { _mm512_set1_epi64(word as i64) }
    }

    memory! { __m512i, [u64]: _mm512_loadu_si512, _mm512_storeu_si512 }

    instructions! { __m512i:
        add(a, b) = _mm512_add_epi64;
        mul(a, b) = _mm512_mullo_epi64;
    }

    #[inline(always)]
    fn add_where(self, sum: __m512i, a: __m512i, bits: u64, from: u32) -> __m512i {
        // SAFETY: `self` proves AVX-512.
        unsafe { _mm512_mask_add_epi64(sum, (bits >> from) as u8, sum, a) }
    }
}

#[cfg(target_arch = "x86_64")]
impl RingWords for Avx2 {
    const N: usize = 4;
    type V = __m256i;

    #[inline(always)]
    fn splat(self, word: u64) -> __m256i {
        // SAFETY: `self` proves AVX2.
        unsafe { _mm256_set1_epi64x(word as i64) }
    }

    memory! { __m256i, [u64]: _mm256_loadu_si256, _mm256_storeu_si256 }

    instructions! { __m256i:
        add(a, b) = _mm256_add_epi64;
    }

    /// Three products of 32-bit halves: the product of the high halves is a multiple of 2^64.
    #[inline(always)]
    fn mul(self, a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: `self` proves AVX2.
        unsafe {
            let (a_high, b_high) = (_mm256_srli_epi64::<32>(a), _mm256_srli_epi64::<32>(b));
            let crossed = _mm256_add_epi64(_mm256_mul_epu32(a_high, b), _mm256_mul_epu32(a, b_high));
            _mm256_add_epi64(_mm256_mul_epu32(a, b), _mm256_slli_epi64::<32>(crossed))
        }
    }

    /// Each lane tests its place in a copy of `bits`, so that calls on one word share the copy.
    #[inline(always)]
    fn add_where(self, sum: __m256i, a: __m256i, bits: u64, from: u32) -> __m256i {
        // SAFETY: `self` proves AVX2.
        unsafe {
            let places = _mm256_setr_epi64x(1 << from, 2 << from, 4 << from, 8 << from);
            let set = _mm256_and_si256(_mm256_set1_epi64x(bits as i64), places);
            _mm256_add_epi64(sum, _mm256_and_si256(a, _mm256_cmpeq_epi64(set, places)))
        }
    }
}

/// Two words in an array.
impl RingWords for Portable {
    const N: usize = 2;
    type V = [u64; 2];

    #[inline(always)]
    fn splat(self, word: u64) -> [u64; 2] {
        [word; 2]
    }

    #[inline(always)]
    fn load(self, s: &[u64]) -> [u64; 2] {
        [s[0], s[1]]
    }

    #[inline(always)]
    fn store(self, s: &mut [u64], v: [u64; 2]) {
        s[..2].copy_from_slice(&v);
    }

    #[inline(always)]
    fn add(self, a: [u64; 2], b: [u64; 2]) -> [u64; 2] {
        array::from_fn(|i| a[i].wrapping_add(b[i]))
    }

    #[inline(always)]
    fn mul(self, a: [u64; 2], b: [u64; 2]) -> [u64; 2] {
        array::from_fn(|i| a[i].wrapping_mul(b[i]))
    }

    #[inline(always)]
    fn add_where(self, sum: [u64; 2], a: [u64; 2], bits: u64, from: u32) -> [u64; 2] {
        array::from_fn(|i| {
            // a bit shifted into every place; of its negative the compiler makes a branch
            let mask = ((bits << (63 - from - i as u32)).cast_signed() >> 63).cast_unsigned();
            sum[i].wrapping_add(a[i] & mask)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::RingWords;
    use crate::simd::{LaneKernel, dispatch, levels};

    struct Laws;

    impl<L: RingWords> LaneKernel<L> for Laws {
        type Out = ();

        #[inline(always)]
        fn run(self, l: L) {
            let mut rng = fastrand::Rng::with_seed(1);
            let extremes = [0, 1, u64::MAX, 1 << 63, 1 << 32, (1 << 32) - 1, u64::MAX << 32];
            let mut word = || if rng.bool() { extremes[rng.usize(..extremes.len())] } else { rng.u64(..) };
            for _ in 0..200 {
                let [first, second]: [Vec<u64>; 2] = [(); 2].map(|()| (0..L::N).map(|_| word()).collect());
                let get = |v| {
                    let mut out = vec![7; L::N + 2];
                    l.store(&mut out[1..], v);
                    assert_eq!([out[0], out[L::N + 1]], [7; 2]);
                    out[1..=L::N].to_vec()
                };
                let each = |f: fn(u64, u64) -> u64| -> Vec<u64> {
                    first.iter().zip(&second).map(|(&a, &b)| f(a, b)).collect()
                };
                let (a, b) = (l.load(&first), l.load(&second));
                assert_eq!(get(a), first);
                assert_eq!(get(l.splat(first[0])), vec![first[0]; L::N]);
                assert_eq!(get(l.add(a, b)), each(u64::wrapping_add));
                let product = |a: u64, b: u64| (u128::from(a) * u128::from(b)) as u64;
                assert_eq!(get(l.mul(a, b)), each(product));
                let bits = word();
                for from in 0..=64 - L::N {
                    let lane = |i: usize| {
                        let added = if bits >> (from + i) & 1 == 1 { second[i] } else { 0 };
                        first[i].wrapping_add(added)
                    };
                    let expected: Vec<u64> = (0..L::N).map(lane).collect();
                    assert_eq!(get(l.add_where(a, b, bits, from as u32)), expected, "from bit {from}");
                }
            }
        }
    }

    #[test]
    fn lane_operations_mean_the_same_on_every_level() {
        levels().for_each(|simd| dispatch(simd, Laws));
    }
}
