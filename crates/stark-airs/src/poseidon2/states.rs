//! The states of a chain, which its trace is made from.

use core_types::{
    air::{BaseValue, Generator, NewRow},
    field::M31,
};

use super::{Poseidon2, WIDTH, permutation};
use crate::{TraceColumns, Witness, WitnessVisitor, columns::TraceTable};

/// The state that each permutation of a chain takes, 16 columns.
///
/// The other 284 columns of a trace of [`Poseidon2Chain`](super::Poseidon2Chain) follow row by row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Poseidon2States {
    log_rows: u32,
    columns: TraceColumns,
}

impl Poseidon2States {
    /// The states that `2^log_rows` permutations take from `first` on.
    ///
    /// The state that the last permutation makes is returned with them.
    pub(super) fn new(log_rows: u32, first: [M31; WIDTH]) -> (Self, [M31; WIDTH]) {
        let mut table = TraceTable::new(log_rows, WIDTH);
        let mut state = first;
        for row in 0..1 << log_rows {
            table.set(row, state);
            state = Poseidon2::permute(state);
        }
        (Self { log_rows, columns: table.into_columns() }, state)
    }
}

impl Generator for Poseidon2States {
    fn log_rows(&self) -> u32 {
        self.log_rows
    }

    fn generate<R: NewRow>(&self, row: &mut R) {
        let taken = [(); WIDTH].map(|()| row.input());
        taken.into_iter().for_each(|word| row.write(word));
        permutation::permute(taken, |x| {
            let square = x.square();
            let output = square.square() * x;
            row.write(square);
            row.write(output);
            output
        });
    }
}

impl Witness for Poseidon2States {
    fn generators<'w>(&'w self, visitor: &mut impl WitnessVisitor<'w>) {
        visitor.component(self, &self.columns);
    }
}
