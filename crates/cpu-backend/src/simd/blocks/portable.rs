//! Four blocks as plain words, whose steps go through AES on bit planes.

use super::{AesBlocks, Step, TOGETHER, bitsliced::Planes};
use crate::simd::Portable;

const N: usize = 4;

/// The low and the high half of each block.
type Halves = [[u64; 2]; N];

/// `of` each pair of halves.
#[inline(always)]
fn zip_with(a: Halves, b: Halves, of: impl Fn(u64, u64) -> u64) -> Halves {
    let mut halves = a;
    for (half, other) in halves.as_flattened_mut().iter_mut().zip(b.as_flattened()) {
        *half = of(*half, *other);
    }
    halves
}

/// `of` each half.
#[inline(always)]
fn each(mut a: Halves, of: impl Fn(u64) -> u64) -> Halves {
    a.as_flattened_mut().iter_mut().for_each(|half| *half = of(*half));
    a
}

impl AesBlocks for Portable {
    const N: usize = N;
    type V = Halves;
    type State = Planes;
    type RoundKey = Planes;

    #[inline(always)]
    fn load(self, s: &[u128]) -> Halves {
        let s = &s[..N];
        core::array::from_fn(|i| core_types::block_words(s[i]))
    }

    #[inline(always)]
    fn store(self, s: &mut [u128], v: Halves) {
        for (s, [low, high]) in s[..N].iter_mut().zip(v) {
            *s = u128::from(high) << 64 | u128::from(low);
        }
    }

    #[inline(always)]
    fn splat(self, block: u128) -> Halves {
        [core_types::block_words(block); N]
    }

    #[inline(always)]
    fn zip(self, lo: &[u64], hi: &[u64]) -> Halves {
        let (lo, hi) = (&lo[..N], &hi[..N]);
        core::array::from_fn(|i| [lo[i], hi[i]])
    }

    #[inline(always)]
    fn xor(self, a: Halves, b: Halves) -> Halves {
        zip_with(a, b, |a, b| a ^ b)
    }

    #[inline(always)]
    fn and(self, a: Halves, b: Halves) -> Halves {
        zip_with(a, b, |a, b| a & b)
    }

    #[inline(always)]
    fn add(self, a: Halves, b: Halves) -> Halves {
        zip_with(a, b, u64::wrapping_add)
    }

    #[inline(always)]
    fn sub(self, a: Halves, b: Halves) -> Halves {
        zip_with(a, b, u64::wrapping_sub)
    }

    #[inline(always)]
    fn shl(self, a: Halves, count: u32) -> Halves {
        each(a, |half| half << (count & 63))
    }

    #[inline(always)]
    fn shr(self, a: Halves, count: u32) -> Halves {
        each(a, |half| half >> (count & 63))
    }

    #[inline(always)]
    fn sign(self, a: Halves) -> Halves {
        each(a, |half| (half >> 63).wrapping_neg())
    }

    #[inline(always)]
    fn spread(self, a: Halves) -> Halves {
        a.map(|[low, _]| [(low & 1).wrapping_neg(); 2])
    }

    #[inline(always)]
    fn differ(self, a: Halves) -> Halves {
        each(a, |half| half ^ half >> 1)
    }

    #[inline(always)]
    fn prefix(self, a: Halves) -> Halves {
        a.map(|[low, _]| {
            // 2^(p + 1) - 1 in two parts: the bits from 2^6 on say in which half p lies
            let (within, high) = (u64::MAX >> (63 - (low & 63)), (low >> 6 & 1).wrapping_neg());
            [within | high, within & high]
        })
    }

    #[inline(always)]
    fn prefetch<T>(self, _: &[T]) {}

    #[inline(never)]
    fn round_key(self, key: u128) -> Planes {
        Planes::of_key(key)
    }

    #[inline(never)]
    fn begin(self, step: &Step<Self>) -> Planes {
        let mut blocks = [[0; 4]; N * TOGETHER];
        for (block, halves) in blocks.iter_mut().zip(step.as_flattened()) {
            *block = [halves[0] as u32, (halves[0] >> 32) as u32, halves[1] as u32, (halves[1] >> 32) as u32];
        }
        Planes::of_blocks(&blocks)
    }

    #[inline(never)]
    fn round(self, state: &mut Planes, key: &Planes) {
        state.round(key);
    }

    #[inline(never)]
    fn end(self, mut state: Planes, last: &Step<Self>) -> Step<Self> {
        state.substitute();
        let mut step = *last;
        for (halves, [a, b, c, d]) in step.as_flattened_mut().iter_mut().zip(state.blocks()) {
            halves[0] ^= u64::from(b) << 32 | u64::from(a);
            halves[1] ^= u64::from(d) << 32 | u64::from(c);
        }
        step
    }
}
