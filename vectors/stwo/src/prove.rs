//! Proofs by stwo's SIMD prover.

use std::panic::catch_unwind;

use stwo::core::{
    channel::{Blake2sChannel, Channel},
    fields::qm31::SecureField,
    pcs::PcsConfig,
    poly::circle::CanonicCoset,
    proof::StarkProof,
    vcs_lifted::blake2_merkle::{Blake2sMerkleChannel, Blake2sMerkleHasher},
};
use stwo::prover::{CommitmentSchemeProver, ComponentProver, backend::simd::SimdBackend, poly::circle::PolyOps, prove};
use stwo_constraint_framework::{FrameworkComponent, FrameworkEval};

use crate::{
    components::{Collect, Elements, components, public_sum},
    statement::Statement,
    verify::verify_statement,
    witness::interaction::{Interaction, interaction},
    witness::trace::{column, rows},
};

struct Provers(Vec<Box<dyn ComponentProver<SimdBackend>>>);

impl Collect for Provers {
    fn collect<E: FrameworkEval + Sync + 'static>(&mut self, component: FrameworkComponent<E>) {
        self.0.push(Box::new(component));
    }
}

/// The proof of a statement, and the claimed sums of its components.
pub fn prove_statement(
    statement: &Statement,
    config: PcsConfig,
    seed: u64,
) -> (StarkProof<Blake2sMerkleHasher>, Vec<SecureField>) {
    let rows = rows(statement, seed);
    let blowup = config.fri_config.log_blowup_factor;
    let preprocessed_heights = statement.preprocessed().into_iter().map(|(_, log_rows)| log_rows);
    let heights = statement.heights().into_iter().chain(preprocessed_heights);
    let largest = (heights.max().unwrap() + 2 + blowup).max(config.lifting_log_size.unwrap_or(0));
    let twiddles = SimdBackend::precompute_twiddles(CanonicCoset::new(largest).circle_domain().half_coset);

    let channel = &mut Blake2sChannel::default();
    config.mix_into(channel);
    let mut scheme = CommitmentSchemeProver::<SimdBackend, Blake2sMerkleChannel>::new(config, &twiddles);

    // With few committed points the constraints are evaluated from coefficients; the proofs are the same either way.
    scheme.set_store_polynomials_coefficients();

    let mut tree = scheme.tree_builder();
    tree.extend_evals(rows.preprocessed.iter().cloned().map(column).collect());
    tree.commit(channel);
    channel.mix_u32s(&statement.words());

    let mut tree = scheme.tree_builder();
    tree.extend_evals(rows.trace.iter().flatten().cloned().map(column).collect());
    tree.commit(channel);

    let elements = Elements::draw(statement, channel);
    let Interaction { columns, sums } = interaction(statement, &elements, &rows);
    if let Some(expected) = public_sum(statement, &elements) {
        assert_eq!(sums.iter().copied().sum::<SecureField>(), expected);
    }
    if !columns.is_empty() {
        // The claimed sums enter the transcript before the columns.
        channel.mix_felts(&sums);
        let mut tree = scheme.tree_builder();
        tree.extend_evals(columns);
        tree.commit(channel);
    }
    let mut provers = Provers(Vec::new());
    components(statement, &elements, &sums, &mut provers);
    let provers: Vec<&dyn ComponentProver<SimdBackend>> = provers.0.iter().map(|prover| &**prover).collect();
    (prove(&provers, channel, scheme).expect("the trace satisfies the constraints"), sums)
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
