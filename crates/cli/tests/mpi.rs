//! `trefoil stark prove` under `mpirun`: the file equals one process's; one failure ends all.
#![allow(clippy::unwrap_used, reason = "a test may fail by panic")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tempfile::TempDir;

const FIBONACCI: [&str; 6] = ["--air", "wide-fibonacci", "--log-rows", "7", "--columns", "30"];
const MACHINE: [&str; 4] = ["--air", "state-machine", "--log-rows", "6"];
/// A trace so large that a rank is still far from its proof when it takes up [`HALFWAY`].
const LONG: [&str; 6] = ["--air", "wide-fibonacci", "--log-rows", "19", "--columns", "100"];
/// Memory that a rank has taken up when it holds a part of its trace, in KiB: more than MPI and the program take by themselves.
const HALFWAY: &str = "150000";

fn program() -> PathBuf {
    assert_cmd::cargo::cargo_bin("trefoil")
}

/// Runs a program with arguments in a folder, without the variables of whoever runs the tests.
fn run(program: &Path, folder: &TempDir, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(program);
    for variable in runtime::VARIABLES {
        command.env_remove(variable.name);
    }
    command.env("TREFOIL_THREADS", "1").envs(variables.iter().copied());
    command.current_dir(folder.path()).args(arguments);
    test_process::output(&mut command, Duration::from_mins(10))
}

