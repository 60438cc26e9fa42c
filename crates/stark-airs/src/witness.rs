//! What traces are made from, where they are proven.

use alloc::vec::Vec;

use core_types::{air::Generator, field::M31};

/// Takes the generators of a trace.
pub trait WitnessVisitor<'w> {
    /// Takes what makes the trace of the next component, and the columns that it reads, each in stored order.
    fn component<G: Generator>(&mut self, generator: &G, inputs: &'w [Vec<M31>]);

    /// The next component is a table, whose trace is counted by the generators: its columns are the next counters.
    fn counters(&mut self);
}

/// What the trace of a statement is made from: a generator for each component, with columns of inputs, or what the
/// generators count.
///
/// A prover runs the generators on its device and uploads their inputs alone. The trace is the one that the host makes.
pub trait Witness {
    /// Hands over the generators, in the order of the components of the statement.
    fn generators<'w>(&'w self, visitor: &mut impl WitnessVisitor<'w>);
}
