//! Proofs by stwo's prover.

use std::panic::catch_unwind;

use stwo::core::{
    channel::{Blake2sChannel, Channel},
    fields::{m31::BaseField, qm31::SecureField},
    pcs::PcsConfig,
    poly::circle::CanonicCoset,
    proof::StarkProof,
    vcs_lifted::blake2_merkle::{Blake2sMerkleChannel, Blake2sMerkleHasher},
};
use stwo::prover::{
    CommitmentSchemeProver, ComponentProver, ProvingError,
    backend::{BackendForChannel, simd::SimdBackend},
    poly::{
        BitReversedOrder,
        circle::{CircleEvaluation, PolyOps},
        twiddles::TwiddleTree,
    },
    prove,
};
use stwo_constraint_framework::FrameworkComponent;

use crate::{
    components::{RelationElements, VectorEval, components, public_sum},
    statement::Statement,
    verify::verify_statement,
    witness::interaction::interaction,
    witness::trace::{columns, rows},
};

/// Columns on a backend.
pub type ColumnEvaluations<B> = Vec<CircleEvaluation<B, BaseField, BitReversedOrder>>;

/// The commitments of a proof.
pub type Scheme<'a, B> = CommitmentSchemeProver<'a, B, Blake2sMerkleChannel>;

/// The log of the largest domain in a proof.
pub fn log_domain(statement: &Statement, config: PcsConfig) -> u32 {
    let preprocessed = statement.preprocessed().into_iter().map(|(_, log_rows)| log_rows);
    let heights = statement.heights().into_iter().chain(preprocessed);
    (heights.max().unwrap() + 2 + config.fri_config.log_blowup_factor).max(config.lifting_log_size.unwrap_or(0))
}

/// Twiddles for domains up to one of `2^log_domain` points.
pub fn twiddles<B: PolyOps>(log_domain: u32) -> TwiddleTree<B> {
    B::precompute_twiddles(CanonicCoset::new(log_domain).circle_domain().half_coset)
}

/// Commits to columns.
pub fn commit<B>(scheme: &mut Scheme<'_, B>, columns: ColumnEvaluations<B>, channel: &mut Blake2sChannel)
where
    B: BackendForChannel<Blake2sMerkleChannel>,
{
    let mut tree = scheme.tree_builder();
    tree.extend_evals(columns);
    tree.commit(channel);
}

/// The proof of a statement, and the claimed sums of its components.
///
/// `commit_trace` commits to the trace. `look_ups` makes the interaction columns and the sums, none
/// where there are no look-ups.
pub fn prove_in<'a, B>(
    statement: &Statement,
    mut scheme: Scheme<'a, B>,
    preprocessed: ColumnEvaluations<B>,
    commit_trace: impl FnOnce(&mut Scheme<'a, B>, &mut Blake2sChannel),
    look_ups: impl FnOnce(&RelationElements) -> (ColumnEvaluations<B>, Vec<SecureField>),
) -> (Result<StarkProof<Blake2sMerkleHasher>, ProvingError>, Vec<SecureField>)
where
    B: BackendForChannel<Blake2sMerkleChannel>,
    FrameworkComponent<VectorEval>: ComponentProver<B>,
{
    let channel = &mut Blake2sChannel::default();
    scheme.config.mix_into(channel);
    commit(&mut scheme, preprocessed, channel);
    channel.mix_u32s(&statement.words());
    commit_trace(&mut scheme, channel);
    let elements = RelationElements::draw(statement, channel);
    let (columns, sums) = look_ups(&elements);
    if let Some(expected) = public_sum(statement, &elements) {
        assert_eq!(sums.iter().copied().sum::<SecureField>(), expected);
    }
    if !columns.is_empty() {
        // The claimed sums enter the transcript before the columns.
        channel.mix_felts(&sums);
        commit(&mut scheme, columns, channel);
    }
    let components = components(statement, &elements, &sums);
    let components: Vec<_> = components.iter().map(|component| component as &dyn ComponentProver<B>).collect();
    (prove(&components, channel, scheme), sums)
}

/// The proof of a statement by stwo's SIMD prover, and the claimed sums of its components.
pub fn prove_statement(
    statement: &Statement,
    config: PcsConfig,
    seed: u64,
) -> (StarkProof<Blake2sMerkleHasher>, Vec<SecureField>) {
    let rows = rows(statement, seed);
    let twiddles = twiddles(log_domain(statement, config));
    let mut scheme = Scheme::<SimdBackend>::new(config, &twiddles);
    // With few committed points the constraints are evaluated from coefficients; the proofs are the same either way.
    scheme.set_store_polynomials_coefficients();
    let (proof, sums) = prove_in(
        statement,
        scheme,
        columns(&rows.preprocessed),
        |scheme, channel| commit(scheme, columns(rows.trace.iter().flatten()), channel),
        |elements| interaction(statement, elements, &rows),
    );
    (proof.expect("the trace satisfies the constraints"), sums)
}

/// Returns the first proof that stwo's verifier accepts, or that it rejects.
///
/// `wanted` selects acceptance. It comes with the seed of its trace. The verifier rejects some
/// proofs of stwo's prover, or panics: if the tree of preprocessed columns is lower than the
/// others, queries may meet in it out of order, which neither prover nor verifier expects.
pub fn first(
    statement: &Statement,
    config: PcsConfig,
    seed: u64,
    wanted: bool,
) -> (u64, StarkProof<Blake2sMerkleHasher>, Vec<SecureField>) {
    for seed in (seed..).step_by(1000).take(1000) {
        let (proof, sums) = prove_statement(statement, config, seed);
        let verdict = catch_unwind(|| verify_statement(statement, config, &sums, proof.clone()));
        if matches!(verdict, Ok(Ok(()))) == wanted {
            return (seed, proof, sums);
        }
    }
    panic!("no such proof of {statement:?} with {config:?}");
}
