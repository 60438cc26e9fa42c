//! What one bad kernel costs: every result that does not need it is kept.
//!
//! The kernels are the ones that ship, with one of them made to trap, to hang, to compute wrong bits, or not to compile.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use super::{call, fails, lines, stderr_of, stdout_of, text};

/// The kernels that ship.
const SHIPPED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels-ptx/ptx");

/// A folder with the shipped kernels, with the text of one module changed.
fn kernels(module: &str, change: impl FnOnce(&str) -> String) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(SHIPPED).unwrap().map(Result::unwrap).filter(|entry| entry.path().is_file()) {
        fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
    }
    let path = |extension: &str| folder.path().join(module).with_extension(extension);
    let changed = change(&fs::read_to_string(path("ptx")).unwrap());
    let mut manifest: Value = serde_json::from_slice(&fs::read(path("json")).unwrap()).unwrap();
    manifest["sha256"] = Sha256::digest(&changed).iter().map(|byte| format!("{byte:02x}")).collect::<String>().into();
    fs::write(path("ptx"), changed).unwrap();
    fs::write(path("json"), manifest.to_string()).unwrap();
    folder
}

/// A kernel with a line in front of its first instruction.
fn begin_with(ptx: &str, kernel: &str, line: &str) -> String {
    let start = ptx.find(&format!(".entry {kernel}(")).unwrap();
    let body = start + ptx[start..].find("\n{\n").unwrap() + 3;
    let first = ptx[body..]
        .split_inclusive('\n')
        .take_while(|line| line.trim_start().starts_with('.') || line.trim().is_empty());
    let at = body + first.map(str::len).sum::<usize>();
    format!("{}{line}\n{}", &ptx[..at], &ptx[at..])
}

/// Events of a run of the suite, one op to a process.
fn suite(kernels: Option<&Path>, arguments: &[&str]) -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    let events = folder.path().join("events");
    let mut command = call("conformance --isolate --backend sim --condition plain --max-elements 0");
    command.args(arguments).arg("--events").arg(&events);
    if let Some(kernels) = kernels {
        command.env("TREFOIL_PTX_DIR", kernels);
    }
    let code = command.assert().get_output().status.code();
    assert_eq!(code, Some(i32::from(kernels.is_some())));
    lines(&events)
}

/// Verdict and reason of each case that ended, by op and case. No case ends twice.
fn verdicts(events: &[Value]) -> BTreeMap<(String, String), (String, String)> {
    let word = |event: &Value, key: &str| event[key].as_str().unwrap_or_default().to_owned();
    let ended = events.iter().filter(|event| event["event"] == "ends");
    let all: Vec<_> =
        ended.map(|e| ((word(e, "op"), word(e, "case")), (word(e, "verdict"), word(e, "reason")))).collect();
    let count = all.len();
    let by_case: BTreeMap<_, _> = all.into_iter().collect();
    assert_eq!(by_case.len(), count);
    by_case
}

/// Cases that were not run, by op.
fn not_run(events: &[Value]) -> BTreeMap<&str, u64> {
    let left = events.iter().filter(|event| event["event"] == "not_run");
    left.map(|event| (event["op"].as_str().unwrap(), event["runs"].as_u64().unwrap())).collect()
}

/// Compares a run with a bad kernel with a run of good ones.
///
/// `bad` decides which verdicts and reasons are allowed in the cases that use the kernel: softmax and its differences.
fn compare(events: &[Value], good: &[Value], bad: impl Fn(&str, &str) -> bool) {
    let uses = |op: &str| op.starts_with("linalg.softmax");
    let (good, got) = (verdicts(good), verdicts(events));
    assert!(good.values().all(|(verdict, _)| verdict == "passed"));
    let mut touched = 0;
    for (case, (verdict, reason)) in &got {
        assert!(good.contains_key(case));
        if verdict != "passed" {
            assert!(uses(&case.0) && bad(verdict, reason), "{case:?}: {verdict}, {reason}");
            touched += 1;
        }
    }
    let left = not_run(events);
    assert!(touched > 0 && left.keys().all(|op| uses(op)), "{left:?}");
    assert_eq!(good.len(), got.len() + left.values().sum::<u64>() as usize);
    let begun: BTreeSet<_> =
        events.iter().filter(|event| event["event"] == "begins").map(|e| e["case"].to_string()).collect();
    assert!(got.keys().all(|(_, case)| begun.contains(&Value::from(case.as_str()).to_string())));
}

