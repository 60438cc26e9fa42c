//! Changed proofs are refused, by this verifier with an error and by stwo's with an error or a panic.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::{
    Verdict, airs,
    check::{check, with_verifier},
    proof, stwo_verdict, tampers, vector, vectors,
};
use core_types::{
    air::{Air, Row, Tree},
    field::{P, QM31},
};
use stark_verifier::{
    Component, ConfigError, FriError, MerkleError, Part, PcsConfig, Preprocessed, Proof, Protocol, StatementError,
    VerificationError, Verifier,
};
use stwo::core::{proof::StarkProof, vcs_lifted::blake2_merkle::Blake2sMerkleHasher};

/// One of each kind, with few columns.
const TAMPERED: &[&str] = &[
    "wide-fibonacci-0",
    "wide-fibonacci-12",
    "heights-2",
    "neighbours-2",
    "selected-5",
    "xor-1",
    "steps-1",
    "plonk-1",
];

/// Vectors with too many columns to test every change, and the step between tested changes.
const TAMPERED_IN_PARTS: &[(&str, usize)] = &[("poseidon2-0", 7), ("blake2s-0", 197)];

/// Changes that stwo's verifier does not notice: it takes the first roots and the last, and does not look at what opens a tree
/// without columns.
const UNNOTICED: &[&str] = &["commitments with the last twice", "tree 0, witness extended"];

#[test]
fn changed_proofs_are_refused() {
    let (mut count, mut verdicts, mut unnoticed) = (0, BTreeMap::new(), BTreeSet::new());
    let mut refused_by_both = BTreeSet::new();
    let whole = TAMPERED.iter().map(|name| (name, 1));
    for (name, step) in whole.chain(TAMPERED_IN_PARTS.iter().map(|(name, step)| (name, *step))) {
        let vector = vector(name);
        for (place, proof) in tampers::every(step, &proof(&vector)) {
            assert!(check(&vector, &proof).is_err(), "{name}: {place}");
            let verdict = stwo_verdict(&vector, &proof);
            if verdict == Verdict::Accepted {
                unnoticed.insert(place);
            } else {
                refused_by_both.insert((name.to_string(), postcard::to_allocvec(&proof).unwrap()));
            }
            *verdicts.entry(format!("{verdict:?}")).or_insert(0) += 1;
            count += 1;
        }
    }
    println!("{count} changes; stwo: {verdicts:?}");
    assert!(count >= 1000, "{count} changes");
    assert!(refused_by_both.len() >= 1000, "{} different proofs", refused_by_both.len());
    assert_eq!(unnoticed.iter().map(String::as_str).collect::<Vec<_>>(), UNNOTICED);
}

#[test]
fn flipped_bytes_are_refused() {
    let mut rng = fastrand::Rng::with_seed(1);
    for name in ["wide-fibonacci-0", "selected-5", "xor-0"] {
        let vector = vector(name);
        let whole = proof(&vector);
        let bytes = postcard::to_allocvec(&whole).unwrap();
        for round in 0..3000 {
            let mut changed = bytes.clone();
            for _ in 0..=round % 3 {
                let at = rng.usize(..changed.len());
                changed[at] ^= 1 << rng.u32(..8);
            }
            // Some bytes are another spelling of the same number.
            let Ok(read) = postcard::from_bytes::<Proof>(&changed) else { continue };
            assert!(read == whole || check(&vector, &read).is_err(), "{name}, round {round}");
        }
        for len in (0..bytes.len()).step_by(7) {
            assert!(postcard::from_bytes::<Proof>(&bytes[..len]).is_err(), "{name} cut to {len} bytes");
        }
    }
}

#[test]
fn words_that_are_not_canonical_are_refused() {
    let json = serde_json::to_string(&proof(&vector("wide-fibonacci-0"))).unwrap();
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert!(serde_json::from_value::<Proof>(value.clone()).is_ok());
    for word in [P, P + 1, u32::MAX] {
        for pointer in [
            "/sampled_values/1/0/0/0/0",
            "/sampled_values/2/7/0/1/1",
            "/queried_values/1/0/0",
            "/fri_proof/first_layer/fri_witness/0/0/1",
            "/fri_proof/last_layer_poly/coeffs/0/1/0",
        ] {
            let mut value = value.clone();
            *value.pointer_mut(pointer).unwrap() = word.into();
            let error = serde_json::from_value::<Proof>(value).unwrap_err();
            assert!(error.to_string().contains("not canonical"), "{pointer}: {error}");
        }
    }
}

