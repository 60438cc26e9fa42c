//! The shift after a product, and products in the narrowest ring that their shift allows.
//!
//! A shift of operands that are proven to leave a gap takes them modulo `2^k` and gives 64 bits
//! ([`Gate::gap_ars_to`]). So the products before it are needed modulo `2^k` only, and their
//! factors are opened in `k` bits.

use pfss::{AutoTrunc, Gate, PfssError, RangeError, Ring, SignedRange};

use crate::{
    InferenceError, Tensor, Words,
    fixed_point::{RING, RING_BITS},
};

/// A division by a power of two that rounds to nearest, for operands in a proven range.
#[derive(Clone, Debug)]
pub(crate) struct Rounding {
    /// Offsets of even and of odd positions, added before the shift.
    pub(super) halves: [i64; 2],
    pub(super) shift: AutoTrunc,
    /// The range of every result.
    pub(super) range: SignedRange,
}

/// Products of matrices with their biases, or of elements, before their shift.
pub(crate) struct UnshiftedProduct {
    /// Words of the products, or of one share of them, modulo 2 to the bits of the ring.
    pub(crate) words: Words,
    /// The shift, which decides the ring.
    pub(crate) rounding: Rounding,
}

impl Rounding {
    /// A division by `2^bits` of operands in `range`.
    ///
    /// Ties go up at even positions and down at odd ones.
    pub(crate) fn new(range: SignedRange, bits: u32) -> Result<Self, InferenceError> {
        range.floor_shift(bits)?; // refuses 64 bits and more
        let up = if bits == 0 { 0 } else { 1i64 << (bits - 1) };
        let down = up - up.min(1);
        let sums = range.checked_add(SignedRange::new(down, up)?)?;
        let shift = AutoTrunc::narrowest(bits, RING_BITS, sums)?;
        Ok(Self { halves: [up, down], shift, range: sums.floor_shift(bits)? })
    }

    /// The same division in one round, with larger keys.
    pub(super) fn in_one_round(self) -> Result<Self, PfssError> {
        Ok(Self { shift: self.shift.in_one_round()?, ..self })
    }

    /// The ring that operands are needed in.
    pub(crate) fn ring(&self) -> Ring {
        self.shift.gate().map_or(RING, Gate::ring)
    }
}

/// The range of products of matrices, for sums of `inner` products of elements.
pub(crate) fn product_range(inner: usize, [x, y]: [&Tensor; 2]) -> Result<SignedRange, RangeError> {
    // no architecture has rows near 2^32
    x.range.checked_mul(y.range)?.sum_of(u32::try_from(inner).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_are_in_the_narrowest_ring_that_holds_them_with_a_gap() {
        for bits in [1, 3, 12, 20, 40] {
            for exp in 0..62 {
                for (min, max) in [(-(1i64 << exp), 1 << exp), (0, (1 << exp) - 1), (-(1 << exp), 0)] {
                    let rounding = Rounding::new(SignedRange::new(min, max).unwrap(), bits).unwrap();
                    let (half, n) = (1i128 << (bits - 1), rounding.ring().bits());
                    // the ends after the half is added, which is one less at odd positions
                    let ends = (i128::from(min) + half - 1, i128::from(max) + half);
                    let fits = |n: u32| n >= bits + 2 && -(1i128 << (n - 2)) <= ends.0 && ends.1 < 1 << (n - 2);
                    assert!(fits(n) && (n == 3 || !fits(n - 1)), "{min}..={max} by {bits}: {n}");
                    let gate = rounding.shift.gate().unwrap();
                    assert_eq!((gate.n(), gate.f(), gate.out_ring()), (n, bits, RING));
                    assert_eq!(i128::from(rounding.range.max()), ends.1 >> bits);
                }
            }
        }
    }

    #[test]
    fn a_range_without_a_gap_and_no_shift_need_all_bits() {
        let wide = Rounding::new(SignedRange::new(0, 1 << 62).unwrap(), 12).unwrap();
        assert!(matches!(wide.shift, AutoTrunc::Exact { .. }) && wide.ring() == RING);
        let none = Rounding::new(SignedRange::new(-5, 5).unwrap(), 0).unwrap();
        assert!(matches!(none.shift, AutoTrunc::Identity) && none.ring() == RING && none.halves == [0, 0]);
    }
}
