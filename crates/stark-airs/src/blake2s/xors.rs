//! The AIR of tables of exclusive ors.

use alloc::{vec, vec::Vec};

use core_types::{
    air::{Air, LogUp, NewRow, Row, stored_position},
    field::M31,
};

use super::relations::XORS;
use crate::columns::{TraceColumns, column};

/// All pairs of numbers of `low + high` bits with their exclusive ors.
///
/// Each pair has its multiplicity in the look-ups. The rows are the pairs of the lower bits, which
/// are the slots: two numbers and their exclusive or. Each pair of upper bits is a column, the
/// first number's bits counting more: how often the numbers with these bits are looked up. So
/// tables of several widths can have the same slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct XorTable {
    low: u32,
    high: u32,
}

impl XorTable {
    /// The table of numbers with `low` bits by row and `high` by column.
    pub(super) const fn new(low: u32, high: u32) -> Self {
        Self { low, high }
    }

    /// Bits of the numbers.
    pub(super) const fn bits(self) -> u32 {
        self.low + self.high
    }

    /// Pairs of numbers.
    pub(super) const fn counters(self) -> u32 {
        1 << (2 * self.bits())
    }

    /// Where two numbers stand among the counters of the table: column by column, and row by row.
    pub(super) fn key<R: NewRow>(self, row: &mut R, a: R::F, b: R::F) -> R::F {
        let Self { low, high } = self;
        let place = a * M31::from_u32(1 << low) + b;
        if high == 0 {
            return place;
        }
        let [upper_a, upper_b] = [a, b].map(|number| row.bits(number, low, low + high));
        // What they count among the columns, less what they count so far.
        let of = |to: u32, from: u32| M31::from_u32((1 << to) - (1 << from));
        place + upper_a * of(2 * low + high, 2 * low) + upper_b * of(2 * low, low)
    }

    /// Pairs of upper bits, by column.
    fn pairs(self) -> impl Iterator<Item = [u32; 2]> {
        let side = 1 << self.high;
        (0..side).flat_map(move |a| (0..side).map(move |b| [a, b]))
    }
}

impl Air for XorTable {
    fn log_rows(&self) -> u32 {
        2 * self.low
    }

    fn eval<R: Row>(&self, row: &mut R) {
        let slots = [0, 1, 2].map(|slot| row.preprocessed(slot));
        let bits = R::F::from(M31::from_u32(self.bits()));
        let mut table = LogUp::new(2);
        for [a, b] in self.pairs() {
            let times = row.column();
            let mut values = [bits; 4];
            for ((value, slot), upper) in values[1..].iter_mut().zip(slots).zip([a, b, a ^ b]) {
                *value = slot + M31::from_u32(upper << self.low);
            }
            table.entry(row, XORS, -R::E::from(times), &values);
        }
        table.finish(row);
    }
}

/// The slots of tables with `low` bits by row.
pub(super) fn slots(low: u32) -> [Vec<M31>; 3] {
    let mask = (1 << low) - 1;
    let of = |value: fn(u32, u32) -> u32| column(2 * low, |row| M31::from_u32(value(row >> low, row & mask)));
    [of(|a, _| a), of(|_, b| b), of(|a, b| a ^ b)]
}

/// How often each pair of a table is looked up.
pub(super) struct Counts {
    table: XorTable,
    columns: Vec<Vec<u32>>,
}

impl Counts {
    pub(super) fn new(table: XorTable) -> Self {
        Self { table, columns: vec![vec![0; 1 << (2 * table.low)]; 1 << (2 * table.high)] }
    }

    /// Counts the look-up of `a` and `b`, and returns their exclusive or.
    pub(super) fn look_up(&mut self, a: u32, b: u32) -> u32 {
        let XorTable { low, high } = self.table;
        let mask = (1 << low) - 1;
        let (column, row) = ((a >> low) << high | b >> low, (a & mask) << low | b & mask);
        self.columns[column as usize][stored_position(row, 2 * low) as usize] += 1;
        a ^ b
    }

    pub(super) const fn table(&self) -> XorTable {
        self.table
    }

    /// The trace of the table.
    pub(super) fn into_columns(self) -> TraceColumns {
        let elements = |column: Vec<u32>| column.into_iter().map(M31::from_u32).collect();
        self.columns.into_iter().map(elements).collect()
    }
}