/// Every object within a value, by its pointer.
fn objects(value: &serde_json::Value, at: String, found: &mut Vec<String>) {
    match value {
        serde_json::Value::Object(fields) => {
            fields.iter().for_each(|(name, field)| objects(field, format!("{at}/{name}"), found));
            found.push(at);
        }
        serde_json::Value::Array(list) => {
            (0..).zip(list).for_each(|(k, item): (usize, _)| objects(item, format!("{at}/{k}"), found));
        }
        _ => {}
    }
}

#[test]
fn fields_that_stwo_does_not_write_are_refused() {
    let whole = serde_json::to_value(proof(&vector("wide-fibonacci-0"))).unwrap();
    let mut found = Vec::new();
    objects(&whole, String::new(), &mut found);
    assert!(found.len() >= 10, "{found:?}");
    for at in found {
        let mut changed = whole.clone();
        changed.pointer_mut(&at).unwrap().as_object_mut().unwrap().insert("surplus".to_owned(), 0.into());
        let error = serde_json::from_value::<Proof>(changed.clone()).unwrap_err();
        assert!(error.to_string().contains("unknown field `surplus`"), "{at}: {error}");
        // stwo's reader skips it.
        assert!(serde_json::from_value::<StarkProof<Blake2sMerkleHasher>>(changed).is_ok(), "{at}");
    }
}

#[test]
fn claimed_lengths_allocate_nothing() {
    // a list that claims 2^40 elements and has none
    let claim = [0x80, 0x80, 0x80, 0x80, 0x80, 0x20];
    let bytes = postcard::to_allocvec(&proof(&vector("wide-fibonacci-0"))).unwrap();
    for at in 0..bytes.len().min(400) {
        let hostile = [&bytes[..at], &claim].concat();
        assert!(postcard::from_bytes::<Proof>(&hostile).is_err(), "claimed at byte {at}");
    }
    // folds and last layers of sizes that are only claimed
    for (name, fold_step, log_last) in [("heights-3", 10, 0), ("heights-3", 4, 6)] {
        let vector = vector(name);
        let mut proof = proof(&vector);
        let mut config = vector.config;
        (config.fri_config.fold_step, config.fri_config.log_last_layer_degree_bound) = (fold_step, log_last);
        proof.config = config;
        with_verifier(&vector, config, |verifier| {
            assert!(crate::common::check::check_with(&vector, &verifier.unwrap(), &proof).is_err());
        });
    }
}

/// Returns the error that a change leads to.
fn refusal(name: &str, change: impl FnOnce(&mut Proof)) -> VerificationError {
    let vector = vector(name);
    let mut proof = proof(&vector);
    change(&mut proof);
    check(&vector, &proof).expect_err("a changed proof")
}

#[test]
fn errors_name_the_check() {
    let fibonacci = "wide-fibonacci-0";
    let error = refusal(fibonacci, |proof| proof.config.pow_bits = 0);
    assert_eq!(error, VerificationError::Config);
    let error = refusal(fibonacci, |proof| proof.commitments.truncate(2));
    assert_eq!(error, VerificationError::Length { part: Part::Commitments, expected: 3, got: 2 });
    let error = refusal(fibonacci, |proof| proof.sampled_values[1][2].clear());
    let part = Part::SampledValues { tree: 1, column: 2 };
    assert_eq!(error, VerificationError::Length { part, expected: 1, got: 0 });
    let error = refusal(fibonacci, |proof| proof.commitments[0].0[0] ^= 1);
    assert!(matches!(error, VerificationError::Root { tree: 0, .. }));
    let error = refusal(fibonacci, |proof| proof.sampled_values[1][0][0] += QM31::ONE);
    assert_eq!(error, VerificationError::Constraints);
    let error = refusal(fibonacci, |proof| proof.fri_proof.inner_layers.truncate(1));
    assert_eq!(error, VerificationError::Fri(FriError::Layers { expected: 3, got: 1 }));
    let error = refusal(fibonacci, |proof| proof.fri_proof.last_layer_poly.log_size = 64);
    assert_eq!(error, VerificationError::Fri(FriError::LastLayerLength { bound: 1, got: 1 }));
    let error = refusal(fibonacci, |proof| proof.proof_of_work ^= 1 << 40);
    assert_eq!(error, VerificationError::ProofOfWork);
    let error = refusal(fibonacci, |proof| proof.queried_values[2][5].truncate(1));
    let part = Part::QueriedValues { tree: 2, column: 5 };
    assert!(matches!(error, VerificationError::Length { part: found, .. } if found == part), "{error}");
    let error = refusal(fibonacci, |proof| proof.queried_values[1][0].reverse());
    assert_eq!(error, VerificationError::Tree { tree: 1, error: MerkleError::Root });
    let error = refusal(fibonacci, |proof| proof.decommitments[2].hash_witness.clear());
    assert_eq!(error, VerificationError::Tree { tree: 2, error: MerkleError::WitnessTooShort });
    let error = refusal(fibonacci, |proof| proof.decommitments[0].hash_witness.push(Default::default()));
    assert_eq!(error, VerificationError::Tree { tree: 0, error: MerkleError::WitnessTooLong });
    let error = refusal(fibonacci, |proof| proof.fri_proof.inner_layers[1].fri_witness.clear());
    assert!(matches!(error, VerificationError::Fri(FriError::Witness { layer: 2, got: 0, .. })), "{error}");
    let error = refusal(fibonacci, |proof| proof.fri_proof.first_layer.fri_witness[0] += QM31::U);
    assert_eq!(error, VerificationError::Fri(FriError::Tree { layer: 0, error: MerkleError::Root }));
}

