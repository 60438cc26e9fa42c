//! The program as a user meets it: exit codes, messages, reports, two processes.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod bundles;
#[cfg(unix)]
mod cluster;
mod networks;
mod private;
mod profile;
mod rehearsal;
mod stark;
mod stark_devices;
mod stark_files;
mod stark_options;
#[cfg(not(feature = "mpi"))]
mod stark_ranks;
mod stark_scale;
mod trials;

use std::time::Duration;

use assert_cmd::Command;

/// The limit of a process, far above what any takes on a busy machine.
const LIMIT: Duration = Duration::from_mins(10);

fn trefoil() -> Command {
    let mut command = Command::cargo_bin("trefoil").expect("the program is built");
    command.timeout(LIMIT);
    for variable in runtime::VARIABLES {
        command.env_remove(variable.name);
    }
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn help_names_every_command_and_the_exit_codes() {
    let output = trefoil().arg("--help").assert().success().get_output().stdout.clone();
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
        assert!(text(&output).contains(word), "{word}");
    }
}

#[test]
fn doctor_lists_backends_with_reasons_and_every_variable() {
    let mut doctor = trefoil();
    doctor.args(["doctor", "--json"]).env("TREFOIL_CUDA_LIBRARY", "none");
    let output = doctor.assert().success().get_output().stdout.clone();
    let facts: serde_json::Value = serde_json::from_slice(&output).unwrap();
    let gpu = facts["backends"].as_array().unwrap().iter().find(|b| b["name"] == "gpu").unwrap();
    assert_eq!(gpu["available"], false);
    assert!(gpu["reason"].as_str().unwrap().contains("switched off"));
    assert_eq!(facts["cuda"]["reason"], gpu["reason"]);
    assert_eq!(facts["variables"].as_array().unwrap().len(), runtime::VARIABLES.len());
    let shown = trefoil().arg("doctor").env("TREFOIL_THREADS", "1").assert().success().get_output().stdout.clone();
    assert!(text(&shown).contains("TREFOIL_THREADS          1"));
}

#[test]
fn an_unavailable_backend_ends_with_code_3_and_its_reason() {
    for (variable, arguments) in [("TREFOIL_BACKEND", ["doctor", "--json"]), ("SUF_PFSS_BACKEND", ["demo", "--small"])]
    {
        let mut command = trefoil();
        command.args(arguments).env(variable, "gpu").env("TREFOIL_CUDA_LIBRARY", "none");
        let error = command.assert().code(3).get_output().stderr.clone();
        assert!(text(&error).contains("switched off"), "{}", text(&error));
    }
}

#[test]
fn a_closed_standard_output_is_no_error() {
    let program = std::path::PathBuf::from(trefoil().get_program());
    for arguments in [&["doctor"][..], &["stark", "plan", "--air", "plonk", "--log-rows", "4"]] {
        let mut command = std::process::Command::new(&program);
        let pipes = [(); 2].map(|()| std::process::Stdio::piped());
        let [stdout, stderr] = pipes;
        let mut child = command.args(arguments).stdout(stdout).stderr(stderr).spawn().unwrap();
        drop(child.stdout.take());
        let output = test_process::output_of(child, LIMIT);
        assert!(output.status.success() && output.stderr.is_empty(), "{}", text(&output.stderr));
    }
}

#[test]
fn misspelt_variables_are_refused_and_doctor_lists_them() {
    let mut demo = trefoil();
    demo.args(["demo", "--small"]).env("TREFOIL_BACKENDS", "gpu");
    let said = text(&demo.assert().code(2).get_output().stderr);
    assert!(said.contains("environment: unknown variable TREFOIL_BACKENDS"), "{said}");
    assert!(said.contains("`trefoil doctor` lists every variable"), "{said}");
    let shown = text(&trefoil().arg("doctor").env("RSI_ML_BACKENDS", "gpu").assert().success().get_output().stdout);
    assert!(shown.contains("RSI_ML_BACKENDS          unknown: no variable has this name"), "{shown}");
}

