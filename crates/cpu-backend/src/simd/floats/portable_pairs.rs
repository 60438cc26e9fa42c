//! Pairs of bf16 in an array, on processors without instructions for them.
//!
//! Products take f32 there; tests compare these with the pairs in registers.

use half::bf16;

use super::{Floats, Pairs, TermPair, Terms};
use crate::simd::Portable;

const N: usize = <Portable as Floats>::N;

impl Terms<TermPair> for Portable {
    type Floats = Self;
    type Slots = [TermPair; N];

    #[inline(always)]
    fn floats(self) -> Self {
        self
    }

    #[inline(always)]
    fn slots(self, s: &[TermPair]) -> [TermPair; N] {
        core::array::from_fn(|i| s[i])
    }

    #[inline(always)]
    fn slot(self, s: TermPair) -> [TermPair; N] {
        [s; N]
    }

    #[inline(always)]
    fn multiply_add(self, a: [TermPair; N], b: [TermPair; N], sum: <Self as Floats>::V) -> <Self as Floats>::V {
        let [a, b] = [a, b].map(|pairs| pairs.map(TermPair::terms));
        let term = |pairs: [[f32; 2]; N], i: usize| self.load(&pairs.map(|pair| pair[i]));
        self.mul_add(term(a, 0), term(b, 0), self.mul_add(term(a, 1), term(b, 1), sum))
    }
}

impl Pairs for Portable {
    #[inline(always)]
    fn join(self, first: &[bf16; 16], second: &[bf16; 16], to: &mut [TermPair; 16]) {
        for (to, (&first, &second)) in to.iter_mut().zip(first.iter().zip(second)) {
            *to = TermPair::new(first, second);
        }
    }

    #[inline(always)]
    fn transpose_pairs(self, rows: &[&[bf16]; 16], to: &mut [[TermPair; 16]; 16]) {
        for (i, to) in to.iter_mut().enumerate() {
            for (to, row) in to.iter_mut().zip(rows) {
                *to = TermPair::new(row[2 * i], row[2 * i + 1]);
            }
        }
    }
}
