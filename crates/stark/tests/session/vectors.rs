//! Proofs are byte-identical to stwo's.

use std::collections::BTreeSet;

use stark::{Proof, ProverError, Residency, StarkOps};

use crate::{
    committed::{self, file},
    common::{Vector, assert_are, simulated},
    session::prove::prove,
    statement::Statement,
};

/// The vectors whose AIRs are test AIRs of the verifier, each with its index in the list.
///
/// The AIRs of the other vectors ship: `statements.rs` proves them.
fn vectors() -> Vec<(u64, Vector)> {
    let own = |(_, vector): &(u64, Vector)| {
        !matches!(
            vector.statement,
            Statement::Steps { .. } | Statement::Plonk { .. } | Statement::Poseidon2 { .. } | Statement::Blake2s { .. }
        )
    };
    let own: Vec<_> = (0..).zip(committed::vectors()).filter(own).collect();
    assert_eq!(own.len(), 121);
    own
}

/// Proves a vector's statement, from the traces that its program tries one after the other.
///
/// Returns whether the statement can be cut into these blocks.
fn check<Q: StarkOps>(q: &Q, seed: u64, vector: &Vector, residency: Residency) -> bool {
    let expected = file(&format!("{}.bin", vector.name));
    let theirs: Proof = postcard::from_bytes(&expected).unwrap();
    for attempt in 0..1000 {
        let made = prove(q, &vector.statement, vector.config, residency, seed + 1000 * attempt);
        if matches!(made, Err(ProverError::Blocks { .. })) {
            return false;
        }
        let (ours, sums) = made.unwrap();
        if ours.commitments[1] != theirs.commitments[1] && attempt < 999 {
            continue;
        }
        assert_are(vector, &sums, &ours);
        return true;
    }
    false
}

/// Returns the blocks of a vector: `times` the minimum.
fn blocks(vector: &Vector, times: u32) -> Residency {
    Residency::Blocks(times << vector.config.fri_config.log_blowup_factor)
}

#[test]
fn proofs_are_those_of_stwo() {
    let q = runtime::cpu().unwrap();
    for (seed, vector) in &vectors() {
        for residency in [Residency::Full, Residency::Truncated] {
            assert!(check(&q, *seed, vector, residency), "{}", vector.name);
        }
    }
}

#[test]
fn proofs_in_blocks_are_those_of_stwo() {
    let q = runtime::cpu().unwrap();
    let mut made = 0;
    for (seed, vector) in &vectors() {
        assert!(check(&q, *seed, vector, blocks(vector, 1)), "{}", vector.name);
        let Residency::Blocks(twice) = blocks(vector, 2) else { continue };
        let residencies = [Residency::Host(twice), blocks(vector, 8)];
        made += residencies.into_iter().filter(|&residency| check(&q, *seed, vector, residency)).count();
    }
    assert!(made >= 150, "{made}");
}

#[test]
fn proofs_on_the_simulated_device_are_those_of_stwo() {
    let (_machine, q) = simulated();
    let small = |vector: &Vector| vector.statement.heights().into_iter().max() <= Some(5) || vector.name == "heights-0";
    let small: Vec<_> =
        vectors().into_iter().filter(|(_, vector)| small(vector) && vector.config.pow_bits <= 5).collect();
    let kinds: BTreeSet<&str> =
        small.iter().map(|(_, vector)| vector.name.trim_end_matches(|end: char| end.is_ascii_digit())).collect();
    assert_eq!(kinds.len(), 8, "of every kind: {kinds:?}");
    for (seed, vector) in &small {
        for residency in [Residency::Full, Residency::Truncated, blocks(vector, 1)] {
            assert!(check(&q, *seed, vector, residency), "{}", vector.name);
        }
    }
}
