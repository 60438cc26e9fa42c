//! Traces of messages.

use alloc::vec::Vec;

use core_types::{
    blake2s::{SIGMA, START},
    field::M31,
};

use super::{
    Blake2s,
    cells::{Cells, SplitWord},
    compressions::{self, CompressionPosition, finished, first_state},
    place,
    relations::KEYS,
    rounds::{self, round},
    xors::Counts,
};
use crate::columns::{TraceColumns, TraceTable};

/// The columns of a row, computed one after the other.
struct FilledCells<'c> {
    values: Vec<M31>,
    counts: &'c mut [Counts],
}

impl FilledCells<'_> {
    fn push(&mut self, word: u32) -> M31 {
        let value = M31::from_u32(word);
        self.values.push(value);
        value
    }

    fn push_words(&mut self, words: &[SplitWord<M31>]) {
        self.values.extend(words.iter().flat_map(|word| [word.low, word.high]));
    }
}

impl Cells for FilledCells<'_> {
    type F = M31;

    fn bits(&mut self, half: M31, from: u32, to: u32) -> M31 {
        self.push((half.word() & ((1 << to) - 1)) >> from)
    }

    fn xor(&mut self, bits: u32, a: M31, b: M31) -> M31 {
        let counts = self.counts.iter_mut().find(|counts| counts.table().bits() == bits);
        let word = counts.map_or_else(|| a.word() ^ b.word(), |counts| counts.look_up(a.word(), b.word()));
        self.push(word)
    }

    fn sum(&mut self, sum: M31) -> M31 {
        self.push(sum.word() & 0xffff)
    }

    fn zero(&mut self, value: M31) {
        debug_assert!(value.is_zero());
    }
}

/// The trace of a message of `2^log_blocks` blocks, and its digest.
pub(super) fn trace(statement: &Blake2s, blocks: &[[u32; 16]]) -> (Vec<TraceColumns>, [u32; 8]) {
    let log_blocks = statement.log_blocks;
    let mut counts: Vec<_> = statement.tables.map(Counts::new).into();
    let mut compressed = TraceTable::new(log_blocks, compressions::COLUMNS);
    // Eight rounds of each block, then two.
    let mut parts =
        [(3, 0..8), (1, 8..10)].map(|(log, rounds)| (TraceTable::new(log_blocks + log, rounds::COLUMNS), log, rounds));
    let mut chain = START.map(SplitWord::constant);
    for (index, block) in (0..).zip(blocks) {
        let message = block.map(SplitWord::constant);
        let key = index * KEYS;
        let CompressionPosition { index: element, bytes, last } = place(log_blocks, index);
        let mut state = first_state(&chain, CompressionPosition { index: element, bytes, last });
        for (table, log, rounds) in &mut parts {
            for number in rounds.clone() {
                let values = Vec::with_capacity(rounds::COLUMNS);
                let mut cells = FilledCells { values, counts: &mut counts };
                let ordered = SIGMA[number as usize].map(|k| message[usize::from(k)]);
                cells.push(key + number);
                cells.push_words(&state);
                cells.push_words(&ordered);
                state = round(&mut cells, state, &ordered);
                table.set((index << *log) + number - rounds.start, cells.values);
            }
        }
        let mut cells = FilledCells { values: Vec::with_capacity(compressions::COLUMNS), counts: &mut counts };
        cells.push_words(&chain);
        cells.push_words(&message);
        cells.push_words(&state);
        chain = finished(&mut cells, &chain, &state);
        compressed.set(index, cells.values);
    }
    let mut columns = Vec::from([compressed.into_columns()]);
    columns.extend(parts.map(|(table, ..)| table.into_columns()));
    columns.extend(counts.into_iter().map(Counts::into_columns));
    (columns, chain.map(|word| word.low.word() | word.high.word() << 16))
}
