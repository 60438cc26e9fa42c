//! Proofs of the grid: Trefoil's backend reproduces the digests of stwo's own prover.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod common;

use std::fs;

use common::{Choices, prove_rows};
use sha2::{Digest as _, Sha256};
use stwo::core::pcs::PcsConfig;
use stwo_vectors::{fingerprint::Fingerprint, witness::trace::rows};

#[test]
fn proofs_of_the_grid_have_the_digests_of_stwo() {
    let grid = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../data/stark/grid.json")).unwrap();
    let lines: Vec<Fingerprint<PcsConfig>> = serde_json::from_str(&grid).unwrap();
    assert!(lines.len() > 400, "{} proofs", lines.len());
    for Fingerprint { statement, config, seed, bytes, sha256 } in lines {
        let (proof, _) = prove_rows(&statement, config, &rows(&statement, seed), Choices::default());
        let binary = postcard::to_allocvec(&proof.unwrap()).unwrap();
        let digest: String = Sha256::digest(&binary).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!((binary.len(), digest), (bytes, sha256), "{statement:?} with {config:?}");
    }
}
