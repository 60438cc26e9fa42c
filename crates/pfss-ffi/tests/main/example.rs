//! The programs in C++, compiled, run, and compared with the results of the library in Rust.

use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use pfss::{
    BoolShares, Dealer, Gate, Inputs, Operation, Parameters, SignedRange, Task, eval_lockstep,
    functions::WiredFn,
    run_lockstep,
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

/// What `examples/sigma.cpp` prints: the functions in the clear.
fn expected_of_sigma() -> String {
    type Input = fn(i64) -> i64;
    let functions: [(&str, WiredFn, Input); 4] = [
        ("silu", WiredFn::silu(50, 12).unwrap(), |at| (at - 25) * 700),
        ("nexp", WiredFn::neg_exp(50, 12).unwrap(), |at| at * 1500),
        ("inverse", WiredFn::reciprocal(50, 12, 128).unwrap(), |at| 4096 + at * 8000),
        ("rsqrt", WiredFn::rsqrt(50, 12, 768).unwrap(), |at| 200_000 + at * 1_000_000),
    ];
    let mut out = String::new();
    for (name, function, input) in functions {
        out.push_str(name);
        for at in 0..50 {
            let y = function.ring().reduce(function.eval(input(at)).cast_unsigned());
            write!(out, " {y:x}").unwrap();
        }
        out.push('\n');
    }
    out
}

/// What `examples/sigma_device.cpp` prints: a function in the clear, and refusals.
fn expected_of_sigma_device() -> String {
    let sigma = expected_of_sigma();
    let (silu, _) = sigma.split_once('\n').unwrap();
    let short = |what, bytes| {
        format!("2 {what}: expected 400 bytes of device memory, got {bytes} up to the end of the allocation\n")
    };
    format!(
        "{silu}\n{}{}1 input_mask and output_mask overlap\n\
         1 stream: expected null for a backend without streams, got a handle\n",
        short("input_mask", 392),
        short("output_mask", 16),
    )
}

/// What `examples/device.cpp` prints: plain arithmetic, and refusals.
fn expected_of_device() -> String {
    let x = |at: u64| (at * 30_000).wrapping_sub(600_000) & 0xf_ffff;
    let bit = |at: u64, threshold: u64| u64::from(x(at) < threshold);
    let all = 0..40u64;
    let relu = |at| if x(at) < 1 << 19 { x(at) } else { 0 };
    let y = |at| (if x(at) < 1000 { x(at) + 7 } else { 3 * x(at) }) & 0xf_ffff;
    let (y, sign): (Vec<u64>, Vec<u64>) = all.clone().map(|at| (y(at), x(at) >> 19)).unzip();
    let (left, right) = (|at: u64| at * at + 3, |at: u64| 1000u64.wrapping_sub(77 * at));
    let product = |row: u64, col: u64| {
        let terms = (0..3).map(|at| left(3 * row + at).wrapping_mul(right(2 * at + col)));
        terms.fold(0, u64::wrapping_add)
    };
    let product = vec![product(0, 0), product(0, 1), product(1, 0), product(1, 1)];
    let packed = |at| bit(at, 5) | bit(at, 30_000) << 1 | bit(at, 30_001) << 2 | bit(at, 600_000) << 3;
    let dcf = |at| [0x12, 0x34].map(|byte: u64| byte * bit(at, 300_000));
    let lut = |at| match x(at) {
        ..90_000 => [1, u64::MAX],
        90_000..600_000 => [20, 21],
        600_000.. => [300, 1 << 63],
    };
    let short = |what, bytes| {
        format!("2 {what}: expected 320 bytes of device memory, got {bytes} up to the end of the allocation\n")
    };
    let captured =
        |what| format!("1 {what}: expected a stream that runs its work, got a stream that is being captured\n");
    let line = |what: &str, values: &[u64]| {
        let values = values.iter().map(|value| format!(" {value:x}"));
        format!("{what}{}\n", values.collect::<String>())
    };
    let bits = line("y", &y) + &line("sign", &sign);
    let refused = [
        short("x", 312),
        short("masked", 16),
        "1 x: expected memory of device 0, got memory of device 1\n".to_owned(),
        captured("x"),
        captured("masked"),
        short("outs", 312),
    ];
    let out = [
        line("relu", &all.clone().map(relu).collect::<Vec<_>>()),
        bits.repeat(2), // additive bits and packed ones
        line("matmul", &product),
        line("weights", &product),
        line("packed", &all.clone().map(packed).collect::<Vec<_>>()),
        line("dcf", &all.clone().flat_map(dcf).collect::<Vec<_>>()),
        line("lut", &all.flat_map(lut).collect::<Vec<_>>()),
        refused.concat(),
        line("matmul", &product).repeat(2), // computed by the processor, and in the order of the legacy stream
    ];
    out.concat()
        + "5 the backend of this thread's stream was freed: set another stream, or a null backend\n\
           1 stream: expected null for a backend without streams, got a handle\n\
           1 stream: expected null without a backend, got a handle\n"
}

/// What `examples/suf.cpp` prints, by plain arithmetic.
fn expected_of_suf() -> String {
    let x = |at: u64| at * 100;
    let bit = |at: u64, threshold: u64| u64::from(x(at) < threshold);
    let packed = |at| bit(at, 5) | bit(at, 700) << 1 | bit(at, 701) << 2 | bit(at, 3000) << 3;
    let dcf = |at| [0x12, 0x34].map(|byte: u64| byte * bit(at, 1000));
    let lut = |at| match x(at) {
        ..900 => [1, u64::MAX],
        900..2000 => [20, 21],
        2000.. => [300, 1 << 63],
    };
    let relu = |at| if x(at) < 1 << 11 { x(at) } else { 0 };
    let (mut out, all) = (String::new(), 0..40u64);
    for (what, values) in [
        ("packed", all.clone().map(packed).collect::<Vec<u64>>()),
        ("dcf", all.clone().flat_map(dcf).collect()),
        ("lut", all.clone().flat_map(lut).collect()),
        ("one mask for many values reveals their differences", Vec::new()),
        ("relu", all.map(relu).collect()),
    ] {
        out.push_str(what);
        values.iter().for_each(|value| write!(out, " {value:x}").unwrap());
        out.push('\n');
    }
    out + "jobs 1\n"
}

/// What an example prints, linked with the installed shared library.
#[cfg(target_os = "linux")]
fn output_of(name: &str) -> String {
    let lib = installed("example").join("lib");
    output_by("c++", &[&format!("-Wl,-rpath,{}", lib.display())], &lib.join("libtrefoil_pfss.so"), name)
}

/// What an example prints, compiled by `compiler` with further options and linked with `library`.
#[cfg(target_os = "linux")]
fn output_by(compiler: &str, options: &[&str], library: &Path, name: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    output_in(folder.path(), (compiler, options), library, name, |_| {})
}

/// What an example prints, compiled in `folder` and run after `prepare`.
#[cfg(target_os = "linux")]
fn output_in(
    folder: &Path,
    (compiler, options): (&str, &[&str]),
    library: &Path,
    name: &str,
    prepare: impl FnOnce(&mut Command),
) -> String {
    let program = folder.join(name);
    let mut command = Command::new(compiler);
    command
        .args(["-std=c++17", "-Wall", "-Wextra", "-Werror"])
        .args(options)
        .arg("-I")
        .arg(installed("example").join("include"))
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("examples/{name}.cpp")))
        .arg(library)
        .args(["-lpthread", "-ldl", "-lm", "-o"])
        .arg(&program);
    let compiled = test_process::output(&mut command, LIMIT);
    assert!(compiled.status.success(), "{compiler}, {name}: {}", String::from_utf8_lossy(&compiled.stderr));
    let mut command = Command::new(&program);
    prepare(&mut command);
    let run = test_process::output(&mut command, LIMIT);
    assert!(run.status.success(), "{compiler}, {name}: {}", String::from_utf8_lossy(&run.stderr));
    String::from_utf8(run.stdout).unwrap()
}

