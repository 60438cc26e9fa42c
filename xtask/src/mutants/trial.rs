//! Runs of test programs with a mutant, within limits of time and memory.

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead as _, BufReader},
    os::unix::process::CommandExt as _,
    path::Path,
    process::{ChildStdout, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};

use super::build::TestExecutable;

/// KiB of address space for one program: a mutant may allocate without end.
const MEMORY: u32 = 8 << 20;

/// A mutated program may take this many times as long as the unmutated one, and [`SLACK`].
const SLOWER: u32 = 10;
const SLACK: Duration = Duration::from_secs(20);

/// The limit of an unmutated run of tests of the same crate, and of the suite.
pub(super) const OWN_LIMIT: Duration = Duration::from_secs(1200);

/// The limit of an unmutated run of a dependent's tests, which are many: a survivor runs all.
pub(super) const DEPENDENT_LIMIT: Duration = Duration::from_secs(30);

/// How often a running program is looked at.
const TICK: Duration = Duration::from_millis(10);

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Passed,
    Failed,
    TimedOut,
}

/// A program that passes without mutants.
#[derive(Clone, Debug)]
pub(super) struct Tester {
    pub(super) program: TestExecutable,
    /// Mutants whose places it runs.
    pub(super) reached: BTreeSet<u32>,
    pub(super) time: Duration,
}

impl Tester {
    /// Runs the program without mutants; `None` if it does not pass within `limit`.
    pub(super) fn new(program: TestExecutable, scratch: &Path, limit: Duration) -> Result<Option<Self>> {
        let seen = scratch.join(program.title.replace(['/', ' '], "_"));
        let start = Instant::now();
        let ending = run(&program, &[("MUTANT_SEEN", &seen.to_string_lossy())], limit)?;
        let time = start.elapsed();
        // A program that reaches no mutant writes no file.
        let text = fs::read_to_string(&seen).unwrap_or_default();
        let reached = text.lines().filter_map(|line| line.parse().ok()).collect();
        Ok((ending == Ending::Passed).then_some(Self { program, reached, time }))
    }

    /// Runs the program with a mutant.
    pub(super) fn try_mutant(&self, id: u32) -> Result<Ending> {
        run(&self.program, &[("MUTANT", &id.to_string())], self.time * SLOWER + SLACK)
    }
}

/// Runs a program until it ends, a test of it fails, or `limit` is over.
fn run(program: &TestExecutable, variables: &[(&str, &str)], limit: Duration) -> Result<Ending> {
    let limited = format!("ulimit -v {MEMORY}; exec \"$0\" \"$@\"");
    let mut command = Command::new("sh");
    command
        .args(["-c", &limited])
        .arg(&program.executable)
        .args(program.arguments)
        .envs(program.variables.iter().copied())
        .envs(variables.iter().copied())
        .env("CARGO_MANIFEST_DIR", &program.folder)
        .env("RUST_BACKTRACE", "0")
        .current_dir(&program.folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    // A group ends as a whole.
    command.process_group(0);
    let start = Instant::now();
    let mut child = command.spawn().with_context(|| format!("cannot start {}", program.executable.display()))?;
    let failed = Arc::new(AtomicBool::new(false));
    if let Some(lines) = child.stdout.take() {
        let failed = Arc::clone(&failed);
        thread::spawn(move || watch(lines, &failed));
    }
    loop {
        if let Some(status) = child.try_wait().context("cannot wait for a test program")? {
            return Ok(if status.success() { Ending::Passed } else { Ending::Failed });
        }
        let (has_failed, is_late) = (failed.load(Ordering::Relaxed), start.elapsed() > limit);
        if has_failed || is_late {
            // The processes that the program started end with it.
            let group = format!("-{}", child.id());
            Command::new("kill")
                .args(["-KILL", "--", &group])
                .stderr(Stdio::null())
                .status()
                .context("cannot run kill")?;
            child.wait().context("cannot wait for a test program")?;
            return Ok(if has_failed { Ending::Failed } else { Ending::TimedOut });
        }
        thread::sleep(TICK);
    }
}

/// Reads the output of a program, and notes the first test that it reports as failed.
///
/// The tests after it need not run.
fn watch(lines: ChildStdout, failed: &AtomicBool) {
    for line in BufReader::new(lines).split(b'\n').map_while(Result::ok) {
        if line.starts_with(b"test ") && line.ends_with(b" ... FAILED") {
            failed.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// A program that is a script.
    fn program(folder: &Path, script: &str) -> TestExecutable {
        let executable = folder.join("script");
        fs::write(&executable, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&executable, fs::Permissions::from_mode(0o755)).unwrap();
        TestExecutable {
            title: "a b".into(),
            executable,
            arguments: &[],
            variables: &[],
            folder: folder.into(),
            is_suite: false,
        }
    }

    #[test]
    fn a_program_passes_alone_and_fails_with_the_mutant_it_reaches() {
        let folder = tempfile::tempdir().unwrap();
        let script = "[ -n \"$MUTANT_SEEN\" ] && printf '3\\n5\\n' > \"$MUTANT_SEEN\"\n[ \"$MUTANT\" != 5 ]";
        let tester = Tester::new(program(folder.path(), script), folder.path(), OWN_LIMIT).unwrap().unwrap();
        assert_eq!(tester.reached, BTreeSet::from([3, 5]));
        assert_eq!(tester.try_mutant(3).unwrap(), Ending::Passed);
        assert_eq!(tester.try_mutant(5).unwrap(), Ending::Failed);
        assert!(Tester::new(program(folder.path(), "false"), folder.path(), OWN_LIMIT).unwrap().is_none());
        let slow = program(folder.path(), "sleep 600");
        assert!(Tester::new(slow, folder.path(), Duration::from_millis(100)).unwrap().is_none());
    }

    #[test]
    fn a_program_ends_at_its_first_failed_test() {
        let folder = tempfile::tempdir().unwrap();
        let script = "echo 'test a ... ok'\necho 'test b ... FAILED'\nsleep 600";
        let ending = run(&program(folder.path(), script), &[], Duration::from_secs(300)).unwrap();
        assert_eq!(ending, Ending::Failed);
    }

    #[test]
    fn a_program_that_hangs_ends_with_its_children() {
        let folder = tempfile::tempdir().unwrap();
        let script = "sleep 600 &\necho $! > child\nwait";
        let ending = run(&program(folder.path(), script), &[], Duration::from_millis(500)).unwrap();
        assert_eq!(ending, Ending::TimedOut);
        let child = fs::read_to_string(folder.path().join("child")).unwrap();
        // A killed process is gone, or is a zombie until its new parent waits for it, after a moment.
        let is_dead = || {
            let state = fs::read_to_string(format!("/proc/{}/stat", child.trim())).unwrap_or_default();
            state.is_empty() || state.contains(") Z ")
        };
        let start = Instant::now();
        while !is_dead() {
            assert!(start.elapsed() < Duration::from_secs(60), "the child of a killed program runs on");
            thread::sleep(TICK);
        }
    }
}
