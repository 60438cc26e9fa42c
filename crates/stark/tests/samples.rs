//! Statements that ship, with their traces, the sources of these, and provers.

use backend_api::{Collective, Record};
use stark::{
    PcsConfig, ProofGraph, Protocol, ProveError, ProveOptions, Residency, StarkOps, StatementProver, TraceColumns,
    TraceSource, Witness, WitnessVisitor,
};
use stark_airs::{
    Blake2s, Blake2sStates, Circuit, FibonacciSeeds, Plonk, PlonkWires, Poseidon2Chain, Poseidon2States, StateMachine,
    WideFibonacci,
};

use crate::{
    common::{Proven, little_work, words},
    stated::{Fibonaccis, Stated, blocks},
    statement::Statement,
};

/// A true statement, its trace, and the source of the trace.
pub(crate) struct Sample {
    pub(crate) statement: Stated,
    pub(crate) trace: Vec<TraceColumns>,
    pub(crate) source: Source,
}

/// The source of a trace.
pub(crate) enum Source {
    Fibonacci(FibonacciSeeds),
    StateMachine(StateMachine),
    Plonk(PlonkWires),
    Poseidon2(Poseidon2States),
    Blake2s(Blake2sStates),
}

pub(crate) type Prover<'s, Q> = StatementProver<'s, Q, Stated>;

impl Witness for Source {
    fn generators<'w>(&'w self, visitor: &mut impl WitnessVisitor<'w>) {
        match self {
            Self::Fibonacci(seeds) => seeds.generators(visitor),
            Self::StateMachine(machine) => machine.generators(visitor),
            Self::Plonk(wires) => wires.generators(visitor),
            Self::Poseidon2(states) => states.generators(visitor),
            Self::Blake2s(states) => states.generators(visitor),
        }
    }
}

impl Sample {
    /// Wide Fibonacci; another seed gives another trace.
    pub(crate) fn wide(log_rows: u32, columns: u32, seed: u32) -> Self {
        let air = WideFibonacci::new(log_rows, columns).unwrap();
        let seeds: Vec<_> = (0..1 << log_rows).map(|row| words([row + seed, 7 * row + seed + 1])).collect();
        let (trace, seeds) = (air.trace(&seeds).unwrap(), air.seeds(&seeds).unwrap());
        Self { statement: Stated::WideFibonacci(Fibonaccis(vec![air])), trace, source: Source::Fibonacci(seeds) }
    }

    pub(crate) fn steps(log_steps: [u32; 2], first: [u32; 2]) -> Self {
        let machine = StateMachine::new(log_steps, words(first)).unwrap();
        let (statement, source) = (Stated::StateMachine(machine), Source::StateMachine(machine));
        Self { statement, trace: machine.trace(), source }
    }

    /// The sample circuit.
    pub(crate) fn plonk(gates: u32, inputs: [u32; 2]) -> Self {
        let plonk = Plonk::evaluate(Circuit::sample(gates).unwrap(), words(inputs).to_vec()).unwrap();
        let (trace, source) = (plonk.trace(), Source::Plonk(plonk.wires()));
        Self { statement: Stated::Plonk(plonk), trace, source }
    }

    pub(crate) fn poseidon2(log_rows: u32, first: [u32; 16]) -> Self {
        let (chain, trace) = Poseidon2Chain::run(log_rows, words(first)).unwrap();
        let (same, states) = Poseidon2Chain::states(log_rows, words(first)).unwrap();
        assert_eq!(same, chain);
        Self { statement: Stated::Poseidon2(chain), trace, source: Source::Poseidon2(states) }
    }

    pub(crate) fn blake2s(blocks: &[[u32; 16]]) -> Self {
        let (hash, trace) = Blake2s::run(blocks).unwrap();
        let (same, states) = Blake2s::states(blocks).unwrap();
        assert_eq!(same, hash);
        Self { statement: Stated::Blake2s(hash), trace, source: Source::Blake2s(states) }
    }

    /// The statement of a vector, if it has look-ups and its AIRs ship.
    pub(crate) fn of(statement: &Statement) -> Option<Self> {
        Some(match *statement {
            Statement::Steps { log_rows, first } => Self::steps(log_rows, first),
            Statement::Plonk { gates, inputs, .. } => Self::plonk(gates, inputs),
            Statement::Poseidon2 { log_rows, first, .. } => Self::poseidon2(log_rows, first),
            Statement::Blake2s { log_blocks, .. } => Self::blake2s(&blocks(log_blocks)),
            _ => return None,
        })
    }

    /// Small samples: few rows and many, and components of different heights.
    pub(crate) fn small() -> Vec<Self> {
        let wide = [[3, 3], [5, 40], [8, 7]].map(|[log_rows, columns]| Self::wide(log_rows, columns, 0));
        let steps = [[3, 4], [4, 4], [7, 3]].map(|log_steps| Self::steps(log_steps, [1, 2]));
        wide.into_iter().chain(steps).chain([Self::plonk(60, [3, 9]), Self::poseidon2(4, [0; 16])]).collect()
    }

    pub(crate) fn prover<Q: StarkOps>(&self, q: &Q, config: PcsConfig) -> Result<Prover<'_, Q>, ProveError> {
        StatementProver::new(q, Protocol::V2_3, config, &self.statement)
    }

    /// Its prover with [`little_work`] and this residency.
    pub(crate) fn prover_with<Q: StarkOps>(&self, q: &Q, residency: Residency) -> Result<Prover<'_, Q>, ProveError> {
        StatementProver::with_residency(q, Protocol::V2_3, little_work(), &self.statement, residency)
    }

    /// The prover of a rank.
    pub(crate) fn sharded<Q: StarkOps>(
        &self,
        q: &Q,
        rank: impl Collective<Q> + 'static,
        config: PcsConfig,
    ) -> Result<Prover<'_, Q>, ProveError> {
        StatementProver::sharded(q, rank, Protocol::V2_3, config, &self.statement)
    }

    /// A proof as one of several ranks.
    pub(crate) fn prove_sharded<Q: StarkOps>(
        &self,
        q: &Q,
        rank: impl Collective<Q> + 'static,
        config: PcsConfig,
    ) -> Proven {
        self.sharded(q, rank, config)?.prove(q, &self.trace)
    }

    /// The proof that the processor makes, which all others have to equal.
    pub(crate) fn proven(&self, config: PcsConfig) -> Proven {
        let q = runtime::cpu().unwrap();
        Ok(self.prover(&q, config).unwrap().prove(&q, &self.trace).unwrap())
    }
}

/// Proves with `graph`, from the columns of a trace.
pub(crate) fn prove_replayed<Q: StarkOps + Record>(
    prover: &mut Prover<'_, Q>,
    q: &Q,
    graph: &mut ProofGraph<Q>,
    trace: &[TraceColumns],
) -> Proven {
    prover.prove_with(q, &TraceSource::columns(trace), ProveOptions::new().replayed(graph))
}

/// Proves with `graph`, from the source of the trace.
pub(crate) fn prove_from_replayed<Q: StarkOps + Record>(
    prover: &mut Prover<'_, Q>,
    q: &Q,
    graph: &mut ProofGraph<Q>,
    source: &Source,
) -> Proven {
    prover.prove_with(q, &TraceSource::witness(source)?, ProveOptions::new().replayed(graph))
}
