//! Sums of words and a row that repeats over them.

use core::mem;

use core_types::params::share::LinearWordsParams;

use crate::simd::LaneKernel;

/// Words that are copied at once, 8 KiB.
const TILE: usize = 1 << 10;

/// Some consecutive sums.
pub(super) struct LinearSums<'a, 'b> {
    pub(super) params: &'a LinearWordsParams,
    /// The words from the first of these sums on; `None` in place.
    pub(super) x: Option<&'a [u64]>,
    /// The whole row.
    pub(super) row: Option<&'a [u64]>,
    /// The first of these sums.
    pub(super) first: usize,
    pub(super) out: &'b mut [u64],
}

impl LinearSums<'_, '_> {
    /// Sums of the words of `out`, in place.
    #[inline(always)]
    fn in_place(params: &LinearWordsParams, row: Option<&[u64]>, first: usize, mut out: &mut [u64]) {
        let Some(row) = row else {
            out.iter_mut().for_each(|word| *word = params.sum(*word, 0));
            return;
        };
        // The first repetition of the row may start within it, and the last may be cut.
        let mut rest = &row[first % row.len()..];
        while !out.is_empty() {
            let len = out.len().min(rest.len());
            let (sums, after) = mem::take(&mut out).split_at_mut(len);
            for (word, &row) in sums.iter_mut().zip(rest) {
                *word = params.sum(*word, row);
            }
            (out, rest) = (after, row);
        }
    }
}

impl<L> LaneKernel<L> for LinearSums<'_, '_> {
    type Out = ();

    #[inline(always)]
    fn run(self, _: L) {
        let Self { params, x, row, first, out } = self;
        // A copy within the first-level cache takes less time than the loads and stores of memory.
        for (start, out) in (first..).step_by(TILE).zip(out.chunks_mut(TILE)) {
            if let Some(x) = x {
                out.copy_from_slice(&x[start - first..][..out.len()]);
            }
            Self::in_place(params, row, start, out);
        }
    }
}
