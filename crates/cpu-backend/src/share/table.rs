//! Sums of public tables over the set bits of shares of unit vectors.
//!
//! `sums[w][e]` is the sum of `table[w][(x[e] - i) mod 2^bits]` over the points `i` whose bit is
//! set. The tables are laid out so that the entries for neighbouring points are neighbours: vectors
//! of them are added, each lane under the mask of its bit.
//!
//! Only `x` and sizes choose addresses and branches, never a bit.

use core_types::{block_words, params::share::TableSumsParams};

use crate::simd::{LaneKernel, ring::RingWords};

/// Points whose bits one word holds.
const POINTS: usize = 64;
/// Words of the widest vector.
const WIDEST: usize = 8;

/// Tables from their ends to their starts, each repeated.
///
/// Word `j` of a table is its entry `-j mod 2^bits`, so the entries for the points of an element
/// are consecutive, from word `-x mod 2^bits` on.
pub(super) struct Entries {
    /// Entries of a table, `2^bits`.
    size: usize,
    /// Words of a table.
    len: usize,
    words: Vec<u64>,
}

impl Entries {
    /// Words of all tables.
    pub(super) fn total(params: &TableSumsParams) -> usize {
        params.tables as usize * Self::len(params)
    }

    /// Words of a table: its entries, and the points of an element after them.
    fn len(params: &TableSumsParams) -> usize {
        let size = 1 << params.bits;
        size + POINTS.max(size)
    }

    /// Lays out the tables of `params`.
    pub(super) fn new(params: &TableSumsParams, tables: &[u64]) -> Self {
        let (size, len) = (1 << params.bits, Self::len(params));
        let mut words = Vec::with_capacity(Self::total(params));
        for table in tables.chunks_exact(size) {
            words.extend((0..len).map(|j: usize| table[j.wrapping_neg() & (size - 1)]));
        }
        Self { size, len, words }
    }
}

/// Operands of the sums.
#[derive(Clone, Copy)]
pub(super) struct TableSumsOperands<'a> {
    pub(super) params: &'a TableSumsParams,
    pub(super) units: &'a [u128],
    pub(super) x: &'a [u64],
    pub(super) entries: &'a Entries,
}

/// The sums of the elements from `first` on that `ones` has words for.
pub(super) struct TableSumsPart<'a, 'b, 'c> {
    of: TableSumsOperands<'a>,
    first: usize,
    /// A row for each table.
    sums: &'b mut [&'c mut [u64]],
    ones: &'b mut [u64],
}

impl<'a> TableSumsOperands<'a> {
    /// The part from element `first` on.
    pub(super) fn part<'b, 'c>(
        self,
        first: usize,
        sums: &'b mut [&'c mut [u64]],
        ones: &'b mut [u64],
    ) -> TableSumsPart<'a, 'b, 'c> {
        TableSumsPart { of: self, first, sums, ones }
    }

    /// The number of set bits of element `e`.
    #[inline(always)]
    fn ones(&self, e: usize) -> u64 {
        let blocks = self.units[e..].iter().step_by(self.params.count as usize);
        blocks.map(|&block| u64::from(self.params.counted(block).count_ones())).sum()
    }

    /// The sum of element `e` over `entries`, those for its points in order.
    #[inline(always)]
    fn sum<L: RingWords>(&self, l: L, e: usize, entries: &[u64]) -> u64 {
        let mut sums = [l.splat(0); 2];
        let blocks = self.units[e..].iter().step_by(self.params.count as usize);
        for (&block, entries) in blocks.zip(entries.chunks(2 * POINTS)) {
            let words = block_words(self.params.counted(block));
            for (bits, entries) in words.into_iter().zip(entries.as_chunks::<POINTS>().0) {
                // Two sums in turn, so that an addition need not wait for the one before it.
                for (pair, entries) in entries.chunks_exact(2 * L::N).enumerate() {
                    let from = 2 * L::N * pair;
                    sums[0] = l.add_where(sums[0], l.load(entries), bits, from as u32);
                    sums[1] = l.add_where(sums[1], l.load(&entries[L::N..]), bits, (from + L::N) as u32);
                }
            }
        }
        let mut lanes = [0u64; WIDEST];
        l.store(&mut lanes, l.add(sums[0], sums[1]));
        lanes.into_iter().fold(0, u64::wrapping_add)
    }
}

impl<L: RingWords> LaneKernel<L> for TableSumsPart<'_, '_, '_> {
    type Out = ();

    #[inline(always)]
    fn run(self, l: L) {
        let Self { of, first, sums, ones } = self;
        let Entries { size, len, words } = of.entries;
        for (at, ones) in ones.iter_mut().enumerate() {
            let e = first + at;
            *ones = of.ones(e);
            // The entry for point 0 is `table[x]`; those for the further points follow.
            let start = of.x[e].wrapping_neg() as usize & (size - 1);
            for (sums, entries) in sums.iter_mut().zip(words.chunks_exact(*len)) {
                sums[at] = of.sum(l, e, &entries[start..][..POINTS.max(*size)]);
            }
        }
    }
}
