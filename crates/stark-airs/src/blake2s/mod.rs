//! Blake2s of messages, block by block, with exclusive ors looked up in tables.
//!
//! A word is two halves of 16 bits, in a column each. Sums have a column for each half of their
//! result, and constraints on the carries. For an exclusive or, halves are split so that turning
//! the result moves whole parts, into 8 and 8 bits, 8, 4 and 4 or 7, 5 and 4, and each part is
//! looked up. A look-up shows that a part has no more bits than the table's numbers, so that halves
//! of sums have 16 bits, since the result of each sum is part of an exclusive or. The words of the
//! message are in sums alone: those bound what stands in its columns, so that it is the same word
//! modulo 2^32 in each round, even if a half has more than 16 bits.

mod cells;
mod compressions;
mod relations;
mod rounds;
mod states;
mod trace;
mod words;
mod xors;

use alloc::vec::Vec;

use core_types::{
    air::Relation,
    blake2s::{BLOCK_BYTES, BLOCK_WORDS, Digest, IV, START},
    field::{M31, QM31},
};

pub use compressions::Compressions;
pub use rounds::Rounds;
pub use states::Blake2sStates;
pub use xors::XorTable;

use self::{
    cells::SplitWord,
    compressions::{CompressionPosition, link},
    relations::CHAIN,
};
use crate::{
    AirError, PreprocessedColumn, Statement, TraceColumns, Visitor, columns::column, statement::public_fraction,
};

/// Log of the most blocks.
///
/// Each block has 1664 look-ups. All together are fewer than the elements of the field, so that no
/// number of false look-ups is zero.
const MAX_LOG_BLOCKS: u32 = 20;

/// Statement: the prover has a message of `2^log_blocks` whole blocks with this digest.
///
/// The components are the compressions, their first eight rounds, their last two rounds, and tables
/// for 8, 7, 5 and 4 bits. The claimed sums add up to the fraction of the first chaining value less
/// the digest's: all other tuples used are yielded.
///
/// From `2^8` blocks on, the preprocessed columns have fewer rows than the rounds. stwo 2.3 proves
/// that with a lifting size alone: one that is the height of the largest tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blake2s {
    log_blocks: u32,
    compressions: Compressions,
    rounds: [Rounds; 2],
    tables: [XorTable; 4],
    digest: Digest,
}

impl Blake2s {
    /// The statement about a digest, which need not be true.
    ///
    /// # Errors
    ///
    /// Refuses a log outside `1..=20`.
    pub fn new(log_blocks: u32, digest: Digest) -> Result<Self, AirError> {
        if !(1..=MAX_LOG_BLOCKS).contains(&log_blocks) {
            return Err(AirError::Rows { log_rows: log_blocks, least: 1, most: MAX_LOG_BLOCKS });
        }
        Ok(Self {
            log_blocks,
            compressions: Compressions::new(log_blocks),
            rounds: [3, 1].map(|log_rounds| Rounds::new(log_blocks + log_rounds)),
            tables: [XorTable::new(5, 3), XorTable::new(5, 2), XorTable::new(5, 0), XorTable::new(4, 0)],
            digest,
        })
    }

    /// The digest of a message, as a statement, and the trace that shows it.
    ///
    /// # Errors
    ///
    /// Refuses a number of blocks that is not a power of two, or outside `2..=2^20`.
    pub fn run(blocks: &[[u32; BLOCK_WORDS]]) -> Result<(Self, Vec<TraceColumns>), AirError> {
        let statement = Self::of_length(blocks.len())?;
        let (columns, digest) = trace::trace(&statement, blocks);
        Ok((Self { digest: Digest(digest), ..statement }, columns))
    }

    /// The digest of a message, as a statement, and the states between its rounds.
    ///
    /// The trace that proves the statement is made from these states.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub fn states(blocks: &[[u32; BLOCK_WORDS]]) -> Result<(Self, Blake2sStates), AirError> {
        let statement = Self::of_length(blocks.len())?;
        let (states, digest) = Blake2sStates::new(statement, blocks);
        Ok((Self { digest: Digest(digest), ..statement }, states))
    }

    /// A statement about a message of `got` blocks.
    fn of_length(got: usize) -> Result<Self, AirError> {
        let expected = got.next_power_of_two();
        if got != expected {
            return Err(AirError::Length { what: "blocks", expected, got });
        }
        Self::new(expected.ilog2(), Digest::default())
    }

    /// The digest.
    #[must_use]
    pub const fn digest(&self) -> Digest {
        self.digest
    }
}

/// What belongs to the statement on the row of a block.
fn place(log_blocks: u32, index: u32) -> CompressionPosition<M31> {
    let bytes = BLOCK_BYTES as u32 * (index + 1);
    let last = if index + 1 == 1 << log_blocks { M31::ONE } else { M31::ZERO };
    CompressionPosition { index: M31::from_u32(index), bytes: SplitWord::constant(IV[4] ^ bytes), last }
}

impl Statement for Blake2s {
    fn visit<'s>(&'s self, visitor: &mut impl Visitor<'s>) {
        visitor.component(&self.compressions, &[0, 1, 2, 3]);
        for rounds in &self.rounds {
            visitor.component(rounds, &[]);
        }
        let [tables @ .., smallest] = &self.tables;
        for table in tables {
            visitor.component(table, &[4, 5, 6]);
        }
        visitor.component(smallest, &[7, 8, 9]);
    }

    /// The columns of a block's place, then the columns of the tables of exclusive ors.
    ///
    /// The place is the block's index, the halves of the word with the number of bytes, and one for
    /// the last block. The tables are pairs of five bits and pairs of four, with their exclusive
    /// ors.
    fn preprocessed(&self) -> Vec<PreprocessedColumn> {
        let of = |log_rows| move |name| PreprocessedColumn { name, log_rows };
        let places = ["index", "bytes-low", "bytes-high", "last"].map(of(self.log_blocks));
        let fives = ["five-a", "five-b", "five-xor"].map(of(10));
        let fours = ["four-a", "four-b", "four-xor"].map(of(8));
        places.into_iter().chain(fives).chain(fours).collect()
    }

    fn preprocessed_values(&self) -> Vec<Vec<M31>> {
        let of = |value: fn(CompressionPosition<M31>) -> M31| {
            column(self.log_blocks, |row| value(place(self.log_blocks, row)))
        };
        let places = [of(|at| at.index), of(|at| at.bytes.low), of(|at| at.bytes.high), of(|at| at.last)];
        places.into_iter().chain(xors::slots(5)).chain(xors::slots(4)).collect()
    }

    fn relations(&self) -> &'static [Relation] {
        &relations::ALL
    }

    /// The digest, as halves of words.
    fn public_words(&self) -> Vec<u32> {
        self.digest.0.iter().flat_map(|word| [word & 0xffff, word >> 16]).collect()
    }

    fn public_sum(&self, challenges: &[QM31]) -> Option<QM31> {
        let fraction = |index: u32, chain: [u32; 8]| {
            let link = link(M31::from_u32(index), &chain.map(SplitWord::constant));
            public_fraction(CHAIN, challenges, M31::ONE, link)
        };
        Some(fraction(0, START)? - fraction(1 << self.log_blocks, self.digest.0)?)
    }
}
