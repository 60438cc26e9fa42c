//! Polynomials with integer coefficients, fitted to a function on a piece.
//!
//! A piece is `sum over k of c_k (x - start)^k`. From the highest degree down, `c_k` is the rounded
//! leading coefficient of the best polynomial of degree `k` for
//! `f(x) - sum over l > k of c_l (x - start)^l`.

use core_types::Ring;

use super::minimax::minimax;
use crate::{PfssError, RangeError, SignedRange};

/// Intervals of the grid on which a [`line`](FittedPiece::line) is fitted.
const LINE_GRID: u32 = 64;

/// A polynomial with integer coefficients in the distance from the start of its piece.
pub(super) struct FittedPiece {
    start: i64,
    /// The least distance, at most 0, and the greatest, at least 0.
    distances: (i64, i64),
    /// Constant term first.
    coefficients: Vec<i64>,
}

impl FittedPiece {
    /// A polynomial of degree `degree` close to `function` on the integers `start..end`.
    ///
    /// Its coefficients are integers. The leading coefficient is the rounded leading coefficient of
    /// the best polynomial; the rest is fitted to the remainder, so that it compensates for the
    /// rounding as far as it can.
    pub(super) fn new(start: i64, end: i64, degree: u32, function: impl Fn(f64) -> f64) -> Self {
        let width = (end - start) as f64;
        let mut coefficients = vec![0i64; degree as usize + 1];
        for k in (0..coefficients.len()).rev() {
            let rest = |u: f64| {
                let distance = u * width;
                let fixed = coefficients[k..].iter().rev().fold(0.0, |sum, &c| sum * distance + c as f64);
                function(start as f64 + distance) - fixed * distance.powi(k as i32)
            };
            let leading = minimax(k as u32, rest)[k];
            coefficients[k] = (leading / width.powi(k as i32)).round() as i64;
        }
        Self { start, distances: (0, end - start - 1), coefficients }
    }

    /// A line close to `function`, which bends one way, on the integers `start..end`.
    ///
    /// The best line has the slope of the chord, by the equioscillation theorem. The slope is
    /// rounded, and the constant is the middle of the remainder's range on a grid.
    pub(super) fn line(start: i64, end: i64, function: impl Fn(f64) -> f64) -> Self {
        let width = (end - start) as f64;
        let distance = |i: u32| width * f64::from(i) / f64::from(LINE_GRID);
        let values: Vec<f64> = (0..=LINE_GRID).map(|i| function(start as f64 + distance(i))).collect();
        let slope = ((values[values.len() - 1] - values[0]) / width).round();
        let rest = || values.iter().zip(0..).map(|(value, i)| value - slope * distance(i));
        let middle = (rest().fold(f64::INFINITY, f64::min) + rest().fold(f64::NEG_INFINITY, f64::max)) / 2.0;
        let coefficients = vec![middle.round() as i64, slope as i64];
        Self { start, distances: (0, end - start - 1), coefficients }
    }

    /// Adds half a unit of the result of a shift by `shift` bits, so that the shift rounds.
    pub(super) fn rounding(mut self, shift: u32) -> Self {
        if let Some(half) = shift.checked_sub(1) {
            self.coefficients[0] = self.coefficients[0].saturating_add(1 << half); // scales are far below 63
        }
        self
    }

    /// Extends the polynomial's range by `below` integers before the piece and `above` after it.
    pub(super) fn reaching(mut self, below: i64, above: i64) -> Self {
        self.distances = (self.distances.0 - below, self.distances.1 + above);
        self
    }

    /// A range that holds all values on the piece: the sum of the ranges of its terms.
    pub(super) fn range(&self) -> Result<SignedRange, PfssError> {
        let overflow = RangeError::Overflow { bits: 64, end: i128::MAX };
        let (mut min, mut max) = (0i128, 0i128);
        for (k, &c) in self.coefficients.iter().enumerate() {
            let term = |distance: i64| match c {
                0 => Some(0), // the power may not fit
                _ => i128::from(distance).checked_pow(k as u32)?.checked_mul(c.into()),
            };
            let (least, most) = self.distances;
            let ends = [term(least), term(most)].map(|end| end.ok_or(overflow));
            let (least, most) = (ends[0]?, ends[1]?);
            // the constant term is met in full, every other vanishes at distance 0
            let zero = if k == 0 { least } else { 0 };
            (min, max) = (min.saturating_add(least.min(most).min(zero)), max.saturating_add(least.max(most).max(zero)));
        }
        Ok(SignedRange::from_wide(min, max)?)
    }

