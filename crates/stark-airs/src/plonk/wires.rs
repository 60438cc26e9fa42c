//! The wires of a circuit, which its trace is gathered from.

use alloc::vec::Vec;

use core_types::{air::Gather, field::M31};

use crate::{Witness, WitnessVisitor};

/// The place of how often wires are read among the tables.
const READS: usize = 0;

/// The place of their values.
const VALUES: usize = 1;

/// The columns of the AIR.
///
/// Its first slots are the wires that a gate reads, and the one it drives.
const COLUMNS: [Gather; 4] = [
    Gather { table: READS, keys: 2 },
    Gather { table: VALUES, keys: 0 },
    Gather { table: VALUES, keys: 1 },
    Gather { table: VALUES, keys: 2 },
];

/// The value of each wire of a circuit, and how often it is read.
///
/// The four columns of a trace of [`Plonk`](super::Plonk) are gathered from these two tables. The
/// keys are the preprocessed columns, which hold the wires of each gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlonkWires {
    tables: [Vec<M31>; 2],
}

impl PlonkWires {
    /// The wires with these values, by number.
    pub(super) fn new(values: Vec<M31>, reads: &[u32]) -> Self {
        let reads = reads.iter().map(|&reads| M31::from_u32(reads)).collect();
        Self { tables: [reads, values] }
    }
}

impl Witness for PlonkWires {
    fn generators<'w>(&'w self, visitor: &mut impl WitnessVisitor<'w>) {
        visitor.gathered(&self.tables, &COLUMNS);
    }
}
