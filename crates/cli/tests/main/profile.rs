//! `--profile FILE`: what stands in the file, also where the program was interrupted, and what becomes of a file that cannot be
//! written.

use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    process::Stdio,
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;
use test_process::wait;

use super::{LIMIT, call, program, text, trefoil};

/// The events of a profile.
fn events(path: &Path) -> Vec<Value> {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// Names of the spans that begin. Each of them ends.
fn spans(events: &[Value]) -> Vec<&str> {
    let names = |phase: &str| -> Vec<_> {
        events.iter().filter(|event| event["ph"] == phase).map(|event| event["name"].as_str().unwrap()).collect()
    };
    let (begun, ended) = (names("B"), names("E"));
    assert_eq!(begun.len(), ended.len());
    begun
}

/// The names of all ops.
fn all_ops() -> BTreeSet<&'static str> {
    let mut names = BTreeSet::new();
    macro_rules! collect {
        ($(#[$doc:meta])* $module:ident::$set:ident: $super:ident {
            $($method:ident $(<$t:ident>)? ($record:ident) $(-> $shape:ident)?,)*
        }) => {
            $(names.insert(stringify!($method));)*
        };
    }
    backend_api::op_sets!(collect);
    names
}

#[test]
fn every_op_of_the_suite_is_in_its_profile_with_its_shape() {
    let folder = tempfile::tempdir().unwrap();
    let profile = folder.path().join("profile.json");
    call("conformance --condition plain --max-elements 64 --profile").arg(&profile).assert().success();
    let events = events(&profile);
    let ran: BTreeSet<_> = spans(&events).into_iter().collect();
    let missing: Vec<_> = all_ops().difference(&ran).copied().collect();
    assert!(missing.is_empty(), "{missing:?}");
    for event in events.iter().filter(|event| event["ph"] == "B") {
        let (name, args) = (event["name"].as_str().unwrap(), &event["args"]);
        assert!(event["cat"] == "trefoil" && event["ts"].is_number() && args["backend"] == "cpu", "{event}");
        let field = if all_ops().contains(name) { "views" } else { "bytes" };
        assert!(["finish", "fork", "join", "record", "replay"].contains(&name) || !args[field].is_null(), "{event}");
    }
    let gemm = events.iter().find(|event| event["ph"] == "B" && event["name"] == "gemm").unwrap();
    assert!(gemm["args"]["params"].as_str().unwrap().contains(" m="), "{gemm}");
    assert!(gemm["args"]["views"].as_str().unwrap().starts_with("a="), "{gemm}");
}

#[test]
fn the_demo_profiles_its_own_process_and_both_parties() {
    let folder = tempfile::tempdir().unwrap();
    let demo = |profile: Option<&Path>| {
        let mut demo = trefoil();
        if let Some(profile) = profile {
            demo.arg("--profile").arg(profile);
        }
        demo.args(["demo", "--small", "--report"]).arg(folder.path().join("report.html"));
        demo.current_dir(folder.path()).assert().success();
    };
    demo(Some(&folder.path().join("demo.json")));
    for (name, expected) in [
        ("demo.json", &["circle_extend", "gemm", "cross_entropy", "cmp_gen", "finish"][..]),
        ("demo.infer.json", &["cmp_eval_window", "combine_words", "matmul_words", "write_secret"]),
        ("demo.serve.json", &["cmp_eval_window", "combine_words", "matmul_words", "write_secret"]),
    ] {
        let events = events(&folder.path().join(name));
        let ran = spans(&events);
        assert!(expected.iter().all(|op| ran.contains(op)), "{name}: {:?}", ran.iter().collect::<BTreeSet<_>>());
    }
    for name in ["demo.json", "demo.infer.json", "demo.serve.json"] {
        fs::remove_file(folder.path().join(name)).unwrap();
    }
    demo(None);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "only the report is left");
}

#[test]
fn a_command_that_fails_leaves_a_whole_profile() {
    let folder = tempfile::tempdir().unwrap();
    let profile = folder.path().join("profile.json");
    trefoil().arg("--profile").arg(&profile).args(["conformance", "no-such-op"]).assert().code(2);
    assert!(events(&profile).is_empty());
    fs::remove_file(&profile).unwrap();
    // The name of the option before 0.1.
    trefoil().arg("--trace").arg(&profile).args(["conformance", "no-such-op"]).assert().code(2);
    assert!(events(&profile).is_empty());
    let mut hung = trefoil();
    hung.arg("--profile").arg(&profile).args(["conformance", "--backend", "sim", "--exact", "linalg.axpby"]);
    hung.args(["--condition", "plain", "--max-elements", "0"]);
    hung.env("TREFOIL_SIM", "hang@cuLaunchKernel:4").env("TREFOIL_GPU_TIMEOUT", "0.2").assert().code(1);
    assert!(spans(&events(&profile)).contains(&"axpby"));
}

#[cfg(unix)]
#[test]
fn an_interrupted_command_leaves_a_profile_that_is_read_line_by_line() {
    use std::os::unix::process::ExitStatusExt as _;

    use rustix::process::{Pid, Signal, kill_process};

    let folder = tempfile::tempdir().unwrap();
    let profile = folder.path().join("profile.json");
    let mut suite = program();
    suite.args(["conformance", "--backend", "cpu", "--condition", "plain", "--profile"]).arg(&profile);
    let mut suite = suite.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let start = Instant::now();
    while fs::metadata(&profile).map_or(0, |file| file.len()) < 1 << 16 {
        assert!(start.elapsed() < Duration::from_secs(60) && suite.try_wait().unwrap().is_none(), "no profile");
        thread::sleep(Duration::from_millis(5));
    }
    kill_process(Pid::from_child(&suite), Signal::TERM).unwrap();
    assert_eq!(wait(&mut suite, LIMIT).signal(), Some(Signal::TERM.as_raw()));
    let text = fs::read_to_string(&profile).unwrap();
    // A file system may cut the last write itself.
    let (lines, _cut) = text.rsplit_once('\n').unwrap();
    let mut lines = lines.lines();
    assert_eq!(lines.next(), Some("["));
    let events: Vec<Value> =
        lines.map(|line| serde_json::from_str(line.strip_suffix(',').unwrap()).expect(line)).collect();
    assert!(events.iter().any(|event| event["ph"] == "B" && event["cat"] == "trefoil"), "{} events", events.len());
}

#[test]
fn a_profile_that_cannot_be_written_ends_the_command_before_it_works() {
    let folder = tempfile::tempdir().unwrap();
    let profile = folder.path().join("no/profile.json");
    let output = call("doctor --profile").arg(&profile).assert().code(1).get_output().clone();
    assert!(output.stdout.is_empty());
    let said = text(&output.stderr);
    assert!(said.contains("writing the profile") && said.contains("no/profile.json"), "{said}");

    let profile = folder.path().join("profile.json");
    for command in [&["conformance", "--isolate"][..], &["bench", "--isolate", "--backend", "cpu"]] {
        let output = trefoil().arg("--profile").arg(&profile).args(command).assert().code(2).get_output().clone();
        assert!(output.stdout.is_empty() && text(&output.stderr).contains("--isolate"));
    }
    assert!(!profile.exists());
}

#[cfg(target_os = "linux")]
#[test]
fn a_profile_that_does_not_fit_on_the_disk_is_an_error() {
    let mut suite = call("--profile /dev/full conformance --exact linalg.axpby --condition plain");
    let output = suite.assert().code(1).get_output().clone();
    assert!(text(&output.stdout).contains(" 0 failed"));
    assert!(text(&output.stderr).contains("writing the profile /dev/full"), "{}", text(&output.stderr));
}