#[test]
fn a_kernel_that_traps_hangs_or_computes_wrongly_costs_its_own_cases() {
    let good = suite(None, &["linalg.s"]);
    assert!(verdicts(&good).len() > 100);

    let trapping = kernels("linalg_softmax", |ptx| begin_with(ptx, "linalg_softmax_warp_f32", "\ttrap;"));
    let events = suite(Some(trapping.path()), &["linalg.s"]);
    compare(&events, &good, |verdict, reason| verdict == "lost" && reason.contains("linalg_softmax_warp_f32"));

    // A loop without barriers the simulator would find out.
    let endless = "$HANG:\n\tbar.sync \t0;\n\tbra \t$HANG;";
    let hanging = kernels("linalg_softmax", |ptx| begin_with(ptx, "linalg_softmax_warp_bf16", endless));
    let events = suite(Some(hanging.path()), &["linalg.s", "--case-limit", "5"]);
    compare(&events, &good, |verdict, reason| verdict == "hung" && reason.contains("5 s"));

    let wrong = kernels("linalg_softmax", |ptx| {
        let at = ptx.find(".entry linalg_softmax_warp_f16(").unwrap();
        let end = at + ptx[at..].find("\n}\n").unwrap();
        let body = ptx[at..end].replace("sub.rn.f32", "add.rn.f32");
        assert_ne!(body, ptx[at..end]);
        [&ptx[..at], &body, &ptx[end..]].concat()
    });
    let events = suite(Some(wrong.path()), &["linalg.s"]);
    compare(&events, &good, |verdict, reason| verdict == "failed" && reason.contains("expected"));
    assert!(not_run(&events).is_empty());
}

#[test]
fn a_launch_that_hangs_is_given_up_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let events = folder.path().join("events");
    let mut command =
        call("conformance --isolate --backend sim --exact linalg.axpby --max-elements 0 --condition plain --events");
    command.arg(&events);
    command.env("TREFOIL_SIM", "hang@cuLaunchKernel:4").env("TREFOIL_GPU_TIMEOUT", "0.2");
    command.assert().code(1);
    let lost: Vec<_> = lines(&events).into_iter().filter(|event| event["verdict"] == "lost").collect();
    assert!(!lost.is_empty());
    for event in lost {
        let reason = event["reason"].as_str().unwrap();
        assert!(reason.contains("timed out after 0.2 s") && reason.contains("linalg_axpby_"), "{reason}");
    }
}

#[test]
fn a_module_that_the_driver_does_not_compile_costs_its_own_ops() {
    let broken = kernels("linalg_norm", |ptx| begin_with(ptx, "linalg_norm_warp_f32", "\tadd.f32 ], %f1;"));
    let events = suite(Some(broken.path()), &["linalg."]);
    let of = |verdict: &str| -> BTreeSet<String> {
        let ended = events.iter().filter(|event| event["verdict"] == verdict);
        ended.map(|event| format!("{}, {}", event["op"].as_str().unwrap(), event["case"].as_str().unwrap())).collect()
    };
    let (failed, passed) = (of("failed"), of("passed"));
    assert!(!failed.is_empty() && failed.iter().all(|ran| ran.contains("norm")), "{failed:?}");
    let others = ["linalg.gemm, ", "linalg.softmax, ", "linalg.axpby, "];
    assert!(others.iter().all(|&op| passed.iter().any(|ran| ran.starts_with(op))), "{passed:?}");
    let reason = events.iter().find(|event| event["verdict"] == "failed").unwrap()["reason"].to_string();
    assert!(reason.contains("module `linalg_norm` was not loaded") && reason.contains("line"), "{reason}");

    let mut doctor = call("doctor --kernels --json");
    doctor.env("TREFOIL_BACKEND", "sim").env("TREFOIL_PTX_DIR", broken.path());
    let facts: Value = serde_json::from_slice(&doctor.assert().code(1).get_output().stdout).unwrap();
    let modules = facts["compiled"]["modules"].as_array().unwrap();
    let unusable: Vec<_> = modules.iter().filter(|module| !module["reason"].is_null()).collect();
    let shipped = fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels-ptx/ptx")).unwrap();
    let shipped = shipped.filter(|entry| entry.as_ref().unwrap().path().extension() == Some("json".as_ref())).count();
    assert_eq!((modules.len(), unusable.len()), (shipped, 1));
    assert_eq!(unusable[0]["name"], "linalg_norm");
}