/// A prefix as `install` makes it, with the libraries that cargo built with this test.
///
/// Packaging takes seconds, so the tests of a `module`, which is a process, share a prefix.
#[cfg(target_os = "linux")]
pub(crate) fn installed(module: &str) -> &'static Path {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    PREFIX.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("pfss-ffi-{module}"));
        if folder.exists() {
            fs::remove_dir_all(&folder).unwrap();
        }
        let (built, prefix) = (folder.join("built"), folder.join("prefix"));
        fs::create_dir_all(&built).unwrap();
        for ending in ["a", "so"] {
            fs::copy(library(ending), built.join(format!("libtrefoil_pfss.{ending}"))).unwrap();
        }
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("package");
        let packaged = test_process::output(Command::new(script).arg(&built).arg(&prefix), LIMIT);
        assert!(packaged.status.success(), "{}", String::from_utf8_lossy(&packaged.stderr));
        prefix
    })
}

/// The compilers for the installed library: `g++`, and `clang++` where there is one.
///
/// Continuous integration has to have it: `ci/install/clang` installs it there.
#[cfg(target_os = "linux")]
fn compilers() -> Vec<&'static str> {
    let search = "command -v clang++ || test -z \"$CI\"";
    let searched = test_process::output(Command::new("sh").args(["-c", search]), LIMIT);
    assert!(searched.status.success(), "expected clang++, which ci/install/clang installs");
    let found = !searched.stdout.is_empty();
    if found { vec!["g++", "clang++"] } else { vec!["g++"] }
}

