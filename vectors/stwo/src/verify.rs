//! Checks a proof by stwo's verifier.
//!
//! Needs no prover: the tests of the verifier include this file too.

use stwo::core::{
    air::Component,
    channel::{Blake2sChannel, Channel},
    fields::qm31::SecureField,
    pcs::{CommitmentSchemeVerifier, PcsConfig},
    proof::StarkProof,
    vcs_lifted::blake2_merkle::{Blake2sMerkleChannel, Blake2sMerkleHasher},
    verifier::{VerificationError, verify},
};

use super::{
    components::{RelationElements, components},
    statement::Statement,
};

/// stwo's verdict on a proof of `statement`.
///
/// It panics on many proofs that it does not accept.
pub fn verify_statement(
    statement: &Statement,
    config: PcsConfig,
    sums: &[SecureField],
    proof: StarkProof<Blake2sMerkleHasher>,
) -> Result<(), VerificationError> {
    // Columns of each tree, which do not depend on challenges.
    let columns: [Vec<u32>; 3] = {
        let mut columns = [statement.preprocessed().iter().map(|(_, log_rows)| *log_rows).collect(), vec![], vec![]];
        for component in &components(statement, &RelationElements::dummy(statement), sums) {
            for (tree, sizes) in component.trace_log_degree_bounds().iter().enumerate().skip(1) {
                columns[tree].extend(sizes);
            }
        }
        columns
    };
    let channel = &mut Blake2sChannel::default();
    config.mix_into(channel);
    let scheme = &mut CommitmentSchemeVerifier::<Blake2sMerkleChannel>::new(config);
    scheme.commit(proof.commitments[0], &columns[0], channel);
    channel.mix_u32s(&statement.words());
    scheme.commit(proof.commitments[1], &columns[1], channel);
    let elements = RelationElements::draw(statement, channel);
    if !columns[2].is_empty() {
        channel.mix_felts(sums);
        scheme.commit(proof.commitments[2], &columns[2], channel);
    }
    let components = components(statement, &elements, sums);
    let components: Vec<_> = components.iter().map(|component| component as &dyn Component).collect();
    verify(&components, channel, scheme, proof)
}
