//! Traces of proofs, and the inputs of their generation.

use runtime::AnyQueue;
use stark::{AnyStatement, ProveError, ProveOptions, StatementProof, StatementProver, TraceColumns, TraceSource};
use stark_airs::{Blake2sStates, FibonacciSeeds, PlonkWires, Poseidon2States, StateMachine};

/// A trace, or the inputs from which a prover generates it.
pub(crate) enum TraceInput {
    /// The columns of each component.
    Columns(Vec<TraceColumns>),
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

impl TraceInput {
    /// Proves the statement of the trace.
    pub(crate) fn prove(
        &self,
        prover: &mut StatementProver<'_, AnyQueue, AnyStatement>,
        q: &AnyQueue,
        options: ProveOptions<'_, AnyQueue>,
    ) -> Result<StatementProof, ProveError> {
        prover.prove_with(q, &self.source()?, options)
    }

    fn source(&self) -> Result<TraceSource<'_>, ProveError> {
        match self {
            Self::Columns(columns) => Ok(TraceSource::columns(columns)),
            Self::Fibonacci(seeds) => TraceSource::witness(seeds),
            Self::StateMachine(machine) => TraceSource::witness(machine),
            Self::Plonk(wires) => TraceSource::witness(wires),
            Self::Poseidon2(states) => TraceSource::witness(states),
            Self::Blake2s(states) => TraceSource::witness(states),
        }
    }
}
