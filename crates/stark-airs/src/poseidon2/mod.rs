//! Poseidon2 over Mersenne-31 with sixteen words, and chains of its permutations.
//!
//! The instance is Plonky3's. The permutation is defined in <https://eprint.iacr.org/2023/323>.
//! Eight full rounds and fourteen partial ones with S-boxes `x^5`.

mod constants;
mod permutation;
mod states;

use alloc::{vec, vec::Vec};

use core_types::{
    air::{Air, BaseValue, LogUp, Relation, Row},
    field::{M31, QM31},
};

use crate::{
    AirError, Statement, TraceColumns, Visitor,
    columns::{TraceTable, checked_rows},
    statement::public_fraction,
};

pub use states::Poseidon2States;

/// Words of a state.
const WIDTH: usize = 16;

/// S-boxes of a permutation.
const SBOXES: usize = 8 * WIDTH + 14;

/// Columns of a permutation.
const COLUMNS: usize = WIDTH + 2 * SBOXES;

/// States of a chain.
///
/// The permutation that takes a state uses it; the permutation that makes it yields it.
const STATES: Relation = Relation::new(0, WIDTH as u32);

/// A permutation on each row.
///
/// Constraints have at most degree three, so that an S-box takes two columns: the square `t = x^2`
/// of its input and its output `t^2 x`. A row is the 16 input words of the permutation, then `t`
/// and the output of each S-box in the order of the rounds: 300 columns. The output of the
/// permutation is linear in the last 32, and has no separate columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Poseidon2 {
    log_rows: u32,
}

impl Poseidon2 {
    /// The permutation of a state.
    #[must_use]
    pub fn permute(state: [M31; WIDTH]) -> [M31; WIDTH] {
        permutation::permute(state, |x| x.square().square() * x)
    }
}

impl Air for Poseidon2 {
    fn log_rows(&self) -> u32 {
        self.log_rows
    }

    fn eval<R: Row>(&self, row: &mut R) {
        let taken = [(); WIDTH].map(|()| row.column());
        let made = permutation::permute(taken, |x| {
            let (square, output) = (row.column(), row.column());
            row.constraint(square - x.square());
            row.constraint(output - square.square() * x);
            output
        });
        let one = R::E::from(R::F::from(M31::ONE));
        let mut states = LogUp::new(2);
        states.entry(row, STATES, one, &taken);
        states.entry(row, STATES, -one, &made);
        states.finish(row);
    }
}

/// The first state leads to the last by `2^log_rows` permutations.
///
/// The claimed sum is the fraction of the first state less the last state's: all states between are
/// used and yielded equally often. A trace could also hold a shorter chain and separate cycles, but
/// no cycle of the permutation is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Poseidon2Chain {
    air: Poseidon2,
    first: [M31; WIDTH],
    last: [M31; WIDTH],
}

impl Poseidon2Chain {
    /// The statement that `2^log_rows` permutations lead from `first` to `last`.
    ///
    /// It is not checked and need not be true.
    ///
    /// # Errors
    ///
    /// Refuses a log outside `1..=29`.
    pub fn new(log_rows: u32, first: [M31; WIDTH], last: [M31; WIDTH]) -> Result<Self, AirError> {
        Ok(Self { air: Poseidon2 { log_rows: checked_rows(log_rows)? }, first, last })
    }

    /// Runs `2^log_rows` permutations from `first`.
    ///
    /// Returns the statement about the last state, and the trace that proves it.
    ///
    /// # Errors
    ///
    /// Refuses a log outside `1..=29`.
    pub fn run(log_rows: u32, first: [M31; WIDTH]) -> Result<(Self, Vec<TraceColumns>), AirError> {
        let mut table = TraceTable::new(checked_rows(log_rows)?, COLUMNS);
        let mut state = first;
        for row in 0..1 << log_rows {
            let mut values = Vec::with_capacity(COLUMNS);
            values.extend(state);
            state = permutation::permute(state, |x| {
                let square = x.square();
                let output = square.square() * x;
                values.extend([square, output]);
                output
            });
            table.set(row, values);
        }
        Ok((Self::new(log_rows, first, state)?, vec![table.into_columns()]))
    }

    /// Runs `2^log_rows` permutations from `first` without making the trace.
    ///
    /// Returns the statement about the last state, and the states between, from which the trace is
    /// made.
    ///
    /// # Errors
    ///
    /// Refuses a log outside `1..=29`.
    pub fn states(log_rows: u32, first: [M31; WIDTH]) -> Result<(Self, Poseidon2States), AirError> {
        let (states, last) = Poseidon2States::new(checked_rows(log_rows)?, first);
        Ok((Self::new(log_rows, first, last)?, states))
    }

    /// The state that the chain begins with.
    #[must_use]
    pub const fn first(&self) -> &[M31; WIDTH] {
        &self.first
    }

    /// The state that the chain leads to.
    #[must_use]
    pub const fn last(&self) -> &[M31; WIDTH] {
        &self.last
    }
}

impl Statement for Poseidon2Chain {
    fn visit<'s>(&'s self, visitor: &mut impl Visitor<'s>) {
        visitor.component(&self.air, &[]);
    }

    fn relations(&self) -> &'static [Relation] {
        &[STATES]
    }

    /// The first state and the last.
    fn public_words(&self) -> Vec<u32> {
        self.first.iter().chain(&self.last).map(|word| word.word()).collect()
    }

    fn public_sum(&self, challenges: &[QM31]) -> Option<QM31> {
        let fraction = |state| public_fraction(STATES, challenges, M31::ONE, state);
        Some(fraction(self.first)? - fraction(self.last)?)
    }
}
