//! `trefoil stark`: proofs that are made, verified by this verifier and by stwo's, and refused when changed.

use std::{fs, path::Path};

use serde_json::Value;
use stwo::core::{
    air::Component,
    channel::Blake2sChannel,
    pcs::{CommitmentSchemeVerifier, PcsConfig},
    proof::StarkProof,
    vcs_lifted::blake2_merkle::{Blake2sMerkleChannel, Blake2sMerkleHasher},
    verifier::verify,
};
use stwo_constraint_framework::{EvalAtRow, FrameworkComponent, FrameworkEval, TraceLocationAllocator};

use super::{call, fails, stderr_of, stdout_of, trefoil};

struct StwoFibonacci {
    log_rows: u32,
    columns: u32,
}

impl FrameworkEval for StwoFibonacci {
    fn log_size(&self) -> u32 {
        self.log_rows
    }

    fn max_constraint_log_degree_bound(&self) -> u32 {
        self.log_rows + 1
    }

    fn evaluate<E: EvalAtRow>(&self, mut eval: E) -> E {
        let mut a = eval.next_trace_mask();
        let mut b = eval.next_trace_mask();
        for _ in 2..self.columns {
            let c = eval.next_trace_mask();
            eval.add_constraint(c.clone() - (a.clone() * a + b.clone() * b.clone()));
            (a, b) = (b, c);
        }
        eval
    }
}

/// The verdict of stwo's published verifier on the proof in a file.
fn stwo_accepts(file: &Value, log_rows: u32, columns: u32) -> bool {
    let Ok(proof) = serde_json::from_value::<StarkProof<Blake2sMerkleHasher>>(file["proof"].clone()) else {
        return false;
    };
    let config: PcsConfig = serde_json::from_value(file["proof"]["config"].clone()).unwrap();
    let component =
        FrameworkComponent::new(&mut TraceLocationAllocator::default(), StwoFibonacci { log_rows, columns }, 0.into());
    let channel = &mut Blake2sChannel::default();
    config.mix_into(channel);
    let scheme = &mut CommitmentSchemeVerifier::<Blake2sMerkleChannel>::new(config);
    let sizes = component.trace_log_degree_bounds();
    scheme.commit(proof.commitments[0], &sizes[0], channel);
    stwo::core::channel::Channel::mix_u32s(channel, &[log_rows]);
    scheme.commit(proof.commitments[1], &sizes[1], channel);
    verify(&[&component], channel, scheme, proof).is_ok()
}

/// Accepts proofs of few queries.
const VERIFY: [&str; 3] = ["stark", "verify", "--min-security=0"];

fn read(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// The error of the verifier about a proof that is written to a file.
fn refused(path: &Path, file: &Value) -> String {
    fs::write(path, serde_json::to_vec(file).unwrap()).unwrap();
    stderr_of(trefoil().args(VERIFY).arg(path), 1)
}

fn prove(air: &str, log_rows: &str, backend: &str, out: &Path) {
    let mut command = trefoil();
    command.args(["stark", "prove", "--air", air, "--log-rows", log_rows, "--pow-bits", "5"]);
    if air == "wide-fibonacci" {
        command.args(["--columns", "5"]);
    }
    command.args(["--queries", "7", "--backend", backend, "--out"]).arg(out);
    command.assert().success();
}

#[test]
fn a_proof_is_accepted_by_both_verifiers_and_refused_with_a_flipped_bit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("proof.json");
    prove("wide-fibonacci", "5", "cpu", &path);
    let verified = stdout_of(trefoil().args(VERIFY).arg(&path));
    assert!(verified.contains("12 bits") && verified.contains("wide-fibonacci"), "{verified}");
    let file = read(&path);
    assert!(stwo_accepts(&file, 5, 5));

    let mut changed = file.clone();
    let sample = &mut changed["proof"]["sampled_values"][1][0][0][0][0];
    *sample = Value::from(sample.as_u64().unwrap() ^ 1);
    assert!(!stwo_accepts(&changed, 5, 5));
    let other = folder.path().join("changed.json");
    let said = refused(&other, &changed);
    assert!(said.contains("is refused"), "{said}");

    // A size that the proof is not of is refused before anything of that size is made.
    for columns in [6u32, 65_537, u32::MAX] {
        let mut hostile = file.clone();
        hostile["statement"]["wide-fibonacci"]["columns"] = Value::from(columns);
        refused(&other, &hostile);
    }

    let said = stderr_of(call("stark verify").arg(&path), 1);
    assert!(said.contains("is refused; `--min-security` accepts less"), "{said}");
    assert!(said.contains("expected at least 96 bits of conjectured security, got 12"), "{said}");
    let shown = stdout_of(call("stark inspect").arg(&path));
    assert!(shown.contains("7 queries"), "{shown}");
}

