//! The AIR of rounds.

use core_types::{
    air::{Air, Row},
    field::M31,
};

use super::{
    cells::{Cells, RowCells, SplitWord, add, keyed, word, xor_turned},
    relations::{MESSAGES, STATES},
};

/// Look-ups of exclusive ors on a row.
const XORS: usize = 8 * 20;

/// The words of the state that each mix of a round takes: its columns, then its diagonals.
pub(super) const MIXES: [[usize; 4]; 8] = [
    [0, 4, 8, 12],
    [1, 5, 9, 13],
    [2, 6, 10, 14],
    [3, 7, 11, 15],
    [0, 5, 10, 15],
    [1, 6, 11, 12],
    [2, 7, 8, 13],
    [3, 4, 9, 14],
];

/// Columns of a row.
pub(super) const COLUMNS: usize = 1 + 2 * 32 + 8 * 52;

/// A round of Blake2s on each row, of any compression.
///
/// The columns are a key, the state before the round and the message in the round's order as halves
/// of words, and the intermediate values of the round's eight mixes. The key is the index of the
/// block times 16, plus the number of the round. The state before the round is used with that key,
/// and the state after it is yielded with the next key. The compression defines the message words
/// of each key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rounds {
    log_rows: u32,
}

impl Rounds {
    pub(super) const fn new(log_rows: u32) -> Self {
        Self { log_rows }
    }
}

impl Air for Rounds {
    fn log_rows(&self) -> u32 {
        self.log_rows
    }

    fn eval<R: Row>(&self, row: &mut R) {
        let key = row.column();
        let before = [(); 16].map(|()| word(row));
        let message = [(); 16].map(|()| word(row));
        let mut cells = RowCells::<R, XORS>::new(row);
        let after = round(&mut cells, before, &message);
        let mut look_ups = cells.look_up();
        let one = R::E::from(R::F::from(M31::ONE));
        look_ups.entry(row, MESSAGES, one, &keyed(key, &message));
        look_ups.entry(row, STATES, one, &keyed(key, &before));
        look_ups.entry(row, STATES, -one, &keyed(key + M31::ONE, &after));
        look_ups.finish(row);
    }
}

/// The state after a round with the message in its order.
pub(super) fn round<C: Cells>(
    cells: &mut C,
    mut state: [SplitWord<C::F>; 16],
    message: &[SplitWord<C::F>; 16],
) -> [SplitWord<C::F>; 16] {
    for (at, [x, y]) in MIXES.into_iter().zip(message.as_chunks::<2>().0) {
        mix(cells, &mut state, at, *x, *y);
    }
    state
}

fn mix<C: Cells>(
    cells: &mut C,
    state: &mut [SplitWord<C::F>; 16],
    [a, b, c, d]: [usize; 4],
    x: SplitWord<C::F>,
    y: SplitWord<C::F>,
) {
    state[a] = add(cells, [state[a], state[b], x]);
    state[d] = xor_turned(cells, state[d], state[a], 16);
    state[c] = add(cells, [state[c], state[d]]);
    state[b] = xor_turned(cells, state[b], state[c], 12);
    state[a] = add(cells, [state[a], state[b], y]);
    state[d] = xor_turned(cells, state[d], state[a], 8);
    state[c] = add(cells, [state[c], state[d]]);
    state[b] = xor_turned(cells, state[b], state[c], 7);
}