#[test]
fn doctor_shows_what_the_driver_makes_of_each_kernel() {
    let shown = stdout_of(call("doctor --kernels").env("TREFOIL_BACKEND", "sim"));
    let line = shown.lines().find(|line| line.trim_start().starts_with("fss_cmp_eval_all ")).unwrap();
    assert!(line.contains("(72)") && line.contains("(3)") && line.contains('%'), "{line}");
    fails(&mut call("doctor --kernels"), 2, &["needs a device"]);
}

#[test]
fn the_suite_ends_at_its_deadline_and_says_what_was_not_run() {
    let folder = tempfile::tempdir().unwrap();
    let events = folder.path().join("events");
    let mut command = call("conformance --isolate --deadline 0 linalg.softmax --events");
    command.arg(&events);
    let output = command.assert().code(1).get_output().clone();
    assert!(text(&output.stdout).contains("out of time"));
    assert!(lines(&events).iter().all(|event| event["event"] == "not_run" && event["runs"].as_u64() > Some(0)));
}

#[test]
fn a_backend_that_is_not_there_is_one_message_and_code_3() {
    let error = stderr_of(call("conformance --isolate --backend gpu").env("TREFOIL_CUDA_LIBRARY", "none"), 3);
    assert_eq!(error.matches("switched off").count(), 1, "{error}");
}

/// The line whose kernel traps.
const BAD_LINE: &str = "nn.softmax/8x64";

/// What `trefoil bench` leaves as JSON for these lines, in `mode`, with a kernel of softmax that traps.
fn measured(mode: &[&str]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let bad = kernels("linalg_softmax", |ptx| begin_with(ptx, "linalg_softmax_held_f32", "\ttrap;"));
    let (json, html) = (folder.path().join("lines.json"), folder.path().join("lines.html"));
    let mut command = call("bench --quick --backend sim nn.");
    command.args(mode).env("TREFOIL_PTX_DIR", bad.path());
    command.arg("--json").arg(&json).arg("--html").arg(&html);
    command.assert().code(1);
    let page = fs::read_to_string(&html).unwrap();
    assert!(page.contains(BAD_LINE) && page.contains("nn.gelu/4096") && page.contains("failed"));
    serde_json::from_slice(&fs::read(&json).unwrap()).unwrap()
}

#[test]
fn a_benchmark_keeps_the_lines_in_front_of_a_bad_one_and_with_isolation_all_others() {
    let ids = |lines: &Value| -> Vec<String> {
        lines.as_array().unwrap().iter().map(|line| line["id"].as_str().unwrap().to_owned()).collect()
    };
    let list = stdout_of(&mut call("bench --quick --backend sim --list nn."));
    let all: Vec<String> = list.lines().map(str::to_owned).collect();
    let bad = all.iter().position(|id| id == BAD_LINE).unwrap();
    assert!(bad > 2 && all.len() > bad + 3, "lines stand before and after the bad one");

    let isolated = measured(&["--isolate"]);
    assert_eq!(ids(&isolated["failed"]), [BAD_LINE]);
    assert!(isolated["failed"][0]["reason"].as_str().unwrap().contains("linalg_softmax_held_f32"));
    assert_eq!(ids(&isolated["lines"]), [&all[..bad], &all[bad + 1..]].concat());
    assert_eq!(isolated["complete"], true);
    assert!(isolated["lines"][2]["of_copy"].as_f64().unwrap() > 0.0 && isolated["lines"][2]["in_cache"] == true);

    let together = measured(&[]);
    assert_eq!(ids(&together["lines"]), all[..bad]);
    assert!(ids(&together["failed"]).len() > 2);
}