#[test]
fn proofs_that_stwo_refuses_are_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("proof.json");
    for (lifting, refused) in [(&[][..], false), (&["--lifting", "8"], true)] {
        let line = ["stark", "prove", "--air=wide-fibonacci", "--log-rows=5", "--columns=5", "--pow-bits=1", "--out"];
        let said = stdout_of(trefoil().args(line).arg(&path).args(lifting));
        let shown = stdout_of(call("stark inspect").arg(&path));
        for text in [&said, &shown] {
            let line = text.lines().find(|line| line.starts_with("stwo "));
            assert_eq!(line.is_some_and(|line| line.contains("its verifier refuses this proof")), refused, "{text}");
        }
        assert_ne!(stwo_accepts(&read(&path), 5, 5), refused);
    }
}

#[test]
fn every_computation_is_proven_alike_on_both_backends() {
    let folder = tempfile::tempdir().unwrap();
    for air in ["wide-fibonacci", "state-machine", "plonk", "poseidon2"] {
        let [cpu, sim] = ["cpu", "sim"].map(|backend| {
            let path = folder.path().join(format!("{air}-{backend}.json"));
            prove(air, "4", backend, &path);
            trefoil().args(VERIFY).arg(&path).assert().success();
            fs::read(path).unwrap()
        });
        assert_eq!(cpu, sim, "{air}");
    }
}

/// Calls, launches, replays, copies, allocations and waits in a line of the benchmark.
fn counts(line: &str) -> [u32; 6] {
    [" driver calls", " launches", " replays", " copies", " allocations", " waits"].map(|what| {
        let before = line.split(what).next().unwrap().split_whitespace().last().unwrap();
        before.parse().unwrap_or_else(|_| panic!("{line}"))
    })
}

#[test]
fn the_table_of_calls_is_what_the_benchmark_counts() {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/stark.md")).unwrap();
    let rows: Vec<&str> = page.lines().skip_while(|line| !line.starts_with("| | calls | launches |")).skip(2).collect();
    assert!(rows.len() > 8, "no table of calls");
    let of_row =
        |row: &str| -> Vec<u32> { row.split('|').skip(2).filter_map(|cell| cell.trim().parse().ok()).collect() };
    for (air, rows) in ["wide-fibonacci", "state-machine", "plonk", "poseidon2"].into_iter().zip(rows.chunks(2)) {
        let line = ["stark", "bench", "--air", air, "--log-rows", "8", "--rounds", "1", "--backend", "sim"];
        let told = stdout_of(trefoil().args(line));
        let counted: Vec<_> = told.lines().filter(|line| line.contains(" driver calls")).map(counts).collect();
        assert_eq!(counted.len(), 2, "{told}");
        for (counted, row) in counted.iter().zip(rows) {
            assert_eq!(counted[..], of_row(row), "{air}: {row}");
        }
    }
}

