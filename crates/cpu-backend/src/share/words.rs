//! Sums of words: a few elements at a time go through all terms.
//!
//! A sum is `sum over terms of constant X^power s` with `X = ((x + offset) mod 2^bits) >> shift`;
//! `s` is `[v]` or, for an opened bit `w = b ^ c`, `w [v] + (1 - 2w) [c v]`. Terms are added up by
//! power, and Horner's rule joins the powers.

use core::ops::Range;

use backend_api::ops::share::WordShape;
use core_types::params::share::{MAX_POWER, NO_ROW, ONE_ROW, WordParams, WordTerm};

use crate::simd::LaneKernel;

/// Elements that go through all terms together, a multiple of 32.
///
/// Their rows stay in the first-level cache.
const TILE: usize = 64;

const POWERS: usize = MAX_POWER as usize + 1;

const ZEROS: [u64; TILE] = [0; TILE];
const ONES: [u64; TILE] = [1; TILE];

/// Operands of a combination.
#[derive(Clone, Copy)]
pub(super) struct WordSums<'a> {
    pub(super) params: &'a WordParams,
    pub(super) shape: WordShape,
    pub(super) terms: &'a [WordTerm],
    pub(super) x: &'a [u64],
    pub(super) padded: &'a [u64],
    pub(super) rows: &'a [u64],
    pub(super) opened: &'a [u32],
}

/// Where sums go.
pub(super) enum WordSumsSink<'a, 'b> {
    /// A row per sum.
    Rows(&'a mut [&'b mut [u64]]),
    /// The sums of an element one after the other.
    Interleaved(&'a mut [u64]),
}

/// The sums of the elements from `first` on that there is room for.
pub(super) struct WordSumsPart<'a, 'b, 'c> {
    of: WordSums<'a>,
    first: usize,
    sink: WordSumsSink<'b, 'c>,
}

impl<'a> WordSums<'a> {
    /// The part from element `first` on, a multiple of 32.
    pub(super) fn part<'b, 'c>(self, first: usize, sink: WordSumsSink<'b, 'c>) -> WordSumsPart<'a, 'b, 'c> {
        WordSumsPart { of: self, first, sink }
    }

    /// This party's words of row `row` for a range of elements.
    #[inline(always)]
    fn row(&self, row: u32, range: &Range<usize>) -> &[u64] {
        let index = row as usize;
        match row {
            NO_ROW => &ZEROS[..range.len()],
            ONE_ROW if self.params.party == 0 => &ONES[..range.len()],
            ONE_ROW => &ZEROS[..range.len()],
            _ if index < self.shape.padded_rows => &self.padded[index * self.shape.padded..][range.clone()],
            _ => &self.rows[(index - self.shape.padded_rows) * self.shape.count..][range.clone()],
        }
    }

    /// The opened bit of row `row` and element `e`.
    #[inline(always)]
    fn opened(&self, row: u32, e: usize) -> u64 {
        u64::from(self.opened[row as usize * (self.shape.padded / 32) + e / 32] >> (e % 32) & 1)
    }

    /// The shares of a term.
    #[inline(always)]
    fn shares(&self, term: &WordTerm, range: &Range<usize>, out: &mut [u64]) {
        let value = self.row(term.value, range);
        if term.opened == NO_ROW {
            return out.copy_from_slice(value);
        }
        let product = self.row(term.product, range);
        let words = &self.opened[term.opened as usize * (self.shape.padded / 32) + range.start / 32..];
        let groups = out.chunks_mut(32).zip(value.chunks(32)).zip(product.chunks(32));
        for (((out, value), product), word) in groups.zip(words) {
            for (e, ((out, value), product)) in out.iter_mut().zip(value).zip(product).enumerate() {
                let flip = u64::from(word >> e & 1).wrapping_neg(); // of an opened bit
                *out = (product ^ flip).wrapping_sub(flip).wrapping_add(value & flip);
            }
        }
    }
}

impl WordSumsPart<'_, '_, '_> {
    /// The sums of the elements `range`, at least one and at most [`TILE`].
    #[inline(always)]
    fn tile(&mut self, range: Range<usize>) {
        let (of, len) = (self.of, range.len());
        let mut sums = [[0u64; TILE]; POWERS];
        let mut shares = [0u64; TILE];
        // what `shares` holds: neighbouring terms often have it in common
        let mut held = None;
        let (mut sum, mut highest) = (0, 0);
        for term in of.terms {
            let source = (term.value, term.product, term.opened);
            if held != Some(source) {
                of.shares(term, &range, &mut shares[..len]);
                held = Some(source);
            }
            // Each power of the variable has a separate sum.
            let power = term.power as usize;
            highest = highest.max(power);
            if term.when.bits == 0 && term.given == NO_ROW {
                for (sum, share) in sums[power].iter_mut().zip(&shares) {
                    *sum = sum.wrapping_add(term.constant.wrapping_mul(*share));
                }
            } else {
                for (e, (sum, share)) in range.clone().zip(sums[power].iter_mut().zip(&shares)) {
                    let counts = term.counts(of.x[e], |row| of.opened(row, e)); // public
                    let share = if counts { *share } else { 0 };
                    *sum = sum.wrapping_add(term.constant.wrapping_mul(share));
                }
            }
            // The last term of a sum writes it and clears the sums.
            if term.last == 1 {
                self.close(&range, sum, &sums[..=highest]);
                sums[..=highest].fill([0; TILE]);
                (sum, highest) = (sum + 1, 0);
            }
        }
    }

    /// Writes sum number `sum` of the elements `range` from the sums by powers of their variable.
    #[inline(always)]
    fn close(&mut self, range: &Range<usize>, sum: usize, powers: &[[u64; TILE]]) {
        let (of, at) = (self.of, range.start - self.first);
        let value = |i: usize, x: u64| {
            let variable = of.params.variable(x);
            let horner = |value: u64, power: &[u64; TILE]| value.wrapping_mul(variable).wrapping_add(power[i]);
            of.params.reduce(powers.iter().rev().fold(0, horner))
        };
        let x = of.x[range.clone()].iter().enumerate();
        match &mut self.sink {
            WordSumsSink::Rows(rows) => {
                rows[sum][at..][..range.len()].iter_mut().zip(x).for_each(|(out, (i, &x))| *out = value(i, x));
            }
            WordSumsSink::Interleaved(out) => {
                let elements = out[at * of.shape.sums..].chunks_mut(of.shape.sums);
                elements.zip(x).for_each(|(out, (i, &x))| out[sum] = value(i, x));
            }
        }
    }
}

impl<L> LaneKernel<L> for WordSumsPart<'_, '_, '_> {
    type Out = ();

    #[inline(always)]
    fn run(mut self, _: L) {
        let elements = match &self.sink {
            WordSumsSink::Rows(rows) => rows.first().map_or(0, |row| row.len()),
            WordSumsSink::Interleaved(words) => words.len() / self.of.shape.sums.max(1),
        };
        let end = self.first + elements;
        for start in (self.first..end).step_by(TILE) {
            self.tile(start..end.min(start + TILE));
        }
    }
}
