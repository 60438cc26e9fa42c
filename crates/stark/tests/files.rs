//! Proof files: the reader accepts exactly the files that were written.

use runtime::Choice;
use serde_json::{Value, json};
use stark::{FileEncoding, FileError, KnownStatement, M31, PcsConfig, ProofFile};
use stark_airs::{AirError, Circuit, Gate, Op, Plonk};

use crate::{
    committed::objects,
    common::{open, words},
    samples::{Sample, Source},
    stated::Stated,
};

fn machine() -> ProofFile {
    let statement = KnownStatement::StateMachine { log_steps: [4, 4], first: words([5, 7]) };
    ProofFile { statement, proof: Sample::steps([4, 4], [5, 7]).proven(PcsConfig::default()).unwrap() }
}

/// The proof of a circuit of sixteen gates, in a file that claims the sample circuit.
///
/// With `multiplies`, the first gate multiplies, unlike the sample's.
fn circuit(multiplies: bool) -> ProofFile {
    let gate = |k: u32| {
        let op = if k % 3 == 1 || (k == 0 && multiplies) { Op::Multiply } else { Op::Add };
        Gate { op, inputs: [k + 1, (5 * k + 3) % (k + 2)] }
    };
    let circuit = Circuit::new(2, (0..16).map(gate).collect(), vec![17, 8]).unwrap();
    let inputs = words([2, 3]);
    let plonk = Plonk::evaluate(circuit, inputs.to_vec()).unwrap();
    let statement = KnownStatement::Plonk { gates: 16, inputs, outputs: plonk.outputs().to_vec() };
    let (trace, source) = (plonk.trace(), Source::Plonk(plonk.wires()));
    let sample = Sample { statement: Stated::Plonk(plonk), trace, source };
    ProofFile { statement, proof: sample.proven(PcsConfig::default()).unwrap() }
}