    /// The coefficients of the same polynomial in `x` itself, modulo `2^n`.
    ///
    /// They are exact, as `x - start` is in the ring.
    pub(super) fn expand(&self, ring: Ring) -> Vec<u64> {
        let start = self.start.cast_unsigned();
        let mut out: Vec<u64> = Vec::with_capacity(self.coefficients.len());
        // Horner's rule on polynomials: out = out * (x - start) + c
        for &c in self.coefficients.iter().rev() {
            out.insert(0, 0);
            for k in 0..out.len() - 1 {
                out[k] = out[k].wrapping_sub(start.wrapping_mul(out[k + 1]));
            }
            out[0] = out[0].wrapping_add(c.cast_unsigned());
        }
        out.iter().map(|&c| ring.reduce(c)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_the_whole_constant_term_and_others_down_to_distance_zero() {
        let range = |coefficients: &[i64]| {
            let piece = FittedPiece { start: 0, distances: (2, 5), coefficients: coefficients.to_vec() };
            let range = piece.range().unwrap();
            (range.min(), range.max())
        };
        assert_eq!(range(&[10]), (10, 10));
        assert_eq!(range(&[-10]), (-10, -10));
        assert_eq!(range(&[10, 3]), (10, 25));
        assert_eq!(range(&[10, -3]), (-5, 10));
    }

    #[test]
    fn ranges_follow_the_ends_of_pieces_and_their_margins() {
        let piece = || FittedPiece { start: 0, distances: (0, 5), coefficients: vec![10, 3, 0] };
        let ends = |piece: FittedPiece| piece.range().map(|range| (range.min(), range.max()));
        assert_eq!(ends(piece()), Ok((10, 25)));
        assert_eq!(ends(piece().reaching(2, 7)), Ok((4, 46)));
        assert_eq!([0, 1, 3].map(|shift| piece().rounding(shift).coefficients[0]), [10, 11, 14]);
        assert_eq!(ends(FittedPiece::line(-7, 121, |x| 5.0 * x - 3.0)), Ok((-38, -38 + 5 * 127)));
        for single in [FittedPiece::line(5, 6, |x| 4.0 * x), FittedPiece::new(5, 6, 1, |x| 4.0 * x)] {
            assert_eq!(ends(single), Ok((20, 20)), "a piece of one integer has no slope in it");
        }
        let cube = FittedPiece { start: 0, distances: (0, i64::MAX), coefficients: vec![0, 0, 0, 1] };
        assert_eq!(ends(cube), Err(RangeError::Overflow { bits: 64, end: i128::MAX }.into()));
    }

    #[test]
    fn lines_are_exact_for_lines_and_the_best_ones_for_parabolas() {
        let coefficients = |start, end, function: fn(f64) -> f64| FittedPiece::line(start, end, function).coefficients;
        assert_eq!(coefficients(-7, 121, |x| 5.0 * x - 3.0), [-38, 5]);
        // x^2 on 0..w: the line w x - w^2 / 8, an eighth of w^2 from it
        assert_eq!(coefficients(0, 64, |x| x * x), [-512, 64]);
        assert_eq!(coefficients(0, 64, |x| -x * x), [512, -64]);
        assert_eq!(coefficients(64, 128, |x| x * x), [4096 - 512, 192]);
    }

    #[test]
    fn a_polynomial_is_fitted_exactly_and_expands_to_itself() {
        let plain = |x: i64| 3 * x * x * x - 5 * x * x + 7 * x - 11;
        for (start, end) in [(0, 64), (-64, 0), (100, 228), (-1000, -744)] {
            let piece = FittedPiece::new(start, end, 3, |x| 3.0 * x * x * x - 5.0 * x * x + 7.0 * x - 11.0);
            let range = piece.range().unwrap();
            let ring = Ring::new(40).unwrap();
            let expanded = piece.expand(ring);
            for x in start..end {
                assert!(range.min() <= plain(x) && plain(x) <= range.max());
                let horner = |sum: u64, &c: &u64| ring.add(ring.mul(sum, x.cast_unsigned()), c);
                assert_eq!(ring.signed(expanded.iter().rev().fold(0, horner)), plain(x));
            }
        }
    }
}