/// Runs `mpirun` with these numbers of processes, one test at a time.
///
/// The processes run on this machine without any network.
fn mpirun(folder: &TempDir, variables: &[(&str, &str)], parts: &[(usize, &[&str])]) -> Output {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let options = ["--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "--mca", "btl", "self,vader"];
    let mut line: Vec<String> = options.map(str::to_owned).to_vec();
    for (k, (ranks, arguments)) in parts.iter().enumerate() {
        line.extend((k > 0).then(|| ":".to_owned()));
        line.extend(["-n".to_owned(), ranks.to_string()]);
        line.extend(arguments.iter().map(|&argument| argument.to_owned()));
    }
    run(Path::new("mpirun"), folder, &line.iter().map(String::as_str).collect::<Vec<_>>(), variables)
}

/// The command line of a proof.
fn prove<'a>(program: &'a Path, air: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    let pow = ["--pow-bits", "4", "--queries", "12", "--out", "proof"];
    [&[program.to_str().unwrap(), "stark", "prove"], air, &pow, more].concat()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn count(folder: &TempDir) -> usize {
    fs::read_dir(folder.path()).unwrap().count()
}

#[test]
fn files_of_several_processes_are_those_of_one() {
    let program = program();
    // With more copies of the trace than processes, these gather coefficients; else columns are dealt.
    let gathered = [&FIBONACCI[..], &["--log-blowup", "2"]].concat();
    for air in [&FIBONACCI[..], &MACHINE, &gathered] {
        let folder = tempfile::tempdir().unwrap();
        let alone = run(&program, &folder, &prove(&program, air, &["--html", "page"])[1..], &[]);
        assert!(alone.status.success(), "{}", stderr(&alone));
        let expected = fs::read(folder.path().join("proof")).unwrap();
        for ranks in [1, 2, 4] {
            let folder = tempfile::tempdir().unwrap();
            let made = mpirun(&folder, &[], &[(ranks, &prove(&program, air, &["--html", "page"]))]);
            assert!(made.status.success(), "{ranks} ranks: {}", stderr(&made));
            assert!(fs::read(folder.path().join("proof")).unwrap() == expected, "{ranks} ranks, {air:?}");
            assert_eq!(count(&folder), 2, "a proof and a page");
            let said = stdout(&made);
            assert_eq!(said.matches("peak device memory").count(), 1, "one process speaks: {said}");
            let sent = |said: &str| said.lines().find(|line| line.contains("each sent each other")).map(str::to_owned);
            assert_eq!(sent(&said).is_some(), ranks > 1, "{said}");
            if ranks > 1 {
                // As much as devices of one process send.
                let line = prove(&program, air, &["--devices", if ranks == 2 { "2" } else { "4" }]);
                let local = run(&program, &folder, &line[1..], &[]);
                assert_eq!(sent(&said), sent(&stdout(&local)), "{ranks} ranks, {air:?}");
            }
        }
    }
}

#[test]
fn each_process_takes_the_device_of_its_number() {
    let (program, folder) = (program(), tempfile::tempdir().unwrap());
    let line = prove(&program, &FIBONACCI, &["--backend", "sim"]);
    let alone = run(&program, &folder, &line[1..], &[]);
    assert!(alone.status.success(), "{}", stderr(&alone));
    let expected = fs::read(folder.path().join("proof")).unwrap();
    fs::remove_file(folder.path().join("proof")).unwrap();
    // Of two devices, from the second on, there is none for the second process.
    let refused = mpirun(&folder, &[("TREFOIL_SIM", "devices=2"), ("TREFOIL_CUDA_DEVICE", "1")], &[(2, &line)]);
    assert!(!refused.status.success());
    assert!(stderr(&refused).contains("error: rank 1 of 2: ") && stderr(&refused).contains("device 2"), "{refused:?}");
    assert_eq!(count(&folder), 0);
    let made = mpirun(&folder, &[("TREFOIL_SIM", "devices=3"), ("TREFOIL_CUDA_DEVICE", "1")], &[(2, &line)]);
    assert!(made.status.success(), "{}", stderr(&made));
    assert!(fs::read(folder.path().join("proof")).unwrap() == expected);
}

#[test]
fn what_processes_cannot_share_is_told_before_any_work() {
    let (program, folder) = (program(), tempfile::tempdir().unwrap());
    for (ranks, more, expected) in [
        (3, &[][..], "processes: expected a power of two of ranks, 128 at most, got 3"),
        (2, &["--devices", "2"], "`--devices` requires a single process"),
        (2, &["--blocks", "4"], "`--blocks` requires a single process"),
        (2, &["--profile", "ops"], "an MPI launcher started several"),
        (1, &["--patience", "3"], "`--patience` requires several processes"),
    ] {
        let refused = mpirun(&folder, &[], &[(ranks, &prove(&program, &FIBONACCI, more))]);
        assert_eq!(refused.status.code(), Some(2), "{more:?}");
        assert!(stderr(&refused).contains(expected) && stdout(&refused).trim().is_empty(), "{refused:?}");
        assert_eq!(count(&folder), 0, "{more:?}");
    }
    for reach in ["nccl", "peer"] {
        let variables = [("TREFOIL_COLLECTIVE", reach)];
        let refused = mpirun(&folder, &variables, &[(2, &prove(&program, &FIBONACCI, &[]))]);
        assert_eq!(refused.status.code(), Some(2), "{reach}");
        let expected = format!("through their hosts: expected TREFOIL_COLLECTIVE of `auto` or `host`, got `{reach}`");
        assert!(stderr(&refused).contains(&expected) && count(&folder) == 0, "{refused:?}");
    }
}

/// What three processes say when the fourth is started with another line, after which nothing is left.
fn ended(variables: &[(&str, &str)], usual: &[&str], odd: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let output = mpirun(&folder, variables, &[(3, usual), (1, odd)]);
    assert!(!output.status.success());
    assert_eq!(count(&folder), 0, "{output:?}");
    assert!(!stdout(&output).contains("peak device memory"), "{output:?}");
    output
}

#[test]
fn a_process_with_other_arguments_is_named_by_all() {
    let program = program();
    let usual = prove(&program, &FIBONACCI, &[]);
    let other = ["--air", "wide-fibonacci", "--log-rows", "7", "--columns", "31"];
    let (other_air, other_seed) = (prove(&program, &other, &[]), prove(&program, &FIBONACCI, &["--seed", "2"]));
    for (odd, differing) in [
        (other_air, "rank 3 differs from rank 0: expected --columns 30, got --columns 31"),
        (other_seed, "rank 3 differs from rank 0: expected --seed 1, got --seed 2"),
    ] {
        let said = stderr(&ended(&[], &usual, &odd));
        for rank in 0..4 {
            let line = said.lines().find(|line| line.starts_with(&format!("error: rank {rank} of 4: ")));
            assert!(line.is_some_and(|line| line.contains(differing)), "rank {rank}: {said}");
        }
    }
}

#[test]
fn a_process_that_cannot_write_ends_all() {
    let (program, folder) = (program(), tempfile::tempdir().unwrap());
    let mut line = prove(&program, &FIBONACCI, &[]);
    let at = line.iter().position(|&word| word == "proof").unwrap();
    line[at] = "no/folder";
    let refused = mpirun(&folder, &[], &[(2, &line)]);
    assert!(!refused.status.success());
    let said = stderr(&refused);
    assert!(said.contains("error: rank 0 of 2: writing no/folder"), "{said}");
    assert!(said.contains("error: rank 1 of 2: ") && said.contains("rank 0 gave up"), "{said}");
    assert_eq!(count(&folder), 0);
}

/// A line that sends its process a signal once it takes up [`HALFWAY`].
fn signalled<'a>(signal: &'a str, line: &[&'a str]) -> Vec<&'a str> {
    const WATCH: &str = "(until awk '/VmHWM/ { exit $2 < '$1' }' /proc/$$/status; do sleep 0.02; done; kill -s $0 $$) & \
                         shift; exec \"$@\"";
    [&["sh", "-c", WATCH, signal, HALFWAY], line].concat()
}

#[test]
fn a_process_that_is_killed_ends_all_and_leaves_nothing() {
    let program = program();
    let line = prove(&program, &LONG, &[]);
    let said = stderr(&ended(&[], &line, &signalled("KILL", &line)));
    assert!(said.contains("process rank 3") && said.contains("signal 9"), "{said}");
}

#[test]
fn a_process_that_hangs_is_named_by_all_and_leaves_nothing() {
    let program = program();
    let line = prove(&program, &LONG, &["--patience", "10"]);
    let said = stderr(&ended(&[], &line, &signalled("STOP", &line)));
    for rank in 0..3 {
        let line = said.lines().find(|line| line.starts_with(&format!("error: rank {rank} of 4: ")));
        assert!(line.is_some_and(|line| line.contains("rank 3 did not enter")), "rank {rank}: {said}");
    }
}