#[test]
fn a_benchmark_counts_what_a_proof_hands_to_a_driver() {
    let bench = |backend: &str| {
        let mut command = call("stark bench --air wide-fibonacci --log-rows 4 --columns 5");
        stdout_of(command.args(["--pow-bits", "1", "--rounds", "1", "--backend", backend]))
    };
    let (cpu, sim) = (bench("cpu"), bench("sim"));
    assert!(cpu.contains("whole proof") && !cpu.contains("driver"), "{cpu}");
    let lines: Vec<&str> = sim.lines().filter(|line| line.contains(" driver calls")).collect();
    let [single, graph] = lines[..] else { panic!("{sim}") };
    assert!(sim.contains("op by op\n") && sim.contains("one graph\n"), "{sim}");
    let counts = [single, graph].map(counts);
    for [calls, parts @ ..] in counts {
        assert!(calls >= parts.iter().sum() && parts[4] == 1, "{sim}");
    }
    // The seed asks for 60 % less.
    let [[single, ..], [graph, _, replays, ..]] = counts;
    assert!(10 * graph <= 4 * single && replays == 1, "{sim}");
}

#[test]
fn a_benchmark_reports_why_a_proof_is_not_recorded() {
    let mut command =
        call("stark bench --air wide-fibonacci --log-rows 4 --columns 5 --rounds 1 --pow-bits 1 --backend sim");
    command.env("TREFOIL_SIM", "fail=801@cuGraphInstantiateWithFlags");
    let said = stdout_of(&mut command);
    let line = said.lines().find(|line| line.contains("whole proof, one graph: ")).unwrap_or_else(|| panic!("{said}"));
    assert!(line.contains("cuGraphInstantiateWithFlags") && line.contains("801"), "{line}");
}

#[test]
fn memory_is_planned_without_a_proof() {
    let plan = |blocks: &[&str]| {
        let line = ["stark", "plan", "--air", "wide-fibonacci", "--columns", "188", "--log-rows", "25"];
        let told = stdout_of(trefoil().args(line).args(blocks));
        let of = |what: &str| -> f64 {
            let line = told.lines().find(|line| line.ends_with(what)).unwrap_or_else(|| panic!("{what}: {told}"));
            line.split_whitespace().next().unwrap().parse().unwrap()
        };
        (of("committed values"), of("whole proof"))
    };
    // 188 columns of the trace and 8 of the composition polynomial, at blowup 2.
    let (values, all) = plan(&[]);
    let expected = (196u64 << (25 + 1 + 2)) as f64 / 1e6;
    assert!((values - expected).abs() < 0.001 && all > values && all < 2.0 * values, "{values}, {all}");
    let (in_blocks, less) = plan(&["--blocks", "8"]);
    // A block of them, and one of four coordinates of sums.
    let expected = expected / 8.0 + (4u64 << (25 + 1 - 3 + 2)) as f64 / 1e6;
    assert!((in_blocks - expected).abs() < 0.001 && less < all - 0.8 * values, "{in_blocks}, {less}");
    assert!(less < 40e3, "{less} MB");
    // The device holds two columns at a time and the composition polynomial; the trace's columns are on the host.
    let (streamed, least) = plan(&["--blocks", "8", "--host"]);
    let coefficients = (188u64 << (25 + 2)) as f64 / 1e6;
    let room = (2u64 << (25 + 2)) as f64 / 1e6;
    assert!(
        (streamed - in_blocks).abs() < 0.001 && (less - least - coefficients + room).abs() < 0.001,
        "{less}, {least}"
    );
}

