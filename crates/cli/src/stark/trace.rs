//! What proofs take their traces from.

use runtime::AnyQueue;
use stark::{Columns, ProveError, Stage, Statement, StatementProof, StatementProver};
use stark_airs::{Blake2sStates, FibonacciSeeds, PlonkWires, Poseidon2States, StateMachine};

/// A trace, or what it is made from where the proof is made.
pub(crate) enum Trace {
    /// The columns of each component.
    Columns(Vec<Columns>),
    /// The first columns of wide Fibonacci.
    Fibonacci(FibonacciSeeds),
    /// A machine, whose states follow from its first one.
    StateMachine(StateMachine),
    /// The wires of a circuit.
    Plonk(PlonkWires),
    /// The states of a chain.
    Poseidon2(Poseidon2States),
    /// The states between the rounds of a message.
    Blake2s(Blake2sStates),
}

impl Trace {
    /// Proves the statement that the trace is of, calling `watch` as each stage begins.
    pub(crate) fn prove<S: Statement>(
        &self,
        prover: &mut StatementProver<'_, AnyQueue, S>,
        q: &AnyQueue,
        watch: impl FnMut(Stage),
    ) -> Result<StatementProof, ProveError> {
        match self {
            Self::Columns(columns) => prover.prove_watched(q, columns, watch),
            Self::Fibonacci(seeds) => prover.prove_from_watched(q, seeds, watch),
            Self::StateMachine(machine) => prover.prove_from_watched(q, machine, watch),
            Self::Plonk(wires) => prover.prove_from_watched(q, wires, watch),
            Self::Poseidon2(states) => prover.prove_from_watched(q, states, watch),
            Self::Blake2s(states) => prover.prove_from_watched(q, states, watch),
        }
    }
}
