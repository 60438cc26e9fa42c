//! The program as a user meets it: exit codes, messages, reports, two processes.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod bundles;
#[cfg(unix)]
mod cluster;
mod networks;
mod private;
mod profile;
mod rehearsal;
mod serving;
mod stark;
mod stark_devices;
mod stark_files;
mod stark_options;
#[cfg(not(feature = "mpi"))]
mod stark_ranks;
mod stark_scale;
mod trials;

use std::{
    fs,
    path::Path,
    process::{self, Stdio},
    time::Duration,
};

use assert_cmd::{Command, cargo::CommandCargoExt as _};
use serde_json::Value;

/// The limit of a process, far above what any takes on a busy machine.
const LIMIT: Duration = Duration::from_mins(10);

/// The program, without the variables of whoever runs the tests.
fn program() -> process::Command {
    let mut command = process::Command::cargo_bin("trefoil").expect("the program is built");
    for variable in runtime::VARIABLES {
        command.env_remove(variable.name);
    }
    command
}

/// As [`program`], for a run that is waited for.
fn trefoil() -> Command {
    let mut command = Command::from_std(program());
    command.timeout(LIMIT);
    command
}

/// As [`trefoil`], with arguments that have no spaces.
fn call(line: &str) -> Command {
    let mut command = trefoil();
    command.args(line.split(' '));
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The standard output of a command that succeeds.
fn stdout_of(command: &mut Command) -> String {
    text(&command.assert().success().get_output().stdout)
}

/// The standard output of a command that succeeds, as JSON.
fn json_of(command: &mut Command) -> Value {
    serde_json::from_str(&stdout_of(command)).unwrap()
}

/// The lines of JSON in a file.
fn lines(path: &Path) -> Vec<Value> {
    fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The standard error of a command that ends with this code.
fn stderr_of(command: &mut Command, code: i32) -> String {
    text(&command.assert().code(code).get_output().stderr)
}

/// As [`stderr_of`]; each of these words must be in it.
#[track_caller]
fn fails(command: &mut Command, code: i32, words: &[&str]) -> String {
    let said = stderr_of(command, code);
    assert!(words.iter().all(|word| said.contains(word)), "expected {words:?}, got {said}");
    said
}

#[test]
fn help_names_every_command_and_the_exit_codes() {
    let output = stdout_of(trefoil().arg("--help"));
    for word in [
        "demo",
        "pfss",
        "stark",
        "nn",
        "doctor",
        "conformance",
        "bench",
        "trials",
        "Exit codes",
        "backend is not available",
        "keys were refused",
    ] {
        assert!(output.contains(word), "{word}");
    }
}

#[test]
fn doctor_lists_backends_with_reasons_and_every_variable() {
    let facts = json_of(call("doctor --json").env("TREFOIL_CUDA_LIBRARY", "none"));
    let gpu = facts["backends"].as_array().unwrap().iter().find(|b| b["name"] == "gpu").unwrap();
    assert_eq!(gpu["available"], false);
    assert!(gpu["reason"].as_str().unwrap().contains("switched off"));
    assert_eq!(facts["cuda"]["reason"], gpu["reason"]);
    assert_eq!(facts["variables"].as_array().unwrap().len(), runtime::VARIABLES.len());
    let shown = stdout_of(trefoil().arg("doctor").env("TREFOIL_THREADS", "1"));
    assert!(shown.contains("TREFOIL_THREADS          1"));
}

#[test]
fn an_unavailable_backend_ends_with_code_3_and_its_reason() {
    for (variable, arguments) in [("TREFOIL_BACKEND", ["doctor", "--json"]), ("SUF_PFSS_BACKEND", ["demo", "--small"])]
    {
        fails(trefoil().args(arguments).env(variable, "gpu").env("TREFOIL_CUDA_LIBRARY", "none"), 3, &["switched off"]);
    }
}

#[test]
fn a_closed_standard_output_is_no_error() {
    for arguments in [&["doctor"][..], &["stark", "plan", "--air", "plonk", "--log-rows", "4"]] {
        let mut command = program();
        let mut child = command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = test_process::output_of(child, LIMIT);
        assert!(output.status.success() && output.stderr.is_empty(), "{}", text(&output.stderr));
    }
}

#[test]
fn misspelt_variables_are_refused_and_doctor_lists_them() {
    let words = ["environment: unknown variable TREFOIL_BACKENDS", "`trefoil doctor` lists every variable"];
    fails(call("demo --small").env("TREFOIL_BACKENDS", "gpu"), 2, &words);
    let shown = stdout_of(trefoil().arg("doctor").env("RSI_ML_BACKENDS", "gpu"));
    assert!(shown.contains("RSI_ML_BACKENDS          unknown: no variable has this name"), "{shown}");
}

#[test]
fn doctor_shows_the_devices_of_the_simulated_driver() {
    let mut doctor = call("doctor --json");
    doctor.env("TREFOIL_BACKEND", "sim").env("TREFOIL_SIM", "devices=2;cc=9.0;mem=64M");
    let facts = json_of(&mut doctor);
    assert_eq!(facts["active"]["status"], "sim");
    let devices = facts["cuda"]["devices"].as_array().unwrap();
    assert_eq!(devices.len(), 2);
    assert_eq!((&devices[1]["capability"], &devices[1]["memory_bytes"]), (&"9.0".into(), &(64 << 20).into()));
}

#[test]
fn doctor_draws_how_devices_reach_each_other() {
    let doctor = |more: &[&str]| {
        let mut doctor = trefoil();
        doctor.env("TREFOIL_BACKEND", "sim").env("TREFOIL_SIM", "devices=3;links=0-1:nvlink,1-2:dropped");
        stdout_of(doctor.arg("doctor").args(more))
    };
    let facts: Value = serde_json::from_str(&doctor(&["--json"])).unwrap();
    let links = facts["links"]["links"].as_array().unwrap();
    assert_eq!(links.len(), 6);
    let of = |from: u64, to: u64| links.iter().find(|link| link["from"] == from && link["to"] == to).unwrap();
    for (from, to, route, access, rank) in [
        (0, 1, "peer", true, 0),
        (1, 0, "peer", true, 0),
        (0, 2, "host", false, 1),
        (2, 0, "host", false, 1),
        (1, 2, "host", true, 1),
        (2, 1, "host", true, 1),
    ] {
        let link = of(from, to);
        assert_eq!((&link["route"], &link["access"]), (&route.into(), &access.into()), "{link}");
        assert_eq!((&link["performance_rank"], &link["gigabytes_per_second"]), (&rank.into(), &().into()), "{link}");
    }
    let drawn = doctor(&[]);
    for line in [
        "links       to 0                        to 1                        to 2",
        "  from 0    -                           peer, rank 0, simulated     host, no access, simulated",
        "  from 2    host, no access, simulated  host, rank 1, simulated     -",
        "  0 to 2    through the host: the driver does not support peer access",
        "  2 to 1    through the host: a copy of 65536 bytes was reported complete, but byte 0 was wrong",
    ] {
        assert!(drawn.lines().any(|drawn| drawn == line), "{line}\n{drawn}");
    }
}

#[test]
fn doctor_says_whether_there_is_nccl() {
    let doctor = |variables: &[(&str, &str)], more: &[&str]| {
        stdout_of(trefoil().envs(variables.iter().copied()).arg("doctor").args(more))
    };
    let simulated = [("TREFOIL_BACKEND", "sim")];
    let drawn = doctor(&simulated, &[]);
    assert!(drawn.lines().any(|line| line == "nccl        2.27.3, simulated, installed table"), "{drawn}");
    let facts: Value = serde_json::from_str(&doctor(&simulated, &["--json"])).unwrap();
    assert_eq!((&facts["nccl"]["version"], &facts["nccl"]["reason"]), (&"2.27.3".into(), &().into()));
    let none = [("TREFOIL_CUDA_LIBRARY", "none"), ("TREFOIL_NCCL_LIBRARY", "/nowhere/libnccl.so.2")];
    let drawn = doctor(&none, &[]);
    let reason = "nccl        `/nowhere/libnccl.so.2` cannot be loaded as NCCL: ";
    assert!(drawn.lines().any(|line| line.starts_with(reason)), "{drawn}");
}

#[test]
fn unusable_settings_and_arguments_end_with_code_2() {
    let error = stderr_of(trefoil().arg("doctor").env("TREFOIL_BACKEND", "gup"), 2);
    assert!(error.contains("unknown backend `gup`; expected"));
    call("conformance --backend gup").assert().code(2);
    trefoil().arg("no-such-command").assert().code(2);
    let fibonacci = ["stark", "prove", "--air", "wide-fibonacci", "--columns", "10", "--out", "proof"];
    for (line, expected) in [
        (&["conformance", "no-such-op"][..], "no op of the suite contains `no-such-op`"),
        (&["bench", "no-such-line"], "no speed line contains `no-such-line`"),
        (&["doctor", "--kernels"], "`--kernels` needs a device"),
        (&[&fibonacci[..], &["--log-rows", "-3"]].concat(), "invalid value '-3' for '--log-rows <LOG>'"),
        (&["nn", "train", "--rate", "-1", "--out", "network"], "rate must be 0 or more, and finite in f32, got -1"),
        (&["pfss", "serve", "--keys", "k", "--weights", "w", "--listen", "[::1]:99999"], "a port of 0..=65535"),
        (&["pfss", "infer", "--keys", "k", "--connect", ":80"], "expected HOST:PORT"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        fails(trefoil().current_dir(folder.path()).args(line), 2, &[expected]);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{line:?}");
    }
}

#[test]
fn a_file_of_another_kind_is_named_as_such() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    fs::write(&path, format!("{{\"format\":\"{}\"}}", "x".repeat(200))).unwrap();
    let said = stderr_of(call("pfss inspect").arg(&path), 4);
    assert!(said.contains("not a file of keys: it begins with `{\\\"fo`, expected `PFK1`"), "{said}");
    assert!(!said.contains("hint"), "{said}");
    fails(call("stark verify").arg(&path), 1, &["not a proof file of `trefoil stark prove`"]);
}

#[test]
fn conformance_passes_on_one_op_set_and_counts() {
    assert!(stdout_of(&mut call("conformance circle.")).contains(" 0 failed"));
}

#[test]
fn the_small_demo_verifies_all_workloads_and_writes_a_self_contained_report() {
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("report.html");
    let output = stdout_of(call("demo --small --report").arg(&report).arg("--out").arg(folder.path().join("kept")));
    for title in ["Prove a computation", "Train a network", "Classify digits privately"] {
        assert!(output.contains(title), "{title}");
    }
    let html = fs::read_to_string(&report).unwrap();
    assert!(html.contains("<svg") && !html.contains("<script") && !html.contains("src="));
    assert!(folder.path().join("kept/digits.safetensors").exists());
}
