//! The options of `trefoil stark`: what they take is in `--help` and in what refuses all else, and files from strangers
//! are told in a few words.

use std::fs;

use serde_json::{Value, json};

use super::{LIMIT, call, fails, program, stderr_of, stdout_of, text, trefoil};

/// Checks that the program rejects arguments, with these words.
#[track_caller]
fn refused(arguments: &[&str], words: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let mut line = trefoil();
    let output = line.current_dir(folder.path()).args(arguments).assert().code(2).get_output().clone();
    assert!(output.stdout.is_empty(), "{arguments:?}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{arguments:?}");
    let said = text(&output.stderr);
    assert!(words.iter().all(|word| said.contains(word)), "{arguments:?}: expected {words:?}, got {said}");
}

fn help(command: &str) -> String {
    let help = stdout_of(trefoil().args(["stark", command, "--help"]));
    help.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn each_range_is_in_the_help_and_in_what_refuses_a_value() {
    let prove = ["stark", "prove", "--air", "wide-fibonacci", "--log-rows", "4", "--out", "a"];
    let bench = ["stark", "bench", "--air", "wide-fibonacci", "--log-rows", "4"];
    let verify = ["stark", "verify", "a"];
    for (line, option, range) in [
        (&prove[..], "--columns", "3..=65536"),
        (&prove, "--seed", "0..=2147483646"),
        (&prove, "--log-blowup", "1..=16"),
        (&prove, "--queries", "1..=65536"),
        (&prove, "--pow-bits", "0..=40"),
        (&prove, "--fold-step", "1..=30"),
        (&prove, "--last-layer", "0..=10"),
        (&prove, "--lifting", "1..=30"),
        (&prove, "--devices", "1..=64"),
        (&prove, "--patience", "1..=86400"),
        (&bench, "--rounds", "1..=1000"),
        (&bench, "--columns", "3..=65536"),
        (&verify, "--min-security", "0..=120"),
    ] {
        assert!(help(line[1]).contains(range), "{option}");
        for value in ["", "many", "4294967296", "99999999999999999999", "1.5", "-1", "2147483647"] {
            let argument = format!("{option}={value}");
            refused(&[line, &[argument.as_str()]].concat(), &[&format!("expected a whole number of {range}")]);
        }
    }
    for value in ["0", "29", "", "x"] {
        let line = ["stark", "prove", "--air", "plonk", "--out", "a", &format!("--log-rows={value}")];
        refused(&line, &["expected a whole number of 1..=28"]);
    }
    for (word, command) in [("[default: 100]", "prove"), ("[default: 80]", "prove"), ("[default: 5]", "bench")] {
        assert!(help(command).contains(word), "{word}");
    }
    assert!(help("verify").contains("host alone") && help("verify").contains("TREFOIL_BACKEND"));
}

#[test]
fn options_that_fit_neither_the_computation_nor_each_other_are_refused() {
    let prove = |air: &str, log_rows: &str, more: &[&str], expected: &str| {
        let line = ["stark", "prove", "--out", "a", "--air", air, "--log-rows", log_rows];
        refused(&[&line[..], more].concat(), &[expected]);
    };
    for air in ["state-machine", "plonk", "poseidon2", "blake2s"] {
        prove(air, "4", &["--columns", "5"], "`--columns` requires `--air wide-fibonacci`");
        prove(air, "4", &["--trace-npy", "no.npy"], "`--trace-npy` requires `--air wide-fibonacci`");
    }
    prove("wide-fibonacci", "4", &["--trace-npy", "no.npy", "--seed", "1"], "cannot be used with");
    for (air, log_rows, more, expected) in [
        ("plonk", "23", &[][..], "`--log-rows` of plonk: expected a whole number of 1..=22, got 23"),
        ("blake2s", "21", &[], "`--air blake2s`: expected a log row count of 1..=20, got 21"),
        (
            "wide-fibonacci",
            "28",
            &["--log-blowup", "3"],
            "`--log-blowup` with 2^28 rows: expected a whole number of 1..=2, got 3",
        ),
        (
            "plonk",
            "4",
            &["--fold-step", "5"],
            "`--fold-step` and `--last-layer`: expected a sum of at most 4, got 5 and 0",
        ),
        ("plonk", "4", &["--lifting", "4"], "`--lifting`: expected a whole number of 5..=30, got 4"),
        ("plonk", "12", &["--log-blowup", "13"], "at most 2^24 leaves"),
    ] {
        prove(air, log_rows, more, expected);
    }
    // What makes no file is measured where there are such proofs.
    let bench = ["stark", "bench", "--air", "plonk", "--log-rows", "4", "--lifting", "4"];
    refused(&bench, &["5..=30"]);
    refused(&["stark", "bench", "--air", "plonk", "--log-rows", "4", "--columns", "4"], &["--columns"]);
    refused(&["stark", "prove", "--air", "plonk", "--log-rows", "4"], &["--out"]);
}

#[test]
fn threads_beyond_any_machine_are_refused() {
    for value in ["0", "1025", "18446744073709551615", "99999999999999999999", "two"] {
        let mut bench = call("stark bench --air plonk --log-rows 4");
        fails(bench.env("TREFOIL_THREADS", value), 2, &["TREFOIL_THREADS", "1..=1024"]);
    }
}

#[test]
fn a_proof_that_does_not_fit_is_refused_before_its_trace_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |command: &str, limit: &str, line: &[&str]| {
        let mut program = trefoil();
        program.current_dir(folder.path()).env("TREFOIL_MEM_LIMIT", limit);
        stderr_of(program.args(["stark", command]).args(line), 1)
    };
    let refuses = |said: &str| said.contains("error: the proof needs ") && said.contains("budget exceeded");
    for air in ["wide-fibonacci", "plonk", "poseidon2", "blake2s"] {
        let line = ["--air", air, "--log-rows", "20", "--out", "a"];
        // Devices that are parts of a processor have parts of its memory.
        for (more, free) in [(&[][..], "of 8388608 bytes"), (&["--devices", "2"], "of 4194304 bytes")] {
            let said = refused("prove", "8M", &[&line[..], more].concat());
            assert!(refuses(&said) && said.contains(free), "{said}");
        }
        let said = refused("bench", "8M", &line[..4]);
        assert!(refuses(&said) && said.contains("of 8388608 bytes"), "{said}");
    }
    // The trace has room, and is not read where the proof has none.
    fs::write(folder.path().join("trace.npy"), b"not read").unwrap();
    let line =
        ["--air", "wide-fibonacci", "--columns", "5", "--log-rows", "12", "--out", "a", "--trace-npy", "trace.npy"];
    for (limit, more) in [("128K", &[][..]), ("256K", &["--blocks", "2"]), ("128K", &["--devices", "2"])] {
        let said = refused("prove", limit, &[&line[..], more].concat());
        assert!(refuses(&said), "{limit}, {more:?}: {said}");
    }
    // Where coefficients are on the host, more is needed for a trace that is made on the device.
    let whole = ["--air", "wide-fibonacci", "--columns", "5", "--log-rows", "12", "--blocks", "4", "--host"];
    let planned = stdout_of(call("stark plan").args(whole));
    let bytes = |what: &str| {
        let line = planned.lines().find(|line| line.ends_with(what)).unwrap();
        (line.split_whitespace().next().unwrap().parse::<f64>().unwrap() * 1e6) as u64
    };
    let limit = (bytes("whole proof") + bytes("made on the device") * 3 / 4).to_string();
    let said = refused("prove", &limit, &[&whole[..], &["--out", "a"]].concat());
    assert!(refuses(&said), "{limit}: {said}");
    let given = refused("prove", &limit, &[&line[..], &["--blocks", "4", "--host"]].concat());
    assert!(!refuses(&given) && given.contains("trace.npy"), "{limit}: {given}");
    let said = refused("prove", "8M", &line);
    assert!(!refuses(&said) && said.contains("trace.npy"), "{said}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[cfg(target_os = "linux")]
#[test]
fn a_proof_larger_than_the_machine_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let line = ["stark", "prove", "--air", "wide-fibonacci", "--log-rows", "28", "--columns", "65536", "--out", "a"];
    for blocks in [&[][..], &["--blocks", "4"]] {
        let advice = "use more `--blocks`, more `--devices` or fewer rows";
        let words = ["error: the proof needs ", "MiB available", advice];
        fails(trefoil().current_dir(folder.path()).args(line).args(blocks), 1, &words);
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// Where the system refuses memory, which it does at once beyond a limit on addresses.
#[cfg(target_os = "linux")]
#[test]
fn memory_that_the_system_refuses_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    for (air, log_rows) in [("wide-fibonacci", "28"), ("poseidon2", "26"), ("blake2s", "20"), ("plonk", "22")] {
        let mut shell = std::process::Command::new("sh");
        shell
            .args(["-c", "ulimit -v 2000000; exec \"$@\"", "sh"])
            .arg(program().get_program())
            .current_dir(folder.path());
        shell.args(["stark", "prove", "--air", air, "--log-rows", log_rows, "--out", "a"]).env("TREFOIL_THREADS", "2");
        let output = test_process::output(&mut shell, LIMIT);
        assert_eq!(output.status.code(), Some(1), "{air}: {}", text(&output.stderr));
        let said = text(&output.stderr);
        assert!(said.contains("out of memory") || said.contains("MiB available"), "{air}: {said}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn what_hostile_files_hold_is_escaped_and_cut() {
    const HOSTILE: &str = "\u{1b}]0;title\u{7}\u{1b}[2J\u{202e}\r\n";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a\u{1b}[31mb");
    let prove = ["stark", "prove", "--air", "plonk", "--log-rows", "4", "--queries", "3", "--pow-bits", "1"];
    trefoil().args(prove).arg("--out").arg(&path).assert().success();
    let tame = |bytes: &[u8]| {
        let said = text(bytes);
        let bad = said.chars().find(|&c| (c.is_control() && c != '\n') || c == '\u{202e}');
        assert!(bad.is_none() && said.len() < 4_000, "{} bytes, {bad:?}: {:.2000}", said.len(), said);
        said
    };
    for command in ["verify", "inspect"] {
        let weak: &[&str] = if command == "verify" { &["--min-security=0"] } else { &[] };
        let output = trefoil().args(["stark", command]).args(weak).arg(&path).assert().success().get_output().clone();
        tame(&output.stdout);
    }
    let whole: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let long = HOSTILE.repeat(100_000);
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut file = whole.clone();
        change(&mut file);
        fs::write(&path, serde_json::to_vec(&file).unwrap()).unwrap();
        for command in ["verify", "inspect"] {
            let output = trefoil().args(["stark", command]).arg(&path).assert().get_output().clone();
            assert!(matches!(output.status.code(), Some(0 | 1)) && (command != "verify" || !output.status.success()));
            tame(&output.stdout);
            tame(&output.stderr);
        }
    };
    for text in [HOSTILE, long.as_str()] {
        changed(&|file| file["format"] = json!(text));
        changed(&|file| file["stwo"] = json!(text));
        changed(&|file| file["statement"] = json!({ text: {} }));
        changed(&|file| file["statement"]["plonk"]["inputs"] = json!(text));
        changed(&|file| drop(file.as_object_mut().unwrap().insert(text.to_owned(), json!(1))));
        changed(&|file| drop(file["proof"].as_object_mut().unwrap().insert(text.to_owned(), json!(1))));
        changed(&|file| file["proof"]["commitments"][0] = json!(text));
    }
    let many = |item: &Value| Value::from(vec![item.clone(); 100_000]);
    changed(&|file| file["statement"]["plonk"]["outputs"] = many(&json!(7)));
    changed(&|file| file["claimed_sums"] = many(&whole["claimed_sums"][0]));
    changed(&|file| file["proof"]["commitments"] = many(&whole["proof"]["commitments"][0]));
    changed(&|file| file["proof"]["sampled_values"] = many(&json!([])));
    fs::write(&path, HOSTILE).unwrap();
    let said = tame(stderr_of(call("stark verify").arg(&path), 1).as_bytes());
    assert!(said.starts_with("error: reading ") && said.contains(r"\u{1b}[31mb: not a proof file"), "{said}");
}
