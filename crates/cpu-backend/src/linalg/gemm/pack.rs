//! Factors of a product in panels.
//!
//! A panel has sixteen lines (rows of A or columns of B) side by side, one slot of terms after the
//! other.

use backend_api::{DType, Real};
use half::bf16;

use super::{
    slot::{Empty, LINES},
    tiles::GemmTiles,
};
use crate::{
    Simd,
    linalg::convert::widen,
    simd::{
        LaneKernel, dispatch, dispatch_pairs,
        floats::{Floats, Pairs, TermPair},
    },
};

/// Slots of a piece, which are multiplied before the next ones.
///
/// The slots of three panels of B stay in the L2 cache meanwhile.
pub(super) const PIECE: usize = 384;

/// Adjacent panels of pairs packed together.
///
/// Whole cache lines of the source are read this way.
const SIDE_BY_SIDE: usize = 8;

/// A slot of terms in a panel.
pub(super) trait Slot: Empty + Send + Sync + 'static {
    /// Terms of a line in a slot.
    const TERMS: usize;
    /// Packs a factor.
    fn pack<T: Real>(simd: Simd, factor: FactorLines<'_, T>, to: &mut [[Self; LINES]]);
    /// Multiplies panels.
    fn multiply(simd: Simd, tiles: GemmTiles<'_, Self>);
}

/// Lines to pack, at least one: element `t` of line `i` is `x[i line + t term]`.
#[derive(Clone, Copy)]
pub(super) struct FactorLines<'a, T> {
    pub(super) x: &'a [T],
    pub(super) line: usize,
    pub(super) term: usize,
    pub(super) lines: usize,
    pub(super) terms: usize,
}

impl<'a, T> FactorLines<'a, T> {
    /// Some of its terms.
    pub(super) fn part(self, first: usize, terms: usize) -> Self {
        Self { x: &self.x[first * self.term..], terms, ..self }
    }

    /// The lines from `first` on, at most `lines` of them.
    pub(super) fn lines_from(self, first: usize, lines: usize) -> Self {
        Self { x: &self.x[first * self.line..], lines: lines.min(self.lines - first), ..self }
    }

    /// The place of a term; lines after the last one repeat it.
    #[inline(always)]
    fn at(&self, line: usize, term: usize) -> usize {
        line.min(self.lines - 1) * self.line + term * self.term
    }

    /// A term of the lines of a panel, which lie side by side.
    #[inline(always)]
    fn across(&self, panel: usize, term: usize) -> &'a [T] {
        &self.x[panel * LINES + term * self.term..][..(self.lines - panel * LINES).min(LINES)]
    }
}

impl Slot for f32 {
    const TERMS: usize = 1;

    fn pack<T: Real>(simd: Simd, factor: FactorLines<'_, T>, to: &mut [[Self; LINES]]) {
        dispatch(simd, Pack { factor, to });
    }

    fn multiply(simd: Simd, tiles: GemmTiles<'_, Self>) {
        dispatch(simd, tiles);
    }
}

impl Slot for TermPair {
    const TERMS: usize = 2;

    fn pack<T: Real>(simd: Simd, factor: FactorLines<'_, T>, to: &mut [[Self; LINES]]) {
        assert!(T::DTYPE == DType::Bf16, "pairs are of bf16");
        let FactorLines { x, line, term, lines, terms } = factor;
        let factor = FactorLines::<bf16> { x: bytemuck::cast_slice(x), line, term, lines, terms };
        dispatch_pairs(simd, Pack { factor, to });
    }

    fn multiply(simd: Simd, tiles: GemmTiles<'_, Self>) {
        dispatch_pairs(simd, tiles);
    }
}

/// Writes the panels of a factor one after the other.
struct Pack<'a, T, S> {
    factor: FactorLines<'a, T>,
    to: &'a mut [[S; LINES]],
}

