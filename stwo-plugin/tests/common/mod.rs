//! Proofs of the statements of the vectors by stwo's unmodified prover, on its SIMD backend and on Trefoil's.

#![allow(dead_code, reason = "each program of tests uses a part")]

use stwo::{
    core::{
        channel::Blake2sChannel,
        fields::qm31::SecureField,
        pcs::PcsConfig,
        proof::StarkProof,
        utils::MaybeOwned,
        vcs_lifted::blake2_merkle::{Blake2sMerkleChannel, Blake2sMerkleHasher},
    },
    prover::{CommitmentTreeProver, ProvingError, mempool::BaseColumnPool},
};
use stwo_vectors::{
    prove::{Scheme, commit, log_domain, prove_in, prove_statement, twiddles},
    statement::Statement,
    witness::{
        interaction::interaction,
        rows::Rows,
        trace::{columns, rows},
    },
};
use trefoil_stwo::TrefoilBackend;

pub(crate) type Proof = StarkProof<Blake2sMerkleHasher>;

/// How a proof is made where that is left to the caller; no choice changes its bytes.
#[derive(Clone, Copy, Default)]
pub(crate) struct Choices<'a> {
    /// Whether stwo is told to keep coefficients.
    pub(crate) keeps_coefficients: bool,
    /// Where stwo takes columns from, and gives them back to.
    pub(crate) pool: Option<&'a BaseColumnPool<TrefoilBackend>>,
    /// The tree of the trace, if it was made before.
    pub(crate) trace: Option<&'a Tree>,
}

pub(crate) type Tree = CommitmentTreeProver<TrefoilBackend, Blake2sMerkleChannel>;

/// The proof of these rows on Trefoil's backend, and the claimed sums.
pub(crate) fn prove_rows(
    statement: &Statement,
    config: PcsConfig,
    rows: &Rows,
    choices: Choices<'_>,
) -> (Result<Proof, ProvingError>, Vec<SecureField>) {
    let twiddles = twiddles(log_domain(statement, config));
    let mut scheme = match choices.pool {
        Some(pool) => Scheme::with_memory_pool(config, &twiddles, pool),
        None => Scheme::new(config, &twiddles),
    };
    if choices.keeps_coefficients {
        scheme.set_store_polynomials_coefficients();
    }
    prove_in(
        statement,
        scheme,
        TrefoilBackend::columns(columns(&rows.preprocessed)),
        |scheme, channel| match choices.trace {
            Some(tree) => scheme.commit_tree(MaybeOwned::Borrowed(tree), channel),
            None => commit_trace(scheme, rows, channel),
        },
        |elements| {
            let (columns, sums) = interaction(statement, elements, rows);
            (TrefoilBackend::columns(columns), sums)
        },
    )
}

fn commit_trace(scheme: &mut Scheme<'_, TrefoilBackend>, rows: &Rows, channel: &mut Blake2sChannel) {
    commit(scheme, TrefoilBackend::columns(columns(rows.trace.iter().flatten())), channel);
}

/// The tree of the trace of a statement, for several proofs.
pub(crate) fn trace_tree(config: PcsConfig, log_domain: u32, rows: &Rows) -> Tree {
    let twiddles = twiddles(log_domain);
    let mut scheme = Scheme::new(config, &twiddles);
    commit_trace(&mut scheme, rows, &mut Blake2sChannel::default());
    match scheme.trees.0.pop() {
        Some(MaybeOwned::Owned(tree)) => tree,
        _ => panic!("the tree that was committed to is the scheme's own"),
    }
}

/// Expects the same bytes of a proof from both backends.
pub(crate) fn check(statement: &Statement, config: PcsConfig, seed: u64) {
    check_with(statement, config, seed, Choices { keeps_coefficients: seed.is_multiple_of(2), ..Choices::default() });
}

/// Expects the same bytes of a proof from both backends, where Trefoil's has these choices.
pub(crate) fn check_with(statement: &Statement, config: PcsConfig, seed: u64, choices: Choices<'_>) {
    let (expected, expected_sums) = prove_statement(statement, config, seed);
    let (proof, sums) = prove_rows(statement, config, &rows(statement, seed), choices);
    let proof = proof.expect("the trace satisfies the constraints");
    assert_eq!(sums, expected_sums);
    let bytes = |proof: &Proof| postcard::to_allocvec(proof).unwrap();
    assert!(bytes(&proof) == bytes(&expected), "{statement:?} with {config:?}: the proofs differ");
}

/// Wide Fibonacci, a component for each height.
pub(crate) fn fibonacci(log_rows: &[u32], columns: &[u32]) -> Statement {
    Statement::WideFibonacci { log_rows: log_rows.to_vec(), columns: columns.to_vec() }
}
