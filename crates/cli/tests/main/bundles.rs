//! Keys of single gates: made, shown, used once, and refused.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, process::Output};

use nn_ops::io::{NpyArray, read_npy, write_npy};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    LIMIT,
    private::{expect_failure, listen, pfss, succeeded},
    text,
};

/// Runs a subcommand of `pfss`.
fn run(command: &str, args: &[&str]) -> Output {
    test_process::output(pfss(command).args(args), LIMIT)
}

/// The standard output of a subcommand of `pfss` that succeeds.
#[track_caller]
fn succeed(command: &str, args: &[&str]) -> String {
    succeeded(&run(command, args))
}

/// Checks that a subcommand of `pfss` fails with this code and a message with these words.
#[track_caller]
fn fail(command: &str, args: &[&str], code: i32, words: &str) {
    expect_failure(&run(command, args), code, &[words]);
}

/// A folder to work in, and paths in it.
struct Bench(TempDir);

impl Bench {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        fs::write(self.path(name), bytes).unwrap();
        self.path(name)
    }

    fn json(&self, name: &str) -> Value {
        serde_json::from_slice(&fs::read(self.path(name)).unwrap()).unwrap()
    }

    /// Makes keys and evaluates them on `input`; gives the results, a row for each element.
    fn evaluate(&self, name: &str, gate: &[&str], count: usize, input: &str) -> (Vec<usize>, Vec<u64>) {
        let (keys, out, json) = (self.path(name), self.path("out.npy"), self.path("eval.json"));
        succeed("gen", &[gate, &["--count", &count.to_string(), "--out", &keys]].concat());
        let arguments = ["--keys", &keys, "--input", input, "--out", &out, "--json", &json];
        let shown = succeed("eval", &arguments);
        assert!(shown.contains(&format!("0 of {count} elements differ")), "{shown}");
        let array = read_npy::<u64>(&fs::read(out).unwrap()).unwrap();
        (array.shape, array.data)
    }
}

#[test]
fn keys_of_a_gate_are_made_shown_and_used_once() {
    let bench = Bench::new();
    let x = [0, 1, -1, i64::MIN, i64::MAX, 77, -78];
    let input = bench.write("x.npy", write_npy(&NpyArray { shape: vec![7], data: x.to_vec() }).unwrap());
    let keys = bench.path("keys");
    succeed("gen", &["--gate", "relu", "--count", "7", "--out", &keys]);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for (file, expected) in [("", 0o700), ("party0", 0o700), ("party0/keys.pfk", 0o600), ("party1/identity.key", 0o600)]
    {
        assert_eq!(mode(&Path::new(&keys).join(file)), expected, "{file}");
    }

    let (bundle, facts) = (format!("{keys}/party1/keys.pfk"), bench.path("facts.json"));
    let shown = succeed("inspect", &[&bundle, "--json", &facts]);
    assert!(shown.contains("gate     relu, 64 bits to 64"), "{shown}");
    let facts = bench.json("facts.json");
    // 32 padded elements of a key of 63 bits: a root, 55 correction words, 2 leaves; 3 words and a bit
    let sections = facts["sections"].as_array().unwrap();
    let bytes: Vec<_> = sections.iter().map(|section| section["bytes"].as_u64().unwrap() / 32).collect();
    assert_eq!(bytes, [16, 16 * 55, 32, 24, 0]);
    assert_eq!(facts["bytes"], fs::metadata(&bundle).unwrap().len());
    assert_eq!(
        facts["element"],
        json!({"key_bits": 8 * 952 + 1, "aes_blocks": 56, "input_bits": 64, "masked_bits": 1, "rounds": 2})
    );
    assert_eq!((&facts["party"], &facts["total"]["aes_blocks"]), (&json!(1), &json!(7 * 56)));

    let (out, report) = (bench.path("y.npy"), bench.path("eval.json"));
    let key_bytes = [0, 1].map(|party| fs::metadata(format!("{keys}/party{party}/keys.pfk")).unwrap().len());
    let shown = succeed("eval", &["--keys", &keys, "--input", &input, "--out", &out, "--json", &report]);
    assert!(shown.contains("0 of 7 elements differ"), "{shown}");
    assert!(key_bytes[0] < key_bytes[1], "party 0 has a seed in place of keys");
    let line = format!("{} bytes of keys of party 0, {} of party 1\n", key_bytes[0], key_bytes[1]);
    assert!(shown.contains(&line), "{shown}");
    let shown: Vec<Vec<&str>> = shown.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(
        shown[..4],
        [vec!["results,", "opened:"], vec!["element", "x", "y"], vec!["0", "0", "0"], vec!["1", "1", "1"],]
    );
    assert_eq!(shown[4], ["2", "18446744073709551615", "(-1)", "0"]);
    let y = read_npy::<u64>(&fs::read(&out).unwrap()).unwrap();
    assert_eq!((y.shape, y.data), (vec![7, 1], x.map(|x| x.max(0) as u64).to_vec()));
    let report = bench.json("eval.json");
    // words, a byte of bits, and the digests of two rounds
    assert_eq!((&report["sent_bytes"], &report["rounds"]), (&json!(56 + 1 + 32), &json!(2)));
    assert_eq!((&report["aes_blocks"], &report["different"]), (&json!(7 * 56), &json!(0)));
    assert_eq!(report["key_bytes"], json!(key_bytes));

    assert!(!Path::new(&bundle).exists());
    fail("eval", &["--keys", &keys, "--input", &input], 4, "was used before");
}