impl<T: Real, L: Floats> LaneKernel<L> for Pack<'_, T, f32> {
    type Out = ();

    #[inline(always)]
    fn run(self, l: L) {
        let Self { factor, to } = self;
        let terms = factor.terms;
        // Lines that lie side by side are copied a term at a time.
        if factor.line == 1 {
            for (panel, to) in to.chunks_exact_mut(terms).enumerate() {
                for (term, to) in to.iter_mut().enumerate() {
                    let from = factor.across(panel, term);
                    match from.first_chunk::<LINES>() {
                        Some(from) => widen(l, from[..].into(), to),
                        None => widen(l, from.into(), &mut to[..from.len()]),
                    }
                }
            }
            return;
        }
        for (panel, to) in to.chunks_exact_mut(terms).enumerate() {
            // Other lines are transposed in blocks, and the rest term by term.
            let factor = factor.lines_from(panel * LINES, LINES);
            let (blocks, rest) = to.as_chunks_mut::<LINES>();
            let rest_at = blocks.len() * LINES;
            if factor.term == 1 {
                let mut block = [[0.0; LINES]; LINES];
                for (b, to) in blocks.iter_mut().enumerate() {
                    for (line, block) in block.iter_mut().enumerate() {
                        widen(l, factor.x[factor.at(line, b * LINES)..][..LINES].into(), block);
                    }
                    l.transpose(&block, to);
                }
            } else {
                for (term, to) in blocks.as_flattened_mut().iter_mut().enumerate() {
                    one(&factor, term, to);
                }
            }
            for (term, to) in rest.iter_mut().enumerate() {
                one(&factor, rest_at + term, to);
            }
        }
    }
}

/// A term of each line.
#[inline(always)]
fn one<T: Real>(factor: &FactorLines<'_, T>, term: usize, to: &mut [f32; LINES]) {
    for (line, to) in to.iter_mut().enumerate() {
        *to = factor.x[factor.at(line, term)].to_f32();
    }
}

impl<P: Pairs> LaneKernel<P> for Pack<'_, bf16, TermPair> {
    type Out = ();

    #[inline(always)]
    fn run(self, l: P) {
        let Self { factor, to } = self;
        let slots = factor.terms.div_ceil(2);
        // Lines that lie side by side are joined in pairs of terms.
        if factor.line == 1 {
            for (group, to) in to.chunks_mut(SIDE_BY_SIDE * slots).enumerate() {
                for slot in 0..slots {
                    for (panel, to) in to.chunks_exact_mut(slots).enumerate() {
                        let panel = group * SIDE_BY_SIDE + panel;
                        let first = factor.across(panel, 2 * slot);
                        let second = if 2 * slot + 1 < factor.terms { factor.across(panel, 2 * slot + 1) } else { &[] };
                        if let (Some(first), Some(second)) = (first.first_chunk(), second.first_chunk()) {
                            l.join(first, second, &mut to[slot]);
                        } else {
                            let mut partial = [[bf16::ZERO; LINES]; 2];
                            partial[0][..first.len()].copy_from_slice(first);
                            partial[1][..second.len()].copy_from_slice(second);
                            l.join(&partial[0], &partial[1], &mut to[slot]);
                        }
                    }
                }
            }
            return;
        }
        for (panel, to) in to.chunks_exact_mut(slots).enumerate() {
            // Other lines are transposed in blocks, and the rest pair by pair.
            let factor = factor.lines_from(panel * LINES, LINES);
            let whole = if factor.term == 1 { factor.terms / (2 * LINES) } else { 0 };
            let (blocks, rest) = to.split_at_mut(whole * LINES);
            for (b, to) in blocks.as_chunks_mut::<LINES>().0.iter_mut().enumerate() {
                let mut rows = [&factor.x[..0]; LINES];
                for (line, row) in rows.iter_mut().enumerate() {
                    *row = &factor.x[factor.at(line, b * 2 * LINES)..][..2 * LINES];
                }
                l.transpose_pairs(&rows, to);
            }
            for (slot, to) in rest.iter_mut().enumerate() {
                for (line, to) in to.iter_mut().enumerate() {
                    let term = 2 * (whole * LINES + slot);
                    let first = factor.x[factor.at(line, term)];
                    let second = if term + 1 < factor.terms { factor.x[factor.at(line, term + 1)] } else { bf16::ZERO };
                    *to = TermPair::new(first, second);
                }
            }
        }
    }
}
