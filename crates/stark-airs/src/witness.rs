//! What traces are made from, where they are proven.

use alloc::vec::Vec;

use core_types::{
    air::{Gather, Generator},
    field::M31,
};

/// Takes the generators of a trace.
pub trait WitnessVisitor<'w> {
    /// Takes what makes the trace of the next component, and the columns that it reads, each in
    /// stored order.
    fn component<G: Generator>(&mut self, generator: &G, inputs: &'w [Vec<M31>]);

    /// The next component's columns are gathered from these tables, each by the keys in a
    /// preprocessed column.
    fn gathered(&mut self, tables: &'w [Vec<M31>], columns: &'w [Gather]);

    /// The next component is a table, whose trace is counted by the generators: its columns are the
    /// next counters.
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