#[test]
fn binary_files_are_told_by_their_first_bytes_and_read_whole_or_not_at_all() {
    let all = [circuit(false), machine()];
    let encoded = all.each_ref().map(|file| {
        assert_eq!(file.verify_with_security(&runtime::cpu().unwrap(), 13), Ok(()));
        let made = [FileEncoding::Json, FileEncoding::Binary].map(|encoding| file.to_bytes(encoding).unwrap());
        let [json, binary] = &made;
        assert_eq!(*json, [serde_json::to_vec(file).unwrap(), b"\n".to_vec()].concat());
        assert!(json.starts_with(br#"{"format":"trefoil-stark-proof","version":1,"stwo":"2.3","statement":{"#));
        assert!(2 * binary.len() < json.len(), "{} of {}", binary.len(), json.len());
        for bytes in &made {
            assert_eq!(ProofFile::from_bytes(bytes).as_ref(), Ok(file));
        }
        made
    });
    let ([_, [_, binary]], [_, file]) = (encoded, all);
    let statements = [
        KnownStatement::WideFibonacci { log_rows: 9, columns: 3 },
        KnownStatement::Plonk { gates: 16, inputs: [M31::ONE; 2], outputs: vec![M31::from_u32(7); 3] },
        KnownStatement::Poseidon2 { log_rows: 3, first: [M31::ONE; 16], last: [M31::ZERO; 16] },
        KnownStatement::Blake2s { log_blocks: 1, digest: [u32::MAX; 8] },
    ];
    for statement in statements {
        let mut other = ProofFile { statement, ..file.clone() };
        other.proof.proof.config.lifting_log_size = Some(20);
        let binary = other.to_bytes(FileEncoding::Binary).unwrap();
        assert_eq!(ProofFile::from_bytes(&binary), Ok(other));
    }
    for len in 0..binary.len() {
        let refused = ProofFile::from_bytes(&binary[..len]);
        assert!(matches!(refused, Err(FileError::Encoding { .. })), "{len}: {refused:?}");
    }
    let reason = "expected the end of the file, got 1 more bytes".to_owned();
    assert_eq!(ProofFile::from_bytes(&[&binary[..], &[0]].concat()), Err(FileError::Encoding { reason }));
    // After the mark come the length of the format's name and the name.
    let mut other = binary.clone();
    other[9] = b'T';
    let refused = ProofFile::from_bytes(&other).unwrap_err().to_string();
    assert!(refused.starts_with("not a proof file"), "{refused}");
    let refused = ProofFile::from_bytes(b"1,2\n").unwrap_err().to_string();
    assert!(refused.contains("expected a proof file"), "{refused}");
    let (most, got) = (ProofFile::MOST_BYTES, ProofFile::MOST_BYTES + 1);
    assert_eq!(ProofFile::from_bytes(&vec![b' '; got]), Err(FileError::Size { most, got }));
    // A file as long as the limit is read.
    let mut longest = vec![0; most];
    longest[..8].copy_from_slice(&binary[..8]);
    let refused = ProofFile::from_bytes(&longest);
    assert!(matches!(refused, Err(FileError::Encoding { .. })), "{refused:?}");
}

#[test]
fn unknown_and_missing_fields_are_refused_at_every_level() {
    let whole = serde_json::to_value(machine()).unwrap();
    let mut found = Vec::new();
    objects(&whole, String::new(), &mut found);
    for part in ["", "/statement", "/proof", "/proof/config/fri_config", "/proof/fri_proof/last_layer_poly"] {
        assert!(found.iter().any(|at| at == part), "{part} in {found:?}");
    }
    for at in found {
        let read = |change: &dyn Fn(&mut serde_json::Map<String, Value>)| {
            let mut changed = whole.clone();
            change(changed.pointer_mut(&at).unwrap().as_object_mut().unwrap());
            serde_json::from_value::<ProofFile>(changed)
        };
        assert!(read(&|_| ()).is_ok());
        assert!(read(&|fields| drop(fields.insert("surplus".to_owned(), json!(0)))).is_err(), "surplus in {at}");
        let names: Vec<String> = whole.pointer(&at).unwrap().as_object().unwrap().keys().cloned().collect();
        for name in names.iter().filter(|name| *name != "lifting_log_size") {
            assert!(read(&|fields| drop(fields.remove(name))).is_err(), "{at} without {name}");
        }
    }
}

#[test]
fn more_lists_than_any_proof_has_are_refused_as_they_are_read() {
    let whole = serde_json::to_value(machine()).unwrap();
    for field in ["sampled_values", "queried_values"] {
        let read = |lists: Value| {
            let mut changed = whole.clone();
            changed["proof"][field] = lists;
            serde_json::from_value::<ProofFile>(changed).map(drop).map_err(|error| error.to_string())
        };
        assert_eq!(read(json!(vec![json!([]); 64])), Ok(()));
        assert_eq!(read(json!(vec![json!([[]]); 65])), Err("expected at most 64 trees".to_owned()), "{field}");
        let columns = |count: usize| json!([[], vec![json!([]); count]]);
        assert_eq!(read(columns(1 << 20)), Ok(()));
        assert_eq!(read(columns((1 << 20) + 1)), Err("expected at most 1048576 columns".to_owned()), "{field}");
    }
    // In binary an empty one takes a byte.
    for field in ["/proof/commitments", "/proof/decommitments", "/proof/fri_proof/inner_layers"] {
        let read = |count: usize| {
            let mut changed = whole.clone();
            let list = changed.pointer_mut(field).unwrap();
            *list = json!(vec![list[0].clone(); count]);
            serde_json::from_value::<ProofFile>(changed).map_err(|error| error.to_string())
        };
        let mut most = read(64).unwrap();
        assert_eq!(read(65), Err("expected at most 64 trees".to_owned()), "{field}");
        most.proof.proof.decommitments.resize_with(65, Default::default);
        assert!(ProofFile::from_bytes(&most.to_bytes(FileEncoding::Binary).unwrap()).is_err());
    }
}

#[test]
fn other_formats_and_versions_are_named() {
    for (name, value, expected) in [
        ("format", json!("proof"), "expected the format `trefoil-stark-proof`, got `proof`"),
        ("version", json!(2), "expected version 1 for stwo 2.3, got 2 for stwo 2.3"),
        ("stwo", json!("2.4"), "expected version 1 for stwo 2.3, got 1 for stwo 2.4"),
    ] {
        let mut file = serde_json::to_value(machine()).unwrap();
        file[name] = value;
        let refused = serde_json::from_value::<ProofFile>(file).unwrap_err().to_string();
        assert!(refused.contains(expected), "{refused}");
    }
}

#[test]
fn proofs_of_little_security_are_refused_unless_asked_for() {
    let (q, file) = (runtime::cpu().unwrap(), circuit(false));
    assert_eq!(file.verify(&q), Err(FileError::Security { expected: 96, got: 13 }));
    assert_eq!(file.verify_with_security(&q, 14), Err(FileError::Security { expected: 14, got: 13 }));
    assert_eq!(file.verify_with_security(&q, 13), Ok(()));
}

#[test]
fn preprocessed_columns_of_another_statement_are_refused() {
    let refused = circuit(true).verify_with_security(&runtime::cpu().unwrap(), 13);
    assert!(matches!(refused, Err(FileError::Root { .. })), "{refused:?}");
}

#[test]
fn what_takes_long_is_refused_before_it_is_done() {
    // Memory for nothing but small things.
    let q = open(Choice::Cpu, Some(1 << 20));
    let file = circuit(false);
    assert_eq!(file.verify_with_security(&q, 13), Ok(()));
    let with = |gates: u32, blowup, lifting| {
        let mut file = file.clone();
        if let KnownStatement::Plonk { gates: said, .. } = &mut file.statement {
            *said = gates;
        }
        file.proof.proof.config.fri_config.log_blowup_factor = blowup;
        file.proof.proof.config.lifting_log_size = lifting;
        file.verify_with_security(&q, 13)
    };
    let leaves = |log_leaves| Err(FileError::Leaves { log_leaves, most: 24 });
    assert_eq!(with(u32::MAX, 1, None), Err(FileError::Gates { most: 1 << 22, got: u32::MAX }));
    assert_eq!(with(1 << 22, 3, None), leaves(25));
    assert_eq!(with(16, 1, Some(25)), leaves(25));
    assert_eq!(with(16, u32::MAX, Some(30)), leaves(u32::MAX));
    // As large as the limit, but not the statement of the proof.
    let lengths = with(1 << 10, 14, None);
    assert!(matches!(lengths, Err(FileError::Proof(_))), "{lengths:?}");
    let mut none = file.clone();
    none.statement = KnownStatement::WideFibonacci { log_rows: 0, columns: 3 };
    assert!(matches!(none.verify_with_security(&q, 13), Err(FileError::Statement(AirError::Rows { log_rows: 0, .. }))));
    none.proof.proof.commitments.clear();
    none.statement = file.statement.clone();
    assert!(none.verify_with_security(&q, 13).is_err());
}
