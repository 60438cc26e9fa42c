//! The committed proofs with their statements, for this verifier and for stwo's.

pub(crate) mod airs;
pub(crate) mod check;
pub(crate) mod committed;
pub(crate) mod random_point;
pub(crate) mod stated;
pub(crate) mod stwo_side;
pub(crate) mod tampers;

use std::{panic, sync::Once};

use self::{committed::file, stwo_side::statement::VectorLine};
use stark_verifier::{PcsConfig, Proof};
use stwo::core::{fields::qm31::QM31 as StwoQm31, proof::StarkProof, vcs_lifted::blake2_merkle::Blake2sMerkleHasher};

/// A committed proof and its statement.
pub(crate) type Vector = VectorLine<PcsConfig>;

/// All vectors.
pub(crate) fn vectors() -> Vec<Vector> {
    committed::vectors()
}

/// The vector with this name.
pub(crate) fn vector(name: &str) -> Vector {
    vectors().into_iter().find(|vector| vector.name == name).unwrap()
}

/// The proof of a vector.
pub(crate) fn proof(vector: &Vector) -> Proof {
    postcard::from_bytes(&file(&format!("{}.bin", vector.name))).unwrap()
}

/// The verdict of stwo's verifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StwoVerdict {
    Accepted,
    Refused,
    Panicked,
}

/// Runs stwo's verifier on a proof.
pub(crate) fn stwo_verdict(vector: &Vector, changed: &Proof) -> StwoVerdict {
    // With samples missing, the framework panics between the look-ups of a row, and again as it drops them: that ends the process.
    let samples = |proof: &Proof| -> Vec<Vec<usize>> {
        proof.sampled_values.iter().map(|tree| tree.iter().map(Vec::len).collect()).collect()
    };
    if !vector.claimed_sums.is_empty() && samples(changed) != samples(&proof(vector)) {
        return StwoVerdict::Panicked;
    }
    // Panics are a verdict here, not a message.
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let report = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let ours = info.location().is_some_and(|at| at.file().contains("stark-verifier"));
            if ours {
                report(info);
            }
        }));
    });
    let sums: Vec<_> =
        vector.claimed_sums.iter().map(|&[a, b, c, d]| StwoQm31::from_u32_unchecked(a, b, c, d)).collect();
    // stwo does not look at the parameters in a proof; its callers hand them on.
    let config = serde_json::to_string(&changed.config).unwrap();
    let verdict = panic::catch_unwind(|| {
        let proof: StarkProof<Blake2sMerkleHasher> =
            postcard::from_bytes(&postcard::to_allocvec(changed).unwrap()).unwrap();
        let config = serde_json::from_str(&config).unwrap();
        stwo_side::verify::verify_statement(&vector.statement, config, &sums, proof).is_ok()
    });
    match verdict {
        Ok(true) => StwoVerdict::Accepted,
        Ok(false) => StwoVerdict::Refused,
        Err(_) => StwoVerdict::Panicked,
    }
}
