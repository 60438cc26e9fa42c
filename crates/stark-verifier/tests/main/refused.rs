//! Changed proofs are refused, by this verifier with an error and by stwo's with an error or a panic.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::{
    StwoVerdict,
    airs::{Constraints, VectorAir},
    check::{check, check_with, with_verifier},
    committed::objects,
    proof, stwo_verdict, tampers, vector, vectors,
};
use core_types::{
    air::{Air, Row, Tree},
    field::{P, QM31},
};
use stark_verifier::{
    Component, ConfigError, FriError, Inputs, MerkleError, Part, PcsConfig, Preprocessed, Proof, Protocol,
    StatementError, VerificationError, Verifier,
};
use stwo::core::{proof::StarkProof, vcs_lifted::blake2_merkle::Blake2sMerkleHasher};

/// A statement of each kind, and the step between tested changes: above one if it has many columns.
const TAMPERED: [(&str, usize); 10] = [
    ("wide-fibonacci-0", 1),
    ("wide-fibonacci-12", 1),
    ("heights-2", 1),
    ("neighbours-2", 1),
    ("selected-5", 1),
    ("xor-1", 1),
    ("steps-1", 1),
    ("plonk-1", 1),
    ("poseidon2-0", 7),
    ("blake2s-0", 197),
];

/// Changes that stwo's verifier does not notice: it takes the first roots and the last, and does not look at what opens a tree
/// without columns.
const UNNOTICED: &[&str] = &["commitments with the last twice", "tree 0, witness extended"];

#[test]
fn changed_proofs_are_refused() {
    let (mut count, mut verdicts, mut unnoticed) = (0, BTreeMap::new(), BTreeSet::new());
    let mut refused_by_both = BTreeSet::new();
    for (name, step) in TAMPERED {
        let vector = vector(name);
        for (place, proof) in tampers::every(step, &proof(&vector)) {
            assert!(check(&vector, &proof).is_err(), "{name}: {place}");
            let verdict = stwo_verdict(&vector, &proof);
            if verdict == StwoVerdict::Accepted {
                unnoticed.insert(place);
            } else {
                refused_by_both.insert((name, postcard::to_allocvec(&proof).unwrap()));
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
            assert!(check_with(&vector, &verifier.unwrap(), &proof).is_err());
        });
    }
}

#[test]
fn errors_name_the_check() {
    let vector = vector("wide-fibonacci-0");
    let right = proof(&vector);
    let refusal = |change: fn(&mut Proof)| {
        let mut proof = right.clone();
        change(&mut proof);
        check(&vector, &proof).expect_err("a changed proof")
    };
    let expect = |change: fn(&mut Proof), expected: VerificationError| assert_eq!(refusal(change), expected);
    let length = |part, expected, got| VerificationError::Length { part, expected, got };
    let tree = |tree, error| VerificationError::Tree { tree, error };
    let fri = VerificationError::Fri;
    expect(|proof| proof.config.pow_bits = 0, VerificationError::Config);
    // Lists that are too short and too long.
    let [sampled, queried] = [right.sampled_values[1].len(), right.queried_values[2].len()];
    expect(|proof| proof.commitments.truncate(2), length(Part::Commitments, 3, 2));
    expect(|proof| proof.commitments.push(Default::default()), length(Part::Commitments, 3, 4));
    expect(|proof| proof.sampled_values.truncate(2), length(Part::SampledTrees, 3, 2));
    expect(|proof| proof.sampled_values.push(vec![]), length(Part::SampledTrees, 3, 4));
    expect(|proof| proof.decommitments.truncate(2), length(Part::Decommitments, 3, 2));
    expect(|proof| proof.decommitments.push(Default::default()), length(Part::Decommitments, 3, 4));
    expect(|proof| proof.queried_values.truncate(2), length(Part::QueriedTrees, 3, 2));
    expect(|proof| proof.queried_values.push(vec![]), length(Part::QueriedTrees, 3, 4));
    let columns = |got| length(Part::SampledColumns { tree: 1 }, sampled, got);
    expect(|proof| proof.sampled_values[1].truncate(2), columns(2));
    expect(|proof| proof.sampled_values[1].push(vec![]), columns(sampled + 1));
    let columns = |got| length(Part::QueriedColumns { tree: 2 }, queried, got);
    expect(|proof| proof.queried_values[2].truncate(2), columns(2));
    expect(|proof| proof.queried_values[2].push(vec![]), columns(queried + 1));
    let values = |got| length(Part::SampledValues { tree: 1, column: 2 }, 1, got);
    expect(|proof| proof.sampled_values[1][2].clear(), values(0));
    expect(|proof| proof.sampled_values[1][2].push(QM31::ONE), values(2));
    expect(|proof| proof.sampled_values[1][0][0] += QM31::ONE, VerificationError::Constraints);
    expect(|proof| proof.fri_proof.inner_layers.truncate(1), fri(FriError::Layers { expected: 3, got: 1 }));
    let last = FriError::LastLayerLength { bound: 1, got: 1 };
    expect(|proof| proof.fri_proof.last_layer_poly.log_size = 64, fri(last));
    expect(|proof| proof.proof_of_work ^= 1 << 40, VerificationError::ProofOfWork);
    expect(|proof| proof.queried_values[1][0].reverse(), tree(1, MerkleError::Root));
    expect(|proof| proof.decommitments[2].hash_witness.clear(), tree(2, MerkleError::WitnessTooShort));
    let longer: fn(&mut Proof) = |proof| proof.decommitments[0].hash_witness.push(Default::default());
    expect(longer, tree(0, MerkleError::WitnessTooLong));
    let first = FriError::Tree { layer: 0, error: MerkleError::Root };
    expect(|proof| proof.fri_proof.first_layer.fri_witness[0] += QM31::U, fri(first));

    let error = refusal(|proof| proof.commitments[0].0[0] ^= 1);
    assert!(matches!(error, VerificationError::Root { tree: 0, .. }), "{error}");
    let error = refusal(|proof| proof.queried_values[2][5].truncate(1));
    let part = Part::QueriedValues { tree: 2, column: 5 };
    assert!(matches!(error, VerificationError::Length { part: found, .. } if found == part), "{error}");
    let error = refusal(|proof| proof.fri_proof.inner_layers[1].fri_witness.clear());
    assert!(matches!(error, VerificationError::Fri(FriError::Witness { layer: 2, got: 0, .. })), "{error}");
}

