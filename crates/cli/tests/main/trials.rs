//! Kernels with known results on the simulated device.

use std::{fs, path::Path};

use serde_json::Value;

use super::{call, fails, lines, text, trefoil};

/// Standard output, exit code and events of a run with these arguments on this simulated machine.
fn run(arguments: &[&str], machine: &str) -> (String, Option<i32>, Vec<Value>) {
    let folder = tempfile::tempdir().unwrap();
    let events = folder.path().join("events");
    let mut command = call("trials --backend sim");
    command.args(arguments).arg("--events").arg(&events);
    command.env("TREFOIL_SIM", machine);
    let output = command.assert().get_output().clone();
    (text(&output.stdout), output.status.code(), lines(&events))
}

/// The values of a key in all events of this kind.
fn of<'a>(events: &'a [Value], kind: &str, key: &str) -> Vec<&'a str> {
    let chosen = events.iter().filter(|event| event["event"] == kind);
    chosen.map(|event| event[key].as_str().unwrap_or_default()).collect()
}

#[test]
fn trials_hold_the_simulated_device_to_the_host() {
    let (shown, code, events) = run(&[], "sms=132;cc=9.0;driver=13.0");
    assert_eq!(code, Some(0), "{shown}");
    let begun = of(&events, "begins", "op");
    for family in ["narrow", "words", "wide", "single", "double", "casts", "control", "arrays", "calls"] {
        let kernel = format!("differential_{family}");
        assert_eq!(begun.iter().filter(|&&op| op == kernel).count(), 2, "{kernel}");
    }
    for canary in ["barrier", "shuffle", "assembly_shuffle", "checked", "shared", "last_block_fenced"] {
        let kernel = format!("canary_{canary}");
        assert_eq!(begun.iter().filter(|&&op| op == kernel).count(), 2, "{kernel}");
    }
    assert!(!shown.contains("canary_last_block_ordered"));
    assert_eq!(of(&events, "ends", "verdict"), vec!["passed"; 32]);
    assert!(shown.contains("32 passed, 0 failed") && shown.ends_with("32 cases on sim\n"), "{shown}");
    let closed = events.last().unwrap();
    assert_eq!(closed["event"], "closed");
}

#[test]
fn a_lost_device_ends_the_trials_at_the_kernel_that_lost_it() {
    let (shown, code, events) = run(&["canary_s"], "fail=700@launch:2");
    assert_eq!(code, Some(1));
    assert_eq!(of(&events, "begins", "op"), ["canary", "canary_shuffle", "canary_shuffle"]);
    assert_eq!(of(&events, "ends", "verdict"), ["passed", "passed", "lost"]);
    let rest = events.iter().find(|event| event["event"] == "not_run").unwrap();
    assert_eq!((&rest["op"], &rest["runs"]), (&"canary_shuffle".into(), &2.into()));
    assert!(shown.contains("LOST") && shown.contains("2 cases not run: the device is lost"), "{shown}");
}

#[test]
fn a_refused_launch_is_reported_and_the_next_kernel_follows() {
    let (_, code, events) = run(&["canary_s"], "fail=701@launch:1");
    assert_eq!(code, Some(1));
    assert_eq!(of(&events, "ends", "verdict"), ["passed", "failed", "passed", "passed", "passed"]);
}

/// The committed samples of the families of kernels.
const SAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/kernels");

#[test]
fn samples_of_every_family_have_their_results_on_the_simulated_device() {
    let output = call("trials --backend sim --samples").arg(SAMPLES).assert().code(0).get_output().clone();
    let shown = text(&output.stdout);
    for family in ["arithmetic", "math", "control", "vector", "matrix", "reductions", "pairs"] {
        assert!(shown.contains(&format!("{family:<12} passed, 3 samples\n")), "{shown}");
    }
    assert_eq!(shown.lines().count(), 7, "{shown}");
}

#[test]
fn a_wrong_result_of_a_sample_fails_its_family() {
    let folder = tempfile::tempdir().unwrap();
    let index = fs::read_to_string(Path::new(SAMPLES).join("index.jsonl")).unwrap();
    let lines = index.lines().filter(|line| line.contains("\"arithmetic\"") || line.contains("\"control\""));
    let mut kept = String::new();
    for line in lines {
        let name = serde_json::from_str::<Value>(line).unwrap()["folder"].as_str().unwrap().to_owned();
        fs::create_dir(folder.path().join(&name)).unwrap();
        let (from, to) = (Path::new(SAMPLES).join(&name), folder.path().join(&name));
        for file in ["kernel.ptx", "kernel.json", "expected.json"] {
            fs::copy(from.join(file), to.join(file)).unwrap();
        }
        if name.starts_with("control") {
            let text = fs::read_to_string(from.join("expected.json")).unwrap();
            let mut expected: Value = serde_json::from_str(&text).unwrap();
            let word = &mut expected["launches"][0]["words"][0];
            *word = (word.as_u64().unwrap() ^ 1).into();
            fs::write(to.join("expected.json"), expected.to_string()).unwrap();
        }
        kept.push_str(line);
        kept.push('\n');
    }
    fs::write(folder.path().join("index.jsonl"), kept).unwrap();
    let run = |arguments: &[&str]| {
        let mut command = call("trials --backend sim --samples");
        let output = command.arg(folder.path()).args(arguments).assert().get_output().clone();
        (text(&output.stdout), output.status.code())
    };
    let (shown, code) = run(&[]);
    assert!(shown.contains("arithmetic   passed, 3 samples\n"), "{shown}");
    assert!(shown.contains("control      FAILED, ") && code == Some(1), "{shown}");
    assert_eq!(run(&["arith"]), ("arithmetic   passed, 3 samples\n".to_owned(), Some(0)));
    assert_eq!(run(&["no such family"]).1, Some(2));
}

#[test]
fn trials_need_a_device_and_a_kernel() {
    let command = |arguments: &[&str]| {
        let mut command = trefoil();
        command.arg("trials").args(arguments).env("TREFOIL_CUDA_LIBRARY", "none");
        command
    };
    for no_device in [&[][..], &["--backend", "cpu"]] {
        fails(&mut command(no_device), 2, &["need a device"]);
    }
    command(&["--backend", "gpu"]).assert().code(3);
    command(&["--backend", "sim", "no such kernel"]).assert().code(2);
}
