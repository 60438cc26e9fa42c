//! The states between the rounds of a message, which its trace is made from.

use core_types::{
    air::{Generator, NewRow},
    blake2s::{BLOCK_BYTES, SIGMA, START},
    field::M31,
};

use super::{
    Blake2s,
    cells::{Cells, SplitWord},
    compressions::finished,
    relations::KEYS,
    rounds::round,
    words,
    xors::XorTable,
};
use crate::{TraceColumns, Witness, WitnessVisitor, columns::TraceTable};

/// Halves of a state or of a message.
const HALVES: usize = 32;

/// The states and messages that the rows of a trace of [`Blake2s`] begin with.
///
/// They are 80 of the 192 columns of a compression and 64 of the 481 columns of a round. The other
/// columns follow row by row, and the tables are counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blake2sStates {
    statement: Blake2s,
    compressions: TraceColumns,
    rounds: [TraceColumns; 2],
}

/// The halves of words, the lower one of each first.
fn halves(words: &[u32]) -> impl Iterator<Item = M31> {
    words.iter().flat_map(|word| [word & 0xffff, word >> 16]).map(M31::from_u32)
}

impl Blake2sStates {
    /// Computes the source data of a trace, and the digest of its message.
    ///
    /// The message has `2^log_blocks` blocks.
    pub(super) fn new(statement: Blake2s, blocks: &[[u32; 16]]) -> (Self, [u32; 8]) {
        let log_blocks = statement.log_blocks;
        let mut compressions = TraceTable::new(log_blocks, 16 + 2 * HALVES);
        let mut parts =
            [(3, 0..8), (1, 8..10)].map(|(log, rounds)| (TraceTable::new(log_blocks + log, 2 * HALVES), log, rounds));
        let mut chain = START;
        for (index, block) in (0..).zip(blocks) {
            let mut state =
                words::first_state(chain, BLOCK_BYTES as u32 * (index + 1), index as usize + 1 == blocks.len());
            for (table, log, rounds) in &mut parts {
                for number in rounds.clone() {
                    let ordered = SIGMA[number as usize].map(|k| block[usize::from(k)]);
                    table.set((index << *log) + number - rounds.start, halves(&state).chain(halves(&ordered)));
                    state = words::round(state, &ordered);
                }
            }
            compressions.set(index, halves(&chain).chain(halves(block)).chain(halves(&state)));
            chain = words::finished(chain, &state);
        }
        let [first, second] = parts.map(|(table, ..)| table.into_columns());
        (Self { statement, compressions: compressions.into_columns(), rounds: [first, second] }, chain)
    }
}

/// The next columns of a new row, with their look-ups counted.
struct NewCells<'r, R> {
    row: &'r mut R,
    /// The tables, each with its first counter.
    tables: [(XorTable, u32); 4],
}

impl<'r, R: NewRow> NewCells<'r, R> {
    fn new(row: &'r mut R, statement: &Blake2s) -> Self {
        let mut first = 0;
        let tables = statement.tables.map(|table| {
            let here = (table, first);
            first += table.counters();
            here
        });
        Self { row, tables }
    }

    fn write(&mut self, value: R::F) -> R::F {
        self.row.write(value);
        value
    }

    /// The next `K` words of inputs, which are columns as well.
    fn words<const K: usize>(&mut self) -> [SplitWord<R::F>; K] {
        [(); K].map(|()| {
            let [low, high] = [(); 2].map(|()| {
                let half = self.row.input();
                self.write(half)
            });
            SplitWord { low, high }
        })
    }
}

impl<R: NewRow> Cells for NewCells<'_, R> {
    type F = R::F;

    fn bits(&mut self, half: R::F, from: u32, to: u32) -> R::F {
        let part = self.row.bits(half, from, to);
        self.write(part)
    }

    fn xor(&mut self, bits: u32, a: R::F, b: R::F) -> R::F {
        if let Some(&(table, first)) = self.tables.iter().find(|(table, _)| table.bits() == bits) {
            let key = table.key(self.row, a, b) + M31::from_u32(first);
            self.row.count(key);
        }
        let both = self.row.xor(a, b);
        self.write(both)
    }

    fn sum(&mut self, sum: R::F) -> R::F {
        let low = self.row.bits(sum, 0, 16);
        self.write(low)
    }

    fn zero(&mut self, _: R::F) {}
}

/// Makes the rows of compressions.
struct NewCompressions<'s>(&'s Blake2s);

impl Generator for NewCompressions<'_> {
    fn log_rows(&self) -> u32 {
        self.0.log_blocks
    }

    fn generate<R: NewRow>(&self, row: &mut R) {
        let mut cells = NewCells::new(row, self.0);
        let chain = cells.words();
        let _message: [SplitWord<R::F>; 16] = cells.words();
        let state = cells.words();
        finished(&mut cells, &chain, &state);
    }
}

/// Makes the rows of rounds, `2^log_rounds` of each block from round `first` on.
struct NewRounds<'s> {
    statement: &'s Blake2s,
    log_rounds: u32,
    first: u32,
}

impl Generator for NewRounds<'_> {
    fn log_rows(&self) -> u32 {
        self.statement.log_blocks + self.log_rounds
    }

    fn generate<R: NewRow>(&self, row: &mut R) {
        let number = row.number();
        let within = row.bits(number, 0, self.log_rounds);
        // The index of the block times the number of keys of a block, and the number of the round.
        let key = (number - within) * M31::from_u32(KEYS >> self.log_rounds) + within + M31::from_u32(self.first);
        row.write(key);
        let mut cells = NewCells::new(row, self.statement);
        let before = cells.words();
        let message = cells.words();
        round(&mut cells, before, &message);
    }
}

impl Witness for Blake2sStates {
    fn generators<'w>(&'w self, visitor: &mut impl WitnessVisitor<'w>) {
        let Self { statement, compressions, rounds } = self;
        visitor.component(&NewCompressions(statement), compressions);
        for ((log_rounds, first), inputs) in [(3, 0), (1, 8)].into_iter().zip(rounds) {
            visitor.component(&NewRounds { statement, log_rounds, first }, inputs);
        }
        statement.tables.iter().for_each(|_| visitor.counters());
    }
}