#[test]
fn shifts_tables_and_descriptors_are_exact() {
    let bench = Bench::new();
    let input = bench.write("x.csv", "0,1,-1\n-500,499,37\n");
    let x = [0i64, 1, -1, -500, 499, 37];
    let ring = |value: i64| value.rem_euclid(1 << 20) as u64;
    let shift = ["--gate", "gap_ars", "--bits", "20", "--shift", "3", "--range", "-500", "499"];
    let (shape, y) = bench.evaluate("shift", &shift, 6, &input);
    assert_eq!((shape, y), (vec![6, 1], x.map(|x| ring(x.div_euclid(8))).to_vec()));

    let table: Vec<String> = (0..32).map(|i| (i * i).to_string()).collect();
    let table = bench.write("table", table.join(" "));
    let lut = ["--gate", "lut", "--bits", "5", "--word-bits", "12", "--table", &table];
    let (_, y) = bench.evaluate("lut", &lut, 3, &bench.write("positions", "0 31 7"));
    assert_eq!(y, [0, 961, 49]);

    // Below 2^19 x squared, else 5; and whether x is negative, or odd: bits of different numbers of low bits.
    for form in ["xor", "additive"] {
        let descriptor = json!({"gate": "suf", "descriptor": {
            "bits": 20, "words": ["y", "five"], "bools": ["negative", "negative_and_even"],
            "predicates": ["msb", {"lt_low": {"f": 1, "gamma": 1}}],
            "pieces": [
                {"start": 0, "polys": [[0, 0, 1], [5]], "bools": [{"var": 0}, {"and": [{"var": 0}, {"var": 1}]}]},
                {"start": 1 << 19, "polys": [[5], [5]], "bools": [{"var": 0}, {"and": [{"var": 0}, {"var": 1}]}]}],
            "modes": {"bools": form}}});
        let file = bench.write("descriptor.json", descriptor.to_string());
        let (shape, y) = bench.evaluate(form, &["--file", &file], 6, &input);
        let row = |x: i64| {
            let even = x.rem_euclid(2) == 0;
            [if x < 0 { 5 } else { ring(x * x) }, 5, u64::from(x < 0), u64::from(x < 0 && even)]
        };
        assert_eq!((shape, y), (vec![6, 4], x.map(row).concat()));
        // The file of these keys makes the same gate again.
        let again = bench.path("again");
        let copied = format!("{}/party1/gate.json", bench.path(form));
        succeed("gen", &["--file", &copied, "--count", "1", "--out", &again]);
        let shown = succeed("inspect", &[&format!("{again}/party0/keys.pfk")]);
        assert!(shown.contains(r#"words ["y", "five"], bits ["negative", "negative_and_even"]"#), "{shown}");
        fs::remove_dir_all(again).unwrap();
    }
}

#[test]
fn unusable_gates_inputs_and_keys_are_refused_by_name() {
    let bench = Bench::new();
    let (keys, other) = (bench.path("keys"), bench.path("other"));
    for (gate, expected) in [
        (vec!["--gate", "rely"], "unknown gate `rely`; expected one of: relu"),
        (vec!["--gate", "ars"], "expected `shift` for gate `ars`"),
        (vec!["--gate", "relu", "--shift", "3"], "expected no `shift` for gate `relu`"),
        (vec!["--gate", "relu", "--bits", "65"], "expected a ring of 2 to 64 bits"),
        (vec!["--gate", "gelu", "--bits", "32"], "expected a ring of 64 bits for gelu, got 32"),
        (vec!["--gate", "softmax"], "`trefoil pfss deal --model transformer` deals for one in a model"),
    ] {
        fail("gen", &[&gate[..], &["--count", "2", "--out", &keys]].concat(), 2, expected);
    }
    for count in ["0", "99999999999"] {
        let expected = format!("{count} is not in 1..=4294967295");
        fail("gen", &["--gate", "relu", "--count", count, "--out", &keys], 2, &expected);
    }
    fail("deal", &["--count", "65537", "--out", &keys], 2, "65537 is not in 1..=65536");
    let nowhere = run("gen", &["--gate", "relu", "--count", "2", "--out", &bench.path("none/keys")]);
    let message = text(&nowhere.stderr);
    assert!(nowhere.status.code() == Some(1) && message.matches("(os error 2)").count() == 1, "{message}");
    assert_eq!(fs::read_dir(bench.0.path()).unwrap().count(), 0, "nothing was written");

    let gate = ["--gate", "relu", "--bits", "16", "--count", "2", "--out"];
    succeed("gen", &[&gate[..], &[keys.as_str()]].concat());
    succeed("gen", &[&gate[..], &[other.as_str()]].concat());
    fail("gen", &[&gate[..], &[keys.as_str()]].concat(), 2, "exists; keys go to a new folder");

    let refused = |input: &str, code, words: &str| fail("eval", &["--keys", &keys, "--input", input], code, words);
    let good = bench.write("good", "1 2");
    for (text, code, expected) in [
        ("1 2 3", 2, "expected 2 inputs (from the keys), got 3"),
        ("1 65536", 1, "integer 1 does not fit 16 bits"),
        ("1 x", 1, "value 1 is not an integer"),
    ] {
        refused(&bench.write("bad", text), code, expected);
    }
    let of = |folder: &str, file: &str| Path::new(folder).join(file);
    const ZERO: &str = "party0/keys.pfk";
    let [zero, one] = [ZERO, "party1/keys.pfk"].map(|file| fs::read(of(&keys, file)).unwrap());
    let mut damaged = zero.clone();
    *damaged.last_mut().unwrap() ^= 1;
    for (bytes, expected) in [
        (&damaged, "content digest"),
        (&one, "expected keys of party 0, got keys of party 1"),
        (&fs::read(of(&other, ZERO)).unwrap(), "expected keys of one deal"),
    ] {
        fs::write(of(&keys, ZERO), bytes).unwrap();
        refused(&good, 4, expected);
    }
    fail("inspect", &[&bench.write("cut", &zero[..zero.len() - 1])], 4, "expected a bundle of");

    fs::write(of(&keys, ZERO), &zero).unwrap();
    fs::write(of(&keys, "party0/gate.json"), r#"{"gate": "ars", "bits": 16, "shift": 2}"#).unwrap();
    refused(&good, 4, "is for another gate: expected ars");
    // Nothing was used up by all that.
    assert!(!of(&keys, "party1/used").exists() && of(&keys, "party1/keys.pfk").exists());
}

#[test]
fn two_processes_evaluate_a_gate_on_shares_once() {
    let bench = Bench::new();
    let (keys, other) = (bench.path("keys"), bench.path("other"));
    for out in [&keys, &other] {
        succeed("gen", &["--gate", "relu_ars", "--bits", "16", "--shift", "2", "--count", "4", "--out", out]);
    }
    let x = [-9i64, 9, 32767, -32768];
    let shares = [[7i64, -7, 12_345, 0], [-16, 16, 32_767 - 12_345, -32_768]];
    let inputs = [0, 1].map(|p| {
        let array = NpyArray { shape: vec![4], data: shares[p].to_vec() };
        bench.write(&format!("share{p}.npy"), write_npy(&array).unwrap())
    });
    let [folders, outputs] = ["party", "out"].map(|name| {
        [0, 1]
            .map(|p| if name == "party" { format!("{keys}/{name}{p}") } else { bench.path(&format!("{name}{p}.npy")) })
    });
    let mut listening = pfss("eval");
    listening.args(["--keys", &folders[1], "--input", &inputs[1], "--out", &outputs[1], "--listen", "127.0.0.1:0"]);
    let (server, address) = listen(listening);
    let connect =
        |keys: &str| run("eval", &["--keys", keys, "--input", &inputs[0], "--out", &outputs[0], "--connect", &address]);

    expect_failure(&connect(&format!("{other}/party0")), 5, &["expected fingerprint"]);
    let shown = succeeded(&connect(&folders[0]));
    assert!(shown.contains("relu_ars of 16 bits on 4 elements"), "{shown}");
    let named = "shares of party 0, not results; the results are the sums of both parties' shares modulo 2^16:";
    assert!(shown.contains(named) && shown.contains("share of y"), "{shown}");
    // 4 words of 16 bits, two rows of bits, and the digests of two rounds
    assert!(shown.contains("2 rounds, 42 bytes sent by each party, predicted 42"), "{shown}");
    succeeded(&server.output());
    let [zero, one] = outputs.each_ref().map(|path| read_npy::<u64>(&fs::read(path).unwrap()).unwrap().data);
    let y: Vec<u64> = zero.iter().zip(&one).map(|(a, b)| a.wrapping_add(*b) % (1 << 16)).collect();
    assert_eq!(y, x.map(|x| (x.max(0) / 4) as u64));
    for (at, share) in zero.iter().enumerate() {
        let row = format!("{at} {share}");
        assert!(shown.lines().any(|line| line.split_whitespace().collect::<Vec<_>>().join(" ") == row), "{shown}");
    }

    expect_failure(&connect(&folders[0]), 4, &["was used before"]);
    fail("eval", &["--keys", &other, "--input", &inputs[0], "--listen", "a", "--connect", "b"], 2, "");
}

/// Inputs with 12 fraction bits, and a function by name of them, with the greatest error in units of the last place.
type FunctionCase<'a> = (&'a [&'a str], &'a [f64], fn(f64) -> f64, u32, f64);

#[test]
fn functions_by_name_are_those_of_real_numbers() {
    let bench = Bench::new();
    // gelu of these, by a table of the normal distribution
    let gelu = |x: f64| match x {
        1.0 => 0.841_344_746,
        -1.0 => -0.158_655_254,
        1.5 => 1.399_789_203,
        x => x.max(0.0),
    };
    let cases: [FunctionCase<'_>; 6] = [
        (&["--gate", "gelu"], &[1.0, -1.0, 1.5, 0.0, 9.0, -9.0], gelu, 12, 0.63),
        (
            &["--gate", "gelu", "--degree", "2", "--pieces", "32", "--range", "-8192", "8191"],
            &[1.5, -1.0],
            gelu,
            12,
            0.77,
        ),
        (&["--gate", "silu", "--bits", "64"], &[1.0, -2.0, 30.0], |x| x / (1.0 + (-x).exp()), 12, 1.0),
        (&["--gate", "neg_exp", "--fraction", "12"], &[0.0, 1.0, 20.0], |t| (-t).exp(), 12, 1.34),
        (&["--gate", "reciprocal", "--fraction", "20"], &[1.0, 3.0, 1000.0], |z| 1.0 / z, 20, 160.0),
        (
            &["--gate", "rsqrt", "--octaves", "4", "--coefficients", "interval_lut"],
            &[0.25, 0.7],
            |z| 1.0 / z.sqrt(),
            12,
            0.57,
        ),
    ];
    for (at, (gate, x, function, fraction, bound)) in cases.into_iter().enumerate() {
        let fixed: Vec<_> = x.iter().map(|x| (x * 4096.0).round()).collect();
        let text: Vec<_> = fixed.iter().map(f64::to_string).collect();
        let input = bench.write("x.csv", text.join(" "));
        let (_, y) = bench.evaluate(&format!("keys{at}"), gate, x.len(), &input);
        for (x, y) in fixed.iter().zip(y) {
            let error = y.cast_signed() as f64 - function(x / 4096.0) * f64::from(1 << fraction);
            assert!(error.abs() <= bound, "{gate:?} of {x}: {y}, off by {error}");
        }
    }
    let shown = succeed("inspect", &[&bench.path("keys0/party1")]);
    assert!(shown.contains("keys     gelu, used"), "{shown}");
}

#[test]
fn two_processes_evaluate_a_function_on_shares_once() {
    let bench = Bench::new();
    let keys = bench.path("keys");
    succeed("gen", &["--gate", "gelu", "--count", "3", "--out", &keys]);
    let folders = [0, 1].map(|p| format!("{keys}/party{p}"));
    let (shares, outputs) =
        ([[7i64, -7, 12_345], [4089, -4089, -12_345]], [0, 1].map(|p| bench.path(&format!("y{p}"))));
    let inputs = [0, 1].map(|p| bench.write(&format!("x{p}"), shares[p].map(|share| share.to_string()).join(" ")));
    let mut listening = pfss("eval");
    listening.args(["--keys", &folders[1], "--input", &inputs[1], "--out", &outputs[1], "--listen", "127.0.0.1:0"]);
    let (server, address) = listen(listening);
    let connect = ["--keys", &folders[0], "--input", &inputs[0], "--out", &outputs[0], "--connect", &address];
    let shown = succeed("eval", &connect);
    succeeded(&server.output());
    assert!(shown.contains("gelu of 64 bits on 3 elements"), "{shown}");
    let [zero, one] = outputs.each_ref().map(|path| read_npy::<u64>(&fs::read(path).unwrap()).unwrap().data);
    let y: Vec<_> = zero.iter().zip(&one).map(|(a, b)| a.wrapping_add(*b).cast_signed()).collect();
    assert_eq!(y, [3446, -650, 0]); // 0.841344746 and -0.158655254 of 4096, and nothing of 0
    fail("eval", &connect, 4, "was used before");
    assert!(!["keys.pfk", "shift.pfk"].iter().any(|file| Path::new(&folders[0]).join(file).exists()));
}

#[test]
fn keys_are_verified_without_being_used() {
    let bench = Bench::new();
    let (gates, models, other) = (bench.path("gates"), bench.path("models"), bench.path("other"));
    let dealt = succeed("gen", &["--gate", "gelu", "--count", "2", "--out", &gates]);
    let dealt = [dealt, succeed("deal", &["--count", "1", "--out", &models])].concat();
    succeed("gen", &["--gate", "gelu", "--count", "2", "--out", &other]);
    let verify = |path: &str, more: &[&str]| succeed("verify", &[&[path], more].concat());
    for (folder, purpose) in [(&gates, "gelu for 2 elements"), (&models, "digits for 1 images")] {
        let shown = verify(folder, &[]);
        for party in ["party0", "party1"] {
            let folder = format!("{folder}/{party}");
            let digest = |text: &str| {
                let line = text.lines().find(|line| line.starts_with(&folder)).unwrap();
                line.rsplit_once("digest ").unwrap().1.to_owned()
            };
            assert!(shown.contains(&format!("{folder}  sound and unused: {purpose}")), "{shown}");
            assert_eq!(digest(&shown), digest(&dealt), "what the dealer was told is what the party finds");
            verify(&folder, &["--digest", &digest(&dealt).to_uppercase()]);
            fail("verify", &[&folder, "--digest", "00"], 4, "expected digest 00, got");
            let shown = succeed("inspect", &[&folder]);
            assert!(!shown.contains("used"), "{shown}");
        }
    }
    let bundle = format!("{gates}/party0/shift.pfk");
    assert!(verify(&bundle, &[]).contains("sound: gap ars for 2 elements, party 0"));

    // Whatever is wrong is found, and put right again.
    let refused = |folder: &str, expected: &str| fail("verify", &[folder], 4, expected);
    let change = |file: &str, to: Option<&[u8]>, expected: &str| {
        let (folder, original) = (file.rsplit_once('/').unwrap().0, fs::read(file).unwrap());
        match to {
            Some(bytes) => fs::write(file, bytes).unwrap(),
            None => fs::remove_file(file).unwrap(),
        }
        refused(folder, expected);
        fs::write(file, original).unwrap();
    };
    let flipped = |file: &str| {
        let mut bytes = fs::read(file).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        bytes
    };
    change(&bundle, Some(&flipped(&bundle)), "content digest");
    change(&bundle, None, "`shift.pfk`: is missing");
    let suf = fs::read(format!("{gates}/party0/keys.pfk")).unwrap();
    change(&bundle, Some(&suf), "`shift.pfk` is for another gate");
    let one = fs::read(format!("{gates}/party1/shift.pfk")).unwrap();
    change(&bundle, Some(&one), "`shift.pfk` differs in party or element count");
    let key = format!("{models}/party1/001.key");
    change(&key, Some(&flipped(&key)), "expected SHA-256");
    change(&format!("{models}/party0/identity.der"), None, "`identity.der`: is missing");
    for (file, expected) in [
        ("keys.pfk", "expected keys of one deal, got keys of two"),
        ("shift.pfk", "expected keys of one deal, got keys of two"),
        ("peer", "expected parties that accept each other's certificate"),
    ] {
        let (mine, theirs) = (format!("{gates}/party1/{file}"), format!("{other}/party1/{file}"));
        let original = fs::read(&mine).unwrap();
        fs::copy(&theirs, &mine).unwrap();
        refused(&gates, expected);
        fs::write(&mine, original).unwrap();
    }

    // After all that the keys are good still, and then they are not.
    let input = bench.write("x", "4096 0");
    assert!(succeed("eval", &["--keys", &gates, "--input", &input]).contains("0 of 2 elements differ"));
    refused(&gates, "was used before");
    fail("verify", &[bench.0.path().to_str().unwrap()], 2, "is not a key folder");
}

#[test]
fn a_folder_of_another_kind_is_named_with_the_command_that_takes_it() {
    let bench = Bench::new();
    let (gates, models, facts) = (bench.path("gates"), bench.path("models"), bench.path("facts.json"));
    succeed("gen", &["--gate", "abs", "--count", "1", "--out", &gates]);
    succeed("deal", &["--count", "1", "--out", &models]);
    let input = bench.write("x", "1");
    let gate = format!("{gates}/party0");
    for (command, keys, more, expected) in [
        (
            "infer",
            &gate,
            ["--connect", "127.0.0.1:1"],
            "got one party's keys for a gate (from `gen`); `trefoil pfss eval`",
        ),
        ("serve", &gate, ["--weights", "none"], "`trefoil pfss eval` takes it with --listen or --connect"),
        ("serve", &models, ["--weights", "none"], "takes"),
        (
            "eval",
            &models,
            ["--input", &input],
            "got both parties' keys for a model (from `deal`); `trefoil pfss infer`",
        ),
        ("eval", &gate, ["--input", &input], "`trefoil pfss eval` takes it with --listen or --connect"),
        ("eval", &input, ["--input", &input], "got a file"),
        ("infer", &bench.path("none"), ["--connect", "127.0.0.1:1"], "none does not exist"),
    ] {
        fail(command, &[&["--keys", keys], &more[..]].concat(), 2, expected);
    }
    for (path, expected) in
        [(&gates, "keys     abs"), (&gate, "gate     relu, 64 bits to 64"), (&models, "model  digits")]
    {
        let shown = succeed("inspect", &[path, "--json", &facts]);
        assert!(shown.contains(expected), "{shown}");
    }
    assert_eq!(bench.json("facts.json")[1]["manifest"]["party"], 1);
    succeed("inspect", &[&gate, "--json", &facts]);
    assert_eq!(
        (&bench.json("facts.json")["used"], &bench.json("facts.json")["bundles"][0]["count"]),
        (&json!(false), &json!(1))
    );
}