#[test]
fn other_statements_are_refused() {
    // the same proof for other parameters, other columns, other challenges
    for vector in vectors() {
        let proof = proof(&vector);
        let mut config = vector.config;
        config.pow_bits += 1;
        let error = with_verifier(&vector, config, |verifier| {
            crate::common::check::check_with(&vector, &verifier.unwrap(), &proof).unwrap_err()
        });
        assert_eq!(error, VerificationError::Config);
        let mut other = vector.clone();
        other.preprocessed_root[3] ^= 1;
        assert!(matches!(check(&other, &proof), Err(VerificationError::Root { tree: 0, .. })));
        if let Some(sum) = other.claimed_sums.first_mut() {
            other.preprocessed_root = vector.preprocessed_root;
            sum[2] ^= 1;
            assert_eq!(check(&other, &proof), Err(VerificationError::Constraints));
        }
    }
}

#[test]
fn a_session_that_leaves_out_a_tree_is_refused() {
    let vector = vector("wide-fibonacci-0");
    let proof = proof(&vector);
    with_verifier(&vector, vector.config, |verifier| {
        let verifier = verifier.unwrap();
        let mut session = verifier.begin(&proof).unwrap();
        session.commit();
        assert_eq!(session.finish(&[]), Err(VerificationError::Transcript { expected: 2, got: 1 }));
        let mut session = verifier.begin(&proof).unwrap();
        (0..3).for_each(|_| session.commit());
        assert_eq!(session.finish(&[]), Err(VerificationError::Transcript { expected: 2, got: 3 }));
        let mut session = verifier.begin(&proof).unwrap();
        (0..2).for_each(|_| session.commit());
        let error = VerificationError::Inputs { component: None, expected: 1, got: 0 };
        assert_eq!(session.finish(&[]), Err(error));
    });
}

#[test]
fn parameters_without_proofs_are_refused() {
    let vector = vector("heights-0"); // 2^4 and 2^7 rows
    let refused = |change: &dyn Fn(&mut PcsConfig)| {
        let mut config = vector.config;
        change(&mut config);
        with_verifier(&vector, config, |verifier| verifier.unwrap_err())
    };
    use StatementError::Config;
    assert_eq!(refused(&|c| c.pow_bits = 129), Config(ConfigError::PowBits { got: 129 }));
    assert_eq!(refused(&|c| c.fri_config.log_blowup_factor = 0), Config(ConfigError::Blowup { got: 0 }));
    assert_eq!(refused(&|c| c.fri_config.log_blowup_factor = 17), Config(ConfigError::Blowup { got: 17 }));
    assert_eq!(refused(&|c| c.fri_config.log_last_layer_degree_bound = 11), Config(ConfigError::LastLayer { got: 11 }));
    assert_eq!(refused(&|c| c.fri_config.n_queries = 0), Config(ConfigError::Queries { got: 0 }));
    assert_eq!(refused(&|c| c.fri_config.n_queries = 1 << 40), Config(ConfigError::Queries { got: 1 << 40 }));
    assert_eq!(refused(&|c| c.fri_config.fold_step = 0), Config(ConfigError::FoldStep { got: 0 }));
    assert_eq!(refused(&|c| c.lifting_log_size = Some(31)), Config(ConfigError::Lifting { got: 31 }));
    assert_eq!(refused(&|c| c.lifting_log_size = Some(7)), StatementError::Lifting { log_size: 8 });
    assert_eq!(refused(&|c| c.fri_config.fold_step = 8), StatementError::Folds { log_degree: 7 });
}