#[test]
fn other_statements_are_refused() {
    // the same proof for other parameters, other columns, other challenges
    for vector in vectors() {
        let proof = proof(&vector);
        let mut config = vector.config;
        config.pow_bits += 1;
        let error =
            with_verifier(&vector, config, |verifier| check_with(&vector, &verifier.unwrap(), &proof).unwrap_err());
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
fn a_component_without_its_challenges_is_named() {
    let vector = vector("steps-1");
    let proof = proof(&vector);
    with_verifier(&vector, vector.config, |verifier| {
        let verifier = verifier.unwrap();
        // Each component reads two challenges.
        let finish = |counts: [usize; 2]| {
            let mut session = verifier.begin(&proof).unwrap();
            (0..3).for_each(|_| session.commit());
            session.finish(&counts.map(|count| Inputs { challenges: vec![QM31::ONE; count], ..Inputs::default() }))
        };
        for (counts, component) in [([1, 2], 0), ([2, 1], 1), ([0, 1], 0), ([3, 0], 1)] {
            let error = VerificationError::Inputs { component: Some(component), expected: 2, got: counts[component] };
            assert_eq!(finish(counts), Err(error));
        }
        assert_eq!(finish([2, 3]), Err(VerificationError::Constraints));
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

/// Two equal columns: the second in a tree of any number, and with any bound of the degree.
struct Equal {
    log_degree_bound: u32,
    tree: u32,
}

impl Air for Equal {
    fn log_rows(&self) -> u32 {
        5
    }

    fn log_degree_bound(&self) -> u32 {
        self.log_degree_bound
    }

    fn eval<R: Row>(&self, row: &mut R) {
        let x = row.column();
        let [y] = row.mask(Tree(self.tree), [0]);
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
    let cubes = VectorAir { log_rows: 4, constraints: Constraints::Cubes };
    let of_cubes = |columns: &[usize]| vec![Component::new(&cubes, columns)];
    assert_eq!(verifier(None, &[], vec![]), Err(StatementError::NoComponent));
    let slots = |got| Err(StatementError::Slots { component: 0, expected: 1, got });
    assert_eq!(verifier(None, &[4], of_cubes(&[])), slots(0));
    assert_eq!(verifier(None, &[4], of_cubes(&[0, 0])), slots(2));
    let column = |column| Err(StatementError::Preprocessed { component: 0, column });
    assert_eq!(verifier(None, &[4], of_cubes(&[1])), column(1));
    assert_eq!(verifier(None, &[5], of_cubes(&[0])), column(0));
    assert_eq!(verifier(None, &[5, 4, 8], of_cubes(&[1])), Ok(()));
    assert_eq!(verifier(None, &[4, 29], of_cubes(&[0])), Ok(()));
    assert_eq!(verifier(None, &[4, 30], of_cubes(&[0])), Err(StatementError::Rows { log_rows: 30 }));
    assert_eq!(verifier(Some(8), &[4, 8], of_cubes(&[0])), Err(StatementError::Lifting { log_size: 9 }));
    let equal =
        |log_degree_bound, tree| verifier(None, &[], vec![Component::new(&Equal { log_degree_bound, tree }, &[])]);
    // A bound that implies twice the necessary quotient.
    assert_eq!(equal(7, Tree::TRACE.0), Err(StatementError::Degree { component: 0, log_rows: 5, bound: 7 }));
    for tree in [256, 1 << 20, u32::MAX] {
        assert_eq!(equal(6, tree), Err(StatementError::Tree { component: 0, tree }));
    }
    assert_eq!(equal(6, 255), Ok(()));
    let fibonacci = |log_rows| VectorAir { log_rows, constraints: Constraints::WideFibonacci { columns: 3 } };
    for log_rows in [0, 30, u32::MAX] {
        let air = fibonacci(log_rows);
        let refused = verifier(None, &[], vec![Component::new(&air, &[])]);
        assert_eq!(refused, Err(StatementError::Rows { log_rows }));
    }
    // Only the lower component has look-ups, so that their tree is lower too.
    let (high, low) =
        (fibonacci(7), VectorAir { log_rows: 4, constraints: Constraints::StateMachine { in_pairs: true } });
    let both = || vec![Component::new(&high, &[]), Component::new(&low, &[])];
    assert_eq!(verifier(None, &[], both()), Err(StatementError::Height { tree: 2, got: 5, expected: 8 }));
    assert_eq!(verifier(Some(8), &[], both()), Ok(()));
}
