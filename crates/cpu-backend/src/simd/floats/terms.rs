//! What products are sums of: numbers, or pairs of numbers of 16 bits.

use half::bf16;

use super::Floats;

/// Vectors of slots, each of one or more terms of a product.
pub(crate) trait Terms<S>: Copy {
    /// The lanes of the sums.
    type Floats: Floats;
    /// A slot for each lane.
    type Slots: Copy;

    /// The lanes of the sums.
    fn floats(self) -> Self::Floats;
    /// The first `N` slots of `s`.
    fn slots(self, s: &[S]) -> Self::Slots;
    /// One slot for all lanes.
    fn slot(self, s: S) -> Self::Slots;
    /// `sum` and the product of `a` and `b`, term by term.
    fn multiply_add(
        self,
        a: Self::Slots,
        b: Self::Slots,
        sum: <Self::Floats as Floats>::V,
    ) -> <Self::Floats as Floats>::V;
}

impl<L: Floats> Terms<f32> for L {
    type Floats = L;
    type Slots = L::V;

    #[inline(always)]
    fn floats(self) -> L {
        self
    }

    #[inline(always)]
    fn slots(self, s: &[f32]) -> L::V {
        self.load(s)
    }

    #[inline(always)]
    fn slot(self, s: f32) -> L::V {
        self.splat(s)
    }

    #[inline(always)]
    fn multiply_add(self, a: L::V, b: L::V, sum: L::V) -> L::V {
        self.mul_add(a, b, sum)
    }
}

/// Two neighbouring terms.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(4))]
pub(crate) struct TermPair([bf16; 2]);

impl TermPair {
    /// No terms.
    pub(crate) const ZERO: Self = Self([bf16::ZERO; 2]);

    /// These terms.
    pub(crate) const fn new(first: bf16, second: bf16) -> Self {
        Self([first, second])
    }

    /// The terms.
    pub(crate) fn terms(self) -> [f32; 2] {
        self.0.map(bf16::to_f32)
    }
}

/// Products of pairs, and how pairs are made.
pub(crate) trait Pairs: Terms<TermPair> {
    /// Element i of `first` and element i of `second` make pair i.
    fn join(self, first: &[bf16; 16], second: &[bf16; 16], to: &mut [TermPair; 16]);
    /// Pair i of row r becomes pair r of `to[i]`; rows hold at least 16 pairs of neighbours.
    fn transpose_pairs(self, rows: &[&[bf16]; 16], to: &mut [[TermPair; 16]; 16]);
}
