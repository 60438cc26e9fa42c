//! What traces are made from, where they are proven.

use alloc::vec::Vec;

use core_types::{
    air::{Gather, Generator},
    field::M31,
};

/// Takes the generators of a trace.
pub trait WitnessVisitor<'w> {
    /// Takes the generator of the next component's trace, and the columns that it reads.
    ///
    /// Each column is in stored order.
    fn component<G: Generator>(&mut self, generator: &G, inputs: &'w [Vec<M31>]);

    /// Takes tables from which the next component's columns are gathered.
    ///
    /// The keys of each gathered column are in a preprocessed column.
    fn gathered(&mut self, tables: &'w [Vec<M31>], columns: &'w [Gather]);

    /// Takes the next component as a table counted by the generators.
    ///
    /// Its columns are the next counters.
    fn counters(&mut self);
}

/// The source data of a statement's trace.
///
/// Each component has a generator with columns of inputs, or tables that its columns are gathered
/// from, or counters that the generators increment.
///
/// A prover runs the generators on its device, and gathers there, so that it uploads inputs and
/// tables alone. The trace is the one that the host makes.
pub trait Witness {
    /// Hands over the generators, in the order of the components of the statement.
    fn generators<'w>(&'w self, visitor: &mut impl WitnessVisitor<'w>);
}
