//! The positions that a thread reads: its own, and the neighbours of it that masks name.

use std::collections::BTreeMap;

use core_types::params::air::MaskAt;

use super::assembly::{Address, Assembly, PtxWide, PtxWord};

/// The position of a thread in its launch, and the addresses of its neighbours.
///
/// The arithmetic matches `core_types::air::neighbour`.
#[derive(Debug)]
pub(super) struct ColumnReader {
    pub(super) position: PtxWord,
    /// Positions.
    pub(super) size: PtxWord,
    pub(super) log_rows: PtxWord,
    pub(super) log_size: PtxWord,
    /// Where the columns are.
    pub(super) values: PtxWide,
    /// Where the list of masks is.
    pub(super) masks: PtxWide,
    /// Values common to all neighbours, computed with the first one.
    pub(super) row: Option<PositionRow>,
    /// The place that an offset leads to in a column that began where the buffer does.
    pub(super) places: BTreeMap<i32, PtxWide>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct PositionRow {
    row: PtxWord,
    /// By how many bits words are shifted that were reversed.
    unused_bits: PtxWord,
    /// Log of the steps from one row of the trace to the next.
    log_step: PtxWord,
}

/// About how many instructions find the row at an offset.
pub(super) const OFFSET_COST: usize = 13;

impl ColumnReader {
    /// The word that mask `number` reads.
    pub(super) fn read(&mut self, a: &mut Assembly, number: u16, offset: i32) -> PtxWord {
        let place = match self.places.get(&offset) {
            Some(&place) => place,
            None => {
                let position = if offset == 0 { self.position } else { self.neighbour(a, offset) };
                let place = a.wide("mad.wide.u32", &[&position, &4, &self.values]);
                self.places.insert(offset, place);
                place
            }
        };
        let entry = Address(self.masks, size_of::<MaskAt>() as u32 * u32::from(number));
        let first = a.wide("ld.global.nc.b64", &[&entry]);
        let bytes = a.wide("shl.b64", &[&first, &2]);
        let place = a.wide("add.s64", &[&place, &bytes]);
        a.word("ld.global.nc.b32", &[&Address(place, 0)])
    }

    fn row(&mut self, a: &mut Assembly) -> PositionRow {
        if let Some(row) = self.row {
            return row;
        }
        let unused_bits = a.word("sub.s32", &[&32, &self.log_size]);
        let natural = reversed(a, self.position, unused_bits);
        let half = a.word("shr.u32", &[&self.size, &1]);
        let is_even = a.test("setp.lt.u32", &[&natural, &half]);
        let even = a.word("shl.b32", &[&natural, &1]);
        let from_end = a.word("sub.s32", &[&self.size, &natural]);
        let from_end = a.word("shl.b32", &[&from_end, &1]);
        let odd = a.word("add.s32", &[&from_end, &-1]);
        let row = a.word("selp.b32", &[&even, &odd, &is_even]);
        let log_step = a.word("sub.s32", &[&self.log_size, &self.log_rows]);
        let row = PositionRow { row, unused_bits, log_step };
        self.row = Some(row);
        row
    }

    /// The position `offset` rows away.
    fn neighbour(&mut self, a: &mut Assembly, offset: i32) -> PtxWord {
        let PositionRow { row, unused_bits, log_step } = self.row(a);
        let offset = a.word("mov.b32", &[&offset]);
        let steps = a.word("shl.b32", &[&offset, &log_step]);
        let row = a.word("add.s32", &[&row, &steps]);
        let last = a.word("add.s32", &[&self.size, &-1]);
        let row = a.word("and.b32", &[&row, &last]);
        let half = a.word("shr.u32", &[&row, &1]);
        let lowest = a.word("and.b32", &[&row, &1]);
        let is_even = a.test("setp.eq.b32", &[&lowest, &0]);
        let from_end = a.word("sub.s32", &[&last, &half]);
        let natural = a.word("selp.b32", &[&half, &from_end, &is_even]);
        reversed(a, natural, unused_bits)
    }
}

/// The bits of a word in reverse order, without those that positions do not have.
fn reversed(a: &mut Assembly, word: PtxWord, unused_bits: PtxWord) -> PtxWord {
    let reversed = a.word("brev.b32", &[&word]);
    a.word("shr.u32", &[&reversed, &unused_bits])
}
