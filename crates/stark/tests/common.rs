//! Queues, parameters, words, the committed proofs, and proofs with a graph.

use std::{fs, path::PathBuf, sync::OnceLock};

use cuda_sim::driver::{self, Simulation};
use runtime::{AnyQueue, Choice, Domain, Settings};
use stark::{
    FriConfig, M31, PcsConfig, ProofGraph, ProveError, ProveOptions, Statement, StatementProof, StatementProver,
    TraceColumns, TraceSource, Witness,
};

use crate::statement;

/// A committed proof, with its statement and its parameters.
pub(crate) type Vector = statement::Vector<PcsConfig>;

/// The bytes of a file that stwo's prover made.
pub(crate) fn file(name: &str) -> Vec<u8> {
    fs::read(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../data/stark").join(name)).unwrap()
}

/// The list of the committed proofs.
pub(crate) fn vectors() -> Vec<Vector> {
    serde_json::from_slice(&file("vectors.json")).unwrap()
}

pub(crate) fn processor() -> AnyQueue {
    AnyQueue::Cpu(runtime::cpu().unwrap())
}

/// Takes the turn at the simulated driver, with a new machine.
pub(crate) fn simulate(machine: &str) -> Simulation {
    // `runtime` installs a separate machine at the first queue; a later machine replaces it.
    static INSTALLED: OnceLock<()> = OnceLock::new();
    let first = driver::simulate("").unwrap();
    INSTALLED.get_or_init(|| drop(simulated_queue(None)));
    drop(first);
    driver::simulate(machine).unwrap()
}

/// A machine of one device, and a queue on it.
pub(crate) fn simulated() -> (Simulation, AnyQueue) {
    (simulate(""), simulated_queue(None))
}

/// A queue on the machine whose turn it is.
pub(crate) fn simulated_queue(mem_limit_bytes: Option<u64>) -> AnyQueue {
    let settings = Settings { mem_limit_bytes, ..Settings::default() };
    runtime::open_with(&settings, Some(Domain::Stark), Some(Choice::Sim)).unwrap().0
}

/// The default parameters, and others with another fold step, blow-up and number of queries.
pub(crate) fn configs() -> [PcsConfig; 2] {
    let config = PcsConfig::default();
    let fri_config = FriConfig { fold_step: 3, log_blowup_factor: 2, n_queries: 30, ..config.fri_config };
    [config, PcsConfig { fri_config, ..config }]
}

pub(crate) fn words<const N: usize>(words: [u32; N]) -> [M31; N] {
    words.map(M31::from_u32)
}

/// Columns as slices.
pub(crate) fn slices(columns: &[Vec<M31>]) -> Vec<&[M31]> {
    columns.iter().map(|column| &column[..]).collect()
}

/// Proves with `graph`, from the columns of a trace.
pub(crate) fn prove_replayed<S: Statement>(
    prover: &mut StatementProver<'_, AnyQueue, S>,
    q: &AnyQueue,
    graph: &mut ProofGraph<AnyQueue>,
    trace: &[TraceColumns],
) -> Result<StatementProof, ProveError> {
    prover.prove_with(q, &TraceSource::columns(trace), ProveOptions::new().replayed(graph))
}

/// Proves with `graph`, from a witness.
pub(crate) fn prove_from_replayed<S: Statement, W: Witness>(
    prover: &mut StatementProver<'_, AnyQueue, S>,
    q: &AnyQueue,
    graph: &mut ProofGraph<AnyQueue>,
    witness: &W,
) -> Result<StatementProof, ProveError> {
    prover.prove_with(q, &TraceSource::witness(witness)?, ProveOptions::new().replayed(graph))
}