/// Two columns, with a degree bound that implies twice the necessary quotient.
struct HighDegree;

impl Air for HighDegree {
    fn log_rows(&self) -> u32 {
        5
    }

    fn log_degree_bound(&self) -> u32 {
        7
    }

    fn eval<R: Row>(&self, row: &mut R) {
        let (x, y) = (row.column(), row.column());
        row.constraint(x - y);
    }
}

/// A column of a tree far beyond the trees of a proof.
struct FarTree(u32);

impl Air for FarTree {
    fn log_rows(&self) -> u32 {
        5
    }

    fn eval<R: Row>(&self, row: &mut R) {
        let x = row.column();
        let [y] = row.mask(Tree(self.0), [0]);
        row.constraint(x - y);
    }
}

#[test]
fn statements_without_proofs_are_refused() {
    fn verifier(lifting: Option<u32>, log_rows: &[u32], components: Vec<Component<'_>>) -> Result<(), StatementError> {
        let config = PcsConfig { lifting_log_size: lifting, ..PcsConfig::default() };
        let preprocessed = Preprocessed { log_rows: log_rows.to_vec(), ..Preprocessed::default() };
        Verifier::new(Protocol::V2_3, config, preprocessed, components).map(drop)
    }
    let cubes = airs::Cubes { log_rows: 4 };
    let of_cubes = |columns: &[usize]| vec![Component::new(&cubes, columns)];
    assert_eq!(verifier(None, &[], vec![]), Err(StatementError::NoComponent));
    let slots = |got| Err(StatementError::Slots { component: 0, expected: 1, got });
    assert_eq!(verifier(None, &[4], of_cubes(&[])), slots(0));
    assert_eq!(verifier(None, &[4], of_cubes(&[0, 0])), slots(2));
    let column = |column| Err(StatementError::Preprocessed { component: 0, column });
    assert_eq!(verifier(None, &[4], of_cubes(&[1])), column(1));
    assert_eq!(verifier(None, &[5], of_cubes(&[0])), column(0));
    assert_eq!(verifier(None, &[5, 4, 8], of_cubes(&[1])), Ok(()));
    assert_eq!(verifier(None, &[4, 30], of_cubes(&[0])), Err(StatementError::Rows { log_rows: 30 }));
    assert_eq!(verifier(Some(8), &[4, 8], of_cubes(&[0])), Err(StatementError::Lifting { log_size: 9 }));
    let bound = StatementError::Degree { component: 0, log_rows: 5, bound: 7 };
    assert_eq!(verifier(None, &[], vec![Component::new(&HighDegree, &[])]), Err(bound));
    for tree in [256, 1 << 20, u32::MAX] {
        let refused = verifier(None, &[], vec![Component::new(&FarTree(tree), &[])]);
        assert_eq!(refused, Err(StatementError::Tree { component: 0, tree }));
    }
    assert_eq!(verifier(None, &[], vec![Component::new(&FarTree(255), &[])]), Ok(()));
    for log_rows in [0, 30, u32::MAX] {
        let air = airs::WideFibonacci { log_rows, columns: 3 };
        let refused = verifier(None, &[], vec![Component::new(&air, &[])]);
        assert_eq!(refused, Err(StatementError::Rows { log_rows }));
    }
    // Only the lower component has look-ups, so that their tree is lower too.
    let (high, low) =
        (airs::WideFibonacci { log_rows: 7, columns: 3 }, airs::StateMachine { log_rows: 4, in_pairs: true });
    let both = || vec![Component::new(&high, &[]), Component::new(&low, &[])];
    assert_eq!(verifier(None, &[], both()), Err(StatementError::Height { tree: 2, got: 5, expected: 8 }));
    assert_eq!(verifier(Some(8), &[], both()), Ok(()));
}
