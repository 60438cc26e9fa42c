//! The program as a user meets it: exit codes, messages, reports, two processes.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod bundles;
#[cfg(unix)]
mod cluster;
mod networks;
mod private;
mod rehearsal;
mod stark;
mod stark_devices;
mod stark_files;
mod stark_options;
mod stark_scale;
mod trace;
mod trials;

use assert_cmd::Command;

fn trefoil() -> Command {
    let mut command = Command::cargo_bin("trefoil").expect("the program is built");
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
fn unusable_settings_and_arguments_end_with_code_2() {
    let error = trefoil().arg("doctor").env("TREFOIL_BACKEND", "gup").assert().code(2).get_output().stderr.clone();
    assert!(text(&error).contains("unknown backend `gup`; expected"));
    trefoil().args(["conformance", "--backend", "gup"]).assert().code(2);
    trefoil().arg("no-such-command").assert().code(2);
}

#[test]
fn a_filter_that_matches_nothing_fails() {
    trefoil().args(["conformance", "no-such-op"]).assert().code(1);
    trefoil().args(["bench", "no-such-line"]).assert().code(1);
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
