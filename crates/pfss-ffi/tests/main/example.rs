//! The programs in C++, compiled, run, and compared with the results of the library in Rust.

use std::{
    fmt::Write,
    path::{Path, PathBuf},
    process::Command,
};

use pfss::{
    BoolShares, Dealer, Gate, Inputs, Operation, Parameters, SignedRange, Task, eval_lockstep, run_lockstep,
    suf::{BoolExpr, BoolMode, CoeffMode, Piece, Pred, PredProgram, SufDesc, SufModes, SufProgram, SufSpec},
};
use test_process::LIMIT;

const COUNT: u64 = 70;

/// The program of `examples/composite.cpp`.
pub(crate) fn program(bools: BoolMode) -> SufProgram {
    let piece = |start, poly: &[u64]| Piece {
        start,
        polys: vec![poly.to_vec()],
        bools: vec![BoolExpr::Var(0), BoolExpr::Var(0) & BoolExpr::Var(1)],
    };
    let desc = SufDesc::new(SufSpec {
        n: 20,
        degree: 2,
        words: vec!["y".into()],
        bools: vec!["sign".into(), "both".into()],
        preds: vec![Pred::Msb, Pred::LtLow { f: 9, gamma: 100 }],
        pieces: vec![piece(0, &[1, 2, 3]), piece(70_000, &[4, 5])],
    });
    let modes = SufModes { preds: PredProgram::SharedAlpha, coeffs: CoeffMode::MaskedSelect, bools };
    SufProgram::new(desc.unwrap(), modes).unwrap()
}

/// The expected output of the example, computed without the C interface.
fn expected() -> String {
    let q = runtime::cpu().unwrap();
    let mut dealer = Dealer::insecure_from_seed(7);
    let mut out = String::new();
    for mode in [BoolMode::Additive, BoolMode::XorPacked] {
        let bundles = dealer.deal(&q, &Gate::suf(program(mode)), COUNT as usize).unwrap();
        let ring = bundles[0].gate().ring();
        let share = |e: u64| e.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let x0: Vec<u64> = (0..COUNT).map(|e| ring.reduce(share(e))).collect();
        let x1: Vec<u64> = (0..COUNT).map(|e| ring.sub(e * 15_000, share(e))).collect();
        let shares = run_lockstep(&q, Task::Suf, bundles, [&x0, &x1]).unwrap();
        let plain: Vec<u64> = (0..COUNT).map(|e| program(mode).desc().eval(ring.reduce(e * 15_000)).words[0]).collect();
        let opened: Vec<u64> = shares[0].words.iter().zip(&shares[1].words).map(|(&a, &b)| ring.add(a, b)).collect();
        assert_eq!(opened, plain);
        for (party, shares) in shares.iter().enumerate() {
            print(&mut out, "words", party, &shares.words);
            match &shares.bools {
                BoolShares::Additive(bools) => print(&mut out, "bools", party, bools),
                BoolShares::Xor(bits) => {
                    let words: Vec<u64> = bits.words().iter().map(|&word| word.into()).collect();
                    print(&mut out, "packed", party, &words);
                }
            }
        }
    }
    out
}

fn print(out: &mut String, what: &str, party: usize, values: &[u64]) {
    write!(out, "{what} {party}").unwrap();
    values.iter().for_each(|value| write!(out, " {value:x}").unwrap());
    out.push('\n');
}

/// The library with this ending, static or shared, that cargo built with this test.
pub(crate) fn library(ending: &str) -> PathBuf {
    let deps = std::env::current_exe().unwrap().parent().unwrap().to_path_buf();
    let candidates = [&deps, deps.parent().unwrap()].into_iter().flat_map(|folder| folder.read_dir().unwrap());
    let libraries = candidates.map(|entry| entry.unwrap().path()).filter(|path| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.starts_with("libtrefoil_pfss") && name.ends_with(&format!(".{ending}"))
    });
    libraries.max_by_key(|path| path.metadata().unwrap().modified().unwrap()).expect("a library beside this test")
}

