//! Proofs of the statements of the vectors by stwo's unmodified prover, on its SIMD backend and on Trefoil's.

#![allow(dead_code, reason = "each program of tests uses a part")]

use stwo::{
    core::{
        channel::{Blake2sChannel, Channel as _},
        fields::qm31::SecureField,
        pcs::PcsConfig,
        poly::circle::CanonicCoset,
        proof::StarkProof,
        utils::MaybeOwned,
        vcs_lifted::blake2_merkle::{Blake2sMerkleChannel, Blake2sMerkleHasher},
    },
    prover::{
        CommitmentSchemeProver, CommitmentTreeProver, ComponentProver, ProvingError, mempool::BaseColumnPool,
        poly::circle::PolyOps as _, prove,
    },
};
use stwo_constraint_framework::{FrameworkComponent, FrameworkEval};
use stwo_vectors::{
    components::{Collect, Elements, components},
    prove::prove_statement,
    statement::Statement,
    witness::{
        interaction::{Interaction, interaction},
        rows::Rows,
        trace::{column, rows},
    },
};
use trefoil_stwo::TrefoilBackend;

pub(crate) type Proof = StarkProof<Blake2sMerkleHasher>;

struct Provers(Vec<Box<dyn ComponentProver<TrefoilBackend>>>);

impl Collect for Provers {
    fn collect<E: FrameworkEval + Sync + 'static>(&mut self, component: FrameworkComponent<E>) {
        self.0.push(Box::new(component));
    }
}

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
    let blowup = config.fri_config.log_blowup_factor;
    let heights = statement.preprocessed().into_iter().map(|(_, log_rows)| log_rows).chain(statement.heights());
    let largest = (heights.max().unwrap() + 2 + blowup).max(config.lifting_log_size.unwrap_or(0));
    let twiddles = TrefoilBackend::precompute_twiddles(CanonicCoset::new(largest).circle_domain().half_coset);

    let channel = &mut Blake2sChannel::default();
    config.mix_into(channel);
    let mut scheme: CommitmentSchemeProver<'_, TrefoilBackend, Blake2sMerkleChannel> = match choices.pool {
        Some(pool) => CommitmentSchemeProver::with_memory_pool(config, &twiddles, pool),
        None => CommitmentSchemeProver::new(config, &twiddles),
    };
    if choices.keeps_coefficients {
        scheme.set_store_polynomials_coefficients();
    }

    let mut tree = scheme.tree_builder();
    tree.extend_evals(TrefoilBackend::columns(rows.preprocessed.iter().cloned().map(column).collect()));
    tree.commit(channel);
    channel.mix_u32s(&statement.words());

    match choices.trace {
        Some(tree) => scheme.commit_tree(MaybeOwned::Borrowed(tree), channel),
        None => commit_trace(&mut scheme, rows, channel),
    }

    let elements = Elements::draw(statement, channel);
    let Interaction { columns, sums } = interaction(statement, &elements, rows);
    if !columns.is_empty() {
        channel.mix_felts(&sums);
        let mut tree = scheme.tree_builder();
        tree.extend_evals(TrefoilBackend::columns(columns));
        tree.commit(channel);
    }
    let mut provers = Provers(Vec::new());
    components(statement, &elements, &sums, &mut provers);
    let provers: Vec<&dyn ComponentProver<TrefoilBackend>> = provers.0.iter().map(|prover| &**prover).collect();
    (prove(&provers, channel, scheme), sums)
}

fn commit_trace(
    scheme: &mut CommitmentSchemeProver<'_, TrefoilBackend, Blake2sMerkleChannel>,
    rows: &Rows,
    channel: &mut Blake2sChannel,
) {
    let mut tree = scheme.tree_builder();
    tree.extend_evals(TrefoilBackend::columns(rows.trace.iter().flatten().cloned().map(column).collect()));
    tree.commit(channel);
}

/// The tree of the trace of a statement, for several proofs.
pub(crate) fn trace_tree(config: PcsConfig, log_domain: u32, rows: &Rows) -> Tree {
    let twiddles = TrefoilBackend::precompute_twiddles(CanonicCoset::new(log_domain).circle_domain().half_coset);
    let mut scheme = CommitmentSchemeProver::new(config, &twiddles);
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
