//! The AIR of compressions.

use core_types::{
    air::{Air, BaseValue, Row},
    blake2s::{IV, SIGMA},
    field::M31,
};

use super::{
    cells::{Cells, RowCells, SplitWord, keyed, word, xor_three},
    relations::{CHAIN, KEYS, MESSAGES, STATES},
};

/// Rounds of a compression.
pub(super) const ROUNDS: u32 = 10;

/// Look-ups of exclusive ors on a row.
const XORS: usize = 8 * 8;

/// Columns of a row.
pub(super) const COLUMNS: usize = 2 * (8 + 16 + 16) + 8 * 14;

/// The position of a compression, in columns that belong to the statement.
#[derive(Clone, Copy)]
pub(super) struct CompressionPosition<F> {
    /// The index of the block.
    pub(super) index: F,
    /// Word 12 of the first state.
    ///
    /// It is the exclusive or of a constant and the number of bytes up to the end of the block.
    pub(super) bytes: SplitWord<F>,
    /// One for the last block, zero elsewhere.
    pub(super) last: F,
}

/// A compression on each row, the rows in the order of the blocks.
///
/// The slots are the index of the block, the halves of word 12 of the first state, and one for the
/// last block. The columns are the chaining value before the block, the message and the state after
/// ten rounds, as halves of words, and what adds them up to the chaining value after it. The first
/// state is yielded with the key of the first round, the last one used with the key after the
/// tenth, and the message yielded for each round in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compressions {
    log_rows: u32,
}

impl Compressions {
    pub(super) const fn new(log_rows: u32) -> Self {
        Self { log_rows }
    }
}

impl Air for Compressions {
    fn log_rows(&self) -> u32 {
        self.log_rows
    }

    fn eval<R: Row>(&self, row: &mut R) {
        let [index, low, high, last] = [0, 1, 2, 3].map(|slot| row.preprocessed(slot));
        let chain = [(); 8].map(|()| word(row));
        let message = [(); 16].map(|()| word(row));
        let state = [(); 16].map(|()| word(row));
        let place = CompressionPosition { index, bytes: SplitWord { low, high }, last };

        let mut cells = RowCells::<R, XORS>::new(row);
        let after = finished(&mut cells, &chain, &state);
        let mut look_ups = cells.look_up();

        let one = R::E::from(R::F::from(M31::ONE));
        let key = index * M31::from_u32(KEYS);
        for (round, order) in (0..).zip(&SIGMA) {
            let ordered = order.map(|k| message[usize::from(k)]);
            look_ups.entry(row, MESSAGES, -one, &keyed(key + M31::from_u32(round), &ordered));
        }
        look_ups.entry(row, STATES, -one, &keyed(key, &first_state(&chain, place)));
        look_ups.entry(row, STATES, one, &keyed(key + M31::from_u32(ROUNDS), &state));
        look_ups.entry(row, CHAIN, one, &link(index, &chain));
        look_ups.entry(row, CHAIN, -one, &link(index + M31::ONE, &after));
        look_ups.finish(row);
    }
}

/// The index of a block and the chaining value before it, as one tuple.
pub(super) fn link<F: BaseValue>(index: F, chain: &[SplitWord<F>; 8]) -> [F; 17] {
    core::array::from_fn(|k| match k.checked_sub(1) {
        None => index,
        Some(half) if half % 2 == 0 => chain[half / 2].low,
        Some(half) => chain[half / 2].high,
    })
}

/// The state before the first round.
pub(super) fn first_state<F: BaseValue>(
    chain: &[SplitWord<F>; 8],
    place: CompressionPosition<F>,
) -> [SplitWord<F>; 16] {
    let constant = |k: usize| SplitWord::constant(IV[k]);
    // All bits of a half are flipped by taking it from 2^16 - 1.
    let flipped = |half: u32| place.last * (M31::from_u32(0xffff) - M31::from_u32(2 * half)) + M31::from_u32(half);
    let last = SplitWord { low: flipped(IV[6] & 0xffff), high: flipped(IV[6] >> 16) };
    core::array::from_fn(|k| match k {
        0..8 => chain[k],
        12 => place.bytes,
        14 => last,
        _ => constant(k - 8),
    })
}

/// The chaining value after a block.
///
/// It is computed from the chaining value before the block and the state after the last round.
pub(super) fn finished<C: Cells>(
    cells: &mut C,
    chain: &[SplitWord<C::F>; 8],
    state: &[SplitWord<C::F>; 16],
) -> [SplitWord<C::F>; 8] {
    let mut after = *chain;
    for (k, word) in after.iter_mut().enumerate() {
        *word = xor_three(cells, [chain[k], state[k], state[k + 8]]);
    }
    after
}