/// What `examples/batch.cpp` prints, computed gate by gate and without a batch.
fn expected_of_batch() -> String {
    let q = runtime::cpu().unwrap();
    let mut dealer = Dealer::insecure_from_seed(9);
    let table: Vec<u64> = (0..64).map(|x| x * x).collect();
    let n = |n| Parameters { n, ..Parameters::default() };
    let range = Some(SignedRange::new(-2000, 5000).unwrap());
    let work = [
        ("relu", Parameters { range, ..n(64) }),
        ("ars", Parameters { shift: Some(7), ..n(32) }),
        ("lut", Parameters { word_bits: Some(20), table: Some(&table), ..n(6) }),
        ("truncate_reduce", Parameters { shift: Some(5), ..n(20) }),
    ];
    let (mut lines, mut elements, mut aes, mut opened) = ([String::new(), String::new()], 0, 0, 0);
    for (index, (name, parameters)) in work.iter().enumerate() {
        let operation = Operation::named(name, parameters).unwrap();
        let (gate, ring, count) = (operation.gate(), operation.gate().ring(), 40 + 10 * index as u64);
        let share = |e: u64| e.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let x = |e: u64| ring.reduce((e * 100).wrapping_sub(2000));
        let x0: Vec<u64> = (0..count).map(|e| ring.reduce(share(e))).collect();
        let x1: Vec<u64> = (0..count).map(|e| ring.sub(x(e), share(e))).collect();
        let bundles = dealer.deal(&q, gate, count as usize).unwrap();
        let shares = run_lockstep(&q, operation.task(), bundles, [&x0, &x1]).unwrap();
        for e in 0..count {
            let [a, b] = [0, 1].map(|party: usize| shares[party].words[e as usize]);
            assert_eq!([gate.out_ring().add(a, b)][..], operation.eval(x(e)), "{name}");
        }
        for party in [0, 1] {
            print(&mut lines[party], name, party, &shares[party].words);
        }
        elements += count;
        aes += gate.cost().aes * count;
        let (sent, rounds) = gate.traffic(count as usize);
        opened += sent - 16 * rounds - (count * u64::from(gate.n())).div_ceil(8);
    }
    lines.map(|text| format!("{text}jobs 4 elements {elements} aes {aes} opened {opened} rounds 1\n")).concat()
}

/// What `examples/circuit.cpp` prints, computed without the C interface.
fn expected_of_circuit() -> String {
    let q = runtime::cpu().unwrap();
    let mut dealer = Dealer::insecure_from_seed(11);
    let relu = Gate::relu(40).unwrap().with_masked_outputs().unwrap();
    let (ring, ars) = (relu.ring(), Gate::ars(40, 7).unwrap());
    let (bundles, wires) = dealer.deal_wired(&q, &relu, Inputs::Fresh(50)).unwrap();
    let (next, _) = dealer.deal_wired(&q, &ars, Inputs::Open(&[&wires[0]])).unwrap();
    let (share, x) = (|e: u64| e.wrapping_mul(0x9e37_79b9_7f4a_7c15), |e: u64| (e * 1000).wrapping_sub(20_000));
    let x0: Vec<u64> = (0..50).map(|e| ring.reduce(share(e))).collect();
    let x1: Vec<u64> = (0..50).map(|e| ring.sub(ring.reduce(x(e)), ring.reduce(share(e)))).collect();
    let [a, b] = run_lockstep(&q, Task::Relu, bundles, [&x0, &x1]).unwrap();
    let y_hat: Vec<u64> = a.words.iter().zip(&b.words).map(|(&a, &b)| ring.add(a, b)).collect();
    let keys = next.map(|bundle| bundle.with_open_inputs().unwrap());
    let shares = eval_lockstep(&q, Task::Ars, keys, &y_hat).unwrap();
    for e in 0..50 {
        let y = ring.add(shares[0].words[e as usize], shares[1].words[e as usize]);
        assert_eq!(y, x(e).cast_signed().max(0).cast_unsigned() >> 7);
    }
    let mut out = String::new();
    shares.iter().enumerate().for_each(|(party, shares)| print(&mut out, "y", party, &shares.words));
    out
}

/// Compiles an example against the header and the library, and returns its output.
fn output_of(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join(name);
    let mut compiler = Command::new("c++");
    compiler
        .args(["-std=c++17", "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(root.join("include"))
        .arg(root.join(format!("examples/{name}.cpp")))
        .arg(library("a"))
        .args(["-lpthread", "-ldl", "-lm", "-o"])
        .arg(&program);
    let compiled = test_process::output(&mut compiler, LIMIT);
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let run = test_process::output(&mut Command::new(&program), LIMIT);
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    String::from_utf8(run.stdout).unwrap()
}

#[test]
fn a_program_in_c_plus_plus_gets_the_same_shares() {
    assert_eq!(output_of("composite"), expected());
}

#[test]
fn a_super_batch_in_c_plus_plus_gets_the_shares_of_single_gates() {
    assert_eq!(output_of("batch"), expected_of_batch());
}

#[test]
fn a_circuit_in_c_plus_plus_opens_masked_outputs_into_the_next_gate() {
    assert_eq!(output_of("circuit"), expected_of_circuit());
}