#[test]
fn proofs_in_blocks_are_the_same_files() {
    let folder = tempfile::tempdir().unwrap();
    let prove = |blocks: &[&str], limit: Option<&str>| {
        let out = folder.path().join("proof.json");
        let mut command = call("stark prove --air wide-fibonacci --columns 40 --log-rows 12");
        command.args(blocks);
        if let Some(limit) = limit {
            command.env("TREFOIL_MEM_LIMIT", limit);
        }
        let told = stdout_of(command.arg("--out").arg(&out));
        (told, fs::read(out).unwrap())
    };
    let (told, expected) = prove(&[], None);
    assert!(!told.contains(" blocks"), "{told}");
    for blocks in ["2", "8", "4096"] {
        let (told, proof) = prove(&["--blocks", blocks], None);
        assert!(told.contains(&format!(" MiB, {blocks} blocks")), "{told}");
        assert!(proof == expected, "{blocks}");
    }
    let (told, proof) = prove(&["--blocks", "8", "--host"], None);
    assert!(told.contains(" MiB, 8 blocks, coefficients on the host") && proof == expected, "{told}");
    let mut refused = call("stark prove --air wide-fibonacci --columns 4 --log-rows 3 --blocks 3");
    let error = stderr_of(refused.arg("--out").arg(folder.path().join("none")), 2);
    assert!(error.contains("`--blocks`: expected a power of two of blocks, 2 to 8, got 3"), "{error}");
}

#[test]
fn a_trace_that_breaks_a_constraint_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (npy, out) = (folder.path().join("trace.npy"), folder.path().join("proof.json"));
    // Four rows of 1, 2, 5, and one of 1, 2, 6.
    let header = "{'descr': '<i8', 'fortran_order': False, 'shape': (4, 3), }";
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    let padded = format!("{header:<117}\n");
    bytes.extend((padded.len() as u16).to_le_bytes());
    bytes.extend(padded.bytes());
    for last in [5i64, 5, 5, 6] {
        [1, 2, last].iter().for_each(|word| bytes.extend(word.to_le_bytes()));
    }
    fs::write(&npy, bytes).unwrap();
    let mut command = call("stark prove --air wide-fibonacci --log-rows 2 --columns 3 --pow-bits 1");
    fails(command.arg("--trace-npy").arg(&npy).arg("--out").arg(&out), 1, &["constraint 0", "row 3"]);
    assert!(!out.exists());
}

#[test]
fn what_cannot_be_proven_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("proof.json");
    let refused = |arguments: &[&str], limit: &str, code: i32, expected: &str| {
        let mut command = trefoil();
        command.env("TREFOIL_MEM_LIMIT", limit).args(["stark", "prove", "--pow-bits", "1"]).args(arguments);
        fails(command.arg("--out").arg(&out), code, &[expected]);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{arguments:?}");
    };
    let fibonacci = ["--air", "wide-fibonacci", "--columns", "5"];
    let of = |more: &[&'static str]| [&fibonacci[..], more].concat();
    refused(&of(&["--log-rows", "0"]), "1G", 2, "1..=28");
    refused(&of(&["--log-rows", "10"]), "64K", 1, "budget");
    refused(&of(&["--log-rows", "4", "--log-blowup", "0"]), "1G", 2, "--log-blowup");
    refused(&of(&["--log-rows", "4", "--queries", "0"]), "1G", 2, "--queries");
    refused(&of(&["--log-rows", "4", "--fold-step", "5"]), "1G", 2, "--fold-step");
    refused(&of(&["--log-rows", "4", "--last-layer", "11"]), "1G", 2, "--last-layer");
    refused(&of(&["--log-rows", "4", "--lifting", "4"]), "1G", 2, "--lifting");
    refused(&["--air", "plonk", "--log-rows", "23"], "1G", 2, "1..=22");
    refused(&["--air", "plonk", "--log-rows", "12", "--log-blowup", "13"], "1G", 2, "at most 2^24 leaves");
}

#[test]
fn a_field_more_in_a_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("proof.json");
    prove("state-machine", "4", "cpu", &path);
    let file = read(&path);
    for at in ["", "/statement/state-machine", "/proof", "/proof/config", "/proof/fri_proof/first_layer"] {
        let mut changed = file.clone();
        changed.pointer_mut(at).unwrap().as_object_mut().unwrap().insert("surplus".to_owned(), Value::from(1));
        let refused = refused(&path, &changed);
        assert!(refused.contains("unknown field `surplus`"), "{at}: {refused}");
    }
}
