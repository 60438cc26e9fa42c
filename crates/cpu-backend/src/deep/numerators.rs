//! Sums of columns times their factors.
//!
//! `sum over j of factor_j f_j(p)` over the terms `j` of a batch, with the factors of the lines
//! (stwo 2.3, `core/pcs/quotients.rs`).

use core_types::{
    field::{M31, QM31},
    params::{
        columns::ColumnAt,
        deep::{DeepBatch, DeepTerm},
    },
};

use crate::{
    Simd,
    simd::{
        LaneKernel, dispatch,
        words::{Slices, Wide},
    },
};

/// Positions of a task: runs of 16 KiB of each column.
pub(super) const TILE: usize = 1 << 12;

/// Number of columns read at once.
///
/// There are few enough streams for prefetchers, and enough columns that sums are seldom stored.
const TOGETHER: usize = 16;

/// The inputs of the sums.
pub(super) struct NumeratorInputs<'a> {
    pub(super) columns: &'a [ColumnAt],
    pub(super) terms: &'a [DeepTerm],
    pub(super) batches: &'a [DeepBatch],
    pub(super) values: &'a [M31],
    pub(super) factors: &'a [QM31],
}

impl NumeratorInputs<'_> {
    /// Writes the sums at the positions from `start` on, to four planes for each batch.
    ///
    /// Batches take turns on one tile, so a column of several batches is read from memory once.
    pub(super) fn write(&self, simd: Simd, start: usize, planes: &mut [&mut [M31]]) {
        for (batch, planes) in self.batches.iter().zip(planes.as_chunks_mut::<4>().0) {
            let range = batch.first as usize..batch.first as usize + batch.count as usize;
            if range.is_empty() {
                planes.iter_mut().for_each(|plane| plane.fill(M31::ZERO));
            }
            let terms = self.terms[range.clone()].chunks(TOGETHER).zip(self.factors[range].chunks(TOGETHER));
            for (group, (terms, factors)) in terms.enumerate() {
                let columns: Vec<(&[M31], QM31)> = terms
                    .iter()
                    .zip(factors)
                    .map(|(term, &factor)| {
                        let first = self.columns[term.column as usize].first as usize + start;
                        (&self.values[first..first + planes[0].len()], factor)
                    })
                    .collect();
                dispatch(simd, TermGroup { columns: &columns, is_first: group == 0, planes });
            }
        }
    }
}

/// Some terms of a batch: columns and their factors.
struct TermGroup<'a, 'b, 'c> {
    columns: &'a [(&'a [M31], QM31)],
    /// Whether there are no sums yet to add to.
    is_first: bool,
    planes: &'b mut [&'c mut [M31]; 4],
}

impl<L: Wide> LaneKernel<L> for TermGroup<'_, '_, '_> {
    type Out = ();

    #[inline(always)]
    fn run(self, l: L) {
        let len = self.planes[0].len();
        let whole = len / L::WIDTH * L::WIDTH;
        // Sums of four products are folded, so that they do not overflow.
        for at in (0..whole).step_by(L::WIDTH) {
            let mut sums = [l.no_sums(); 4];
            for four in self.columns.chunks(4) {
                for (column, factor) in four {
                    let values = l.take(&column[at..]);
                    for (sum, word) in sums.iter_mut().zip(factor.coordinates()) {
                        *sum = l.add_products(*sum, values, l.splat(word.word()));
                    }
                }
                for sum in &mut sums {
                    *sum = l.folded(*sum);
                }
            }
            for (plane, sum) in self.planes.iter_mut().zip(sums) {
                let sum = l.canonical(sum);
                let sum = if self.is_first { sum } else { l.add(l.take(&plane[at..]), sum) };
                l.put(&mut plane[at..], sum);
            }
        }
        // The rest is less than a vector.
        for at in whole..len {
            let sum = self.columns.iter().fold(QM31::ZERO, |sum, (column, factor)| sum + factor.scale(column[at]));
            for (plane, word) in self.planes.iter_mut().zip(sum.coordinates()) {
                plane[at] = if self.is_first { word } else { plane[at] + word };
            }
        }
    }
}
