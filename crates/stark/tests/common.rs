//! Queues with little memory, faults, parameters, words, and the committed proofs.

use std::collections::BTreeMap;

use backend_api::BackendError;
use cuda_sim::driver::{Rule, Simulation};
use runtime::{AnyQueue, Choice, Settings};
use stark::{CollectiveError, FriConfig, M31, PcsConfig, Proof, ProveError, ProverError, QM31, StatementProof};

pub(crate) use crate::queues::{on_queues, open_with, processor, simulate, simulated};
use crate::{committed::file, statement};

/// A committed proof, with its statement and its parameters.
pub(crate) type Vector = statement::VectorLine<PcsConfig>;

/// A proof of a statement, or why there is none.
pub(crate) type Proven = Result<StatementProof, ProveError>;

/// Asserts that the claimed sums and the bytes of a proof equal stwo's.
pub(crate) fn assert_are(vector: &Vector, sums: &[QM31], proof: &Proof) {
    let sums: Vec<[u32; 4]> = sums.iter().map(|sum| sum.coordinates().map(M31::word)).collect();
    assert_eq!(sums, vector.claimed_sums, "{}", vector.name);
    let expected = file(&format!("{}.bin", vector.name));
    let theirs: Proof = postcard::from_bytes(&expected).unwrap();
    // The first difference is a shorter message than all bytes.
    assert_eq!(proof.commitments, theirs.commitments, "{}", vector.name);
    assert_eq!(postcard::to_allocvec(proof).unwrap(), expected, "{}", vector.name);
}

/// Opens a queue whose memory may be limited.
pub(crate) fn open(choice: Choice, mem_limit_bytes: Option<u64>) -> AnyQueue {
    open_with(choice, &Settings { mem_limit_bytes, ..Settings::default() })
}

/// Puts faults into the simulated driver.
pub(crate) fn inject<'r>(session: &Simulation, rules: impl IntoIterator<Item = &'r str>) {
    rules.into_iter().for_each(|rule| session.inject(rule.parse::<Rule>().unwrap()));
}

/// The result of `run`, and the number of its calls of each function of the driver.
pub(crate) fn calls_of<V>(session: &Simulation, run: impl FnOnce() -> V) -> (V, BTreeMap<&'static str, u64>) {
    let before = session.counters().calls;
    let made = run();
    let calls = session.counters().calls.into_iter();
    let calls = calls.map(|(call, count)| (call, count - before.get(call).copied().unwrap_or(0)));
    (made, calls.filter(|(call, count)| *count > 0 && !call.starts_with("cuGetError")).collect())
}

/// The error of the device, if it is one.
pub(crate) const fn device_error(error: &ProveError) -> Option<&BackendError> {
    match error {
        ProveError::Prover(ProverError::Backend(error) | ProverError::Collective(CollectiveError::Backend(error))) => {
            Some(error)
        }
        _ => None,
    }
}

/// Whether a device answered a call with `code`.
pub(crate) fn is_refusal(error: &ProveError, code: i32) -> bool {
    match device_error(error) {
        Some(BackendError::DeviceLost { .. }) => code == 700,
        Some(BackendError::OutOfMemory { .. }) => code == 2,
        Some(BackendError::Driver { code: reported, .. }) => *reported == code,
        // Modules are loaded when they are needed.
        Some(BackendError::Kernel { reason, .. }) => reason.contains(&format!("({code})")),
        _ => false,
    }
}

/// Whether a device is lost.
pub(crate) const fn is_loss(error: &ProveError) -> bool {
    matches!(device_error(error), Some(BackendError::DeviceLost { .. }))
}

/// The refusal of `need_bytes` where one byte less is free.
pub(crate) const fn refused_by_one_byte(need_bytes: u64, limit_bytes: u64) -> ProveError {
    let free_bytes = need_bytes - 1;
    ProveError::Prover(ProverError::Backend(BackendError::BudgetExceeded { need_bytes, free_bytes, limit_bytes }))
}

/// The default parameters with 2 bits of proof of work, for tests that make many proofs.
///
/// The default of 10 is slow on the simulated device.
pub(crate) fn little_work() -> PcsConfig {
    PcsConfig { pow_bits: 2, ..PcsConfig::default() }
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
