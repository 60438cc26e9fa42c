//! Traces of proofs, and the inputs of their generation.

use runtime::AnyQueue;
use stark::{ProofGraph, ProveError, Stage, Statement, StatementProof, StatementProver, TraceColumns, Witness};
use stark_airs::{Blake2sStates, FibonacciSeeds, PlonkWires, Poseidon2States, StateMachine};

/// A trace, or the inputs from which a prover generates it.
pub(crate) enum Trace {
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

impl Trace {
    /// Proves the statement of the trace, calling `watch` as each stage begins.
    ///
    /// The device has then finished the stages before it.
    pub(crate) fn prove<S: Statement>(
        &self,
        prover: &mut StatementProver<'_, AnyQueue, S>,
        q: &AnyQueue,
        watch: Option<&mut dyn FnMut(Stage)>,
    ) -> Result<StatementProof, ProveError> {
        match self {
            Self::Columns(columns) => match watch {
                Some(watch) => prover.prove_watched(q, columns, watch),
                None => prover.prove(q, columns),
            },
            Self::Fibonacci(seeds) => from(prover, q, seeds, watch),
            Self::StateMachine(machine) => from(prover, q, machine, watch),
            Self::Plonk(wires) => from(prover, q, wires, watch),
            Self::Poseidon2(states) => from(prover, q, states, watch),
            Self::Blake2s(states) => from(prover, q, states, watch),
        }
    }

    /// [`prove`](Self::prove) with the work of the device as one submission, once it is recorded.
    pub(crate) fn prove_replayed<S: Statement>(
        &self,
        prover: &mut StatementProver<'_, AnyQueue, S>,
        q: &AnyQueue,
        graph: &mut ProofGraph<AnyQueue>,
    ) -> Result<StatementProof, ProveError> {
        match self {
            Self::Columns(columns) => prover.prove_replayed(q, graph, columns),
            Self::Fibonacci(seeds) => prover.prove_from_replayed(q, graph, seeds),
            Self::StateMachine(machine) => prover.prove_from_replayed(q, graph, machine),
            Self::Plonk(wires) => prover.prove_from_replayed(q, graph, wires),
            Self::Poseidon2(states) => prover.prove_from_replayed(q, graph, states),
            Self::Blake2s(states) => prover.prove_from_replayed(q, graph, states),
        }
    }
}

/// Proves the statement of a witness.
fn from<S: Statement, W: Witness>(
    prover: &mut StatementProver<'_, AnyQueue, S>,
    q: &AnyQueue,
    witness: &W,
    watch: Option<&mut dyn FnMut(Stage)>,
) -> Result<StatementProof, ProveError> {
    match watch {
        Some(watch) => prover.prove_from_watched(q, witness, watch),
        None => prover.prove_from(q, witness),
    }
}