#[test]
fn doctor_shows_the_devices_of_the_simulated_driver() {
    let mut doctor = trefoil();
    doctor.args(["doctor", "--json"]).env("TREFOIL_BACKEND", "sim").env("TREFOIL_SIM", "devices=2;cc=9.0;mem=64M");
    let output = doctor.assert().success().get_output().stdout.clone();
    let facts: serde_json::Value = serde_json::from_slice(&output).unwrap();
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
        doctor.arg("doctor").args(more).assert().success().get_output().stdout.clone()
    };
    let facts: serde_json::Value = serde_json::from_slice(&doctor(&["--json"])).unwrap();
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
    let drawn = text(&doctor(&[]));
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
        let mut doctor = trefoil();
        doctor.envs(variables.iter().copied()).arg("doctor").args(more);
        doctor.assert().success().get_output().stdout.clone()
    };
    let simulated = [("TREFOIL_BACKEND", "sim")];
    let drawn = text(&doctor(&simulated, &[]));
    assert!(drawn.lines().any(|line| line == "nccl        2.27.3, simulated, installed table"), "{drawn}");
    let facts: serde_json::Value = serde_json::from_slice(&doctor(&simulated, &["--json"])).unwrap();
    assert_eq!((&facts["nccl"]["version"], &facts["nccl"]["reason"]), (&"2.27.3".into(), &().into()));
    let none = [("TREFOIL_CUDA_LIBRARY", "none"), ("TREFOIL_NCCL_LIBRARY", "/nowhere/libnccl.so.2")];
    let drawn = text(&doctor(&none, &[]));
    let reason = "nccl        `/nowhere/libnccl.so.2` cannot be loaded as NCCL: ";
    assert!(drawn.lines().any(|line| line.starts_with(reason)), "{drawn}");
}

#[test]
fn unusable_settings_and_arguments_end_with_code_2() {
    let error = trefoil().arg("doctor").env("TREFOIL_BACKEND", "gup").assert().code(2).get_output().stderr.clone();
    assert!(text(&error).contains("unknown backend `gup`; expected"));
    trefoil().args(["conformance", "--backend", "gup"]).assert().code(2);
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
        let error = trefoil().current_dir(folder.path()).args(line).assert().code(2).get_output().stderr.clone();
        assert!(text(&error).contains(expected), "{line:?}: {}", text(&error));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "{line:?}");
    }
}

#[test]
fn a_file_of_another_kind_is_named_as_such() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    std::fs::write(&path, format!("{{\"format\":\"{}\"}}", "x".repeat(200))).unwrap();
    let error = trefoil().args(["pfss", "inspect"]).arg(&path).assert().code(4).get_output().stderr.clone();
    let said = text(&error);
    assert!(said.contains("not a file of keys: it begins with `{\\\"fo`, expected `PFK1`"), "{said}");
    assert!(!said.contains("hint"), "{said}");
    let error = trefoil().args(["stark", "verify"]).arg(&path).assert().code(1).get_output().stderr.clone();
    assert!(text(&error).contains("not a proof file of `trefoil stark prove`"), "{}", text(&error));
}

#[test]
fn conformance_passes_on_one_op_set_and_counts() {
    let output = trefoil().args(["conformance", "circle."]).assert().success().get_output().stdout.clone();
    assert!(text(&output).contains(" 0 failed"));
}

#[test]
fn the_small_demo_verifies_all_workloads_and_writes_a_self_contained_report() {
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("report.html");
    let command = |out: &str| {
        let mut command = trefoil();
        command.args(["demo", "--small", "--report"]).arg(&report).arg("--out").arg(folder.path().join(out));
        command
    };
    let output = command("kept").assert().success().get_output().stdout.clone();
    for title in ["Prove a computation", "Train a network", "Classify digits privately"] {
        assert!(text(&output).contains(title), "{title}");
    }
    let html = std::fs::read_to_string(&report).unwrap();
    assert!(html.contains("<svg") && !html.contains("<script") && !html.contains("src="));
    assert!(folder.path().join("kept/digits.safetensors").exists());
}