#[cfg(target_os = "linux")]
#[test]
fn a_program_in_c_plus_plus_gets_the_same_shares() {
    assert_eq!(output_of("composite"), expected());
}

#[cfg(target_os = "linux")]
#[test]
fn a_super_batch_in_c_plus_plus_gets_the_shares_of_single_gates() {
    assert_eq!(output_of("batch"), expected_of_batch());
}

#[cfg(target_os = "linux")]
#[test]
fn a_circuit_in_c_plus_plus_opens_masked_outputs_into_the_next_gate() {
    assert_eq!(output_of("circuit"), expected_of_circuit());
}

#[cfg(target_os = "linux")]
#[test]
fn functions_of_masked_values_in_c_plus_plus_are_the_public_functions() {
    assert_eq!(output_of("sigma"), expected_of_sigma());
}

/// On the simulated device, whose driver is in cargo's own library. It runs work as late as the driver may, so that a copy
/// out of the caller's order would be noticed.
#[cfg(target_os = "linux")]
#[test]
fn arrays_in_device_memory_keep_the_order_of_the_callers_stream() {
    let folder = tempfile::tempdir().unwrap();
    let simulated = |program: &mut Command| {
        program.arg("sim").env("TREFOIL_SIM", "schedule=lazy");
    };
    let printed = output_in(folder.path(), ("c++", &[]), &library("a"), "sigma_device", simulated);
    assert_eq!(printed, expected_of_sigma_device());
}

/// On two simulated devices; the calls refuse memory of the second.
#[cfg(target_os = "linux")]
#[test]
fn gates_products_and_calls_of_suf_take_arrays_in_device_memory() {
    let folder = tempfile::tempdir().unwrap();
    let simulated = |program: &mut Command| {
        program.arg("sim").env("TREFOIL_SIM", "devices=2;schedule=lazy");
    };
    let printed = output_in(folder.path(), ("c++", &[]), &library("a"), "device", simulated);
    assert_eq!(printed, expected_of_device());
}

#[cfg(target_os = "linux")]
#[test]
fn calls_of_suf_in_c_plus_plus_open_plain_arithmetic() {
    assert_eq!(output_of("suf"), expected_of_suf());
}

#[cfg(target_os = "linux")]
#[test]
fn examples_of_the_installed_library_run_under_the_sanitizers_of_each_compiler() {
    let examples = [
        ("composite", expected()),
        ("batch", expected_of_batch()),
        ("circuit", expected_of_circuit()),
        ("sigma", expected_of_sigma()),
        ("suf", expected_of_suf()),
    ];
    let options = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
    let library = installed("example").join("lib/libtrefoil_pfss.a");
    for compiler in compilers() {
        for (name, expected) in &examples {
            assert_eq!(output_by(compiler, &options, &library, name), *expected, "{compiler}, {name}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn the_cmake_package_names_files_of_the_prefix() {
    let prefix = installed("example");
    let package = prefix.join("lib/cmake/trefoilPfss");
    let config = fs::read_to_string(package.join("trefoilPfssConfig.cmake")).unwrap();
    let named: Vec<&str> =
        config.split("${trefoilPfss_PREFIX}/").skip(1).map_while(|rest| rest.split('"').next()).collect();
    assert_eq!(named.len(), 3, "{config}");
    for file in named {
        assert!(prefix.join(file).exists(), "{file}");
    }
    // The prefix is found from the package, three folders down.
    assert_eq!(package.join("../../..").canonicalize().unwrap(), prefix.canonicalize().unwrap());
    let version = fs::read_to_string(package.join("trefoilPfssConfigVersion.cmake")).unwrap();
    assert!(version.contains(&format!("set(PACKAGE_VERSION \"{}\")", env!("CARGO_PKG_VERSION"))), "{version}");
}
