//! One command as one check: its title, its output, its time.

use std::{
    io::{BufRead, BufReader},
    process::{Child, ChildStdout, Command, ExitStatus, Stdio},
    time::Instant,
};

use anyhow::{Context, Result};
use cargo_metadata::Message;
use xshell::{Cmd, Shell};

use crate::{clock, progress, tally::Tally};

/// The checks of a task or tier.
pub(crate) type TaskChecks = fn(&Shell) -> Result<Tally>;

/// Runs one command as one check, shown under its title with the time it took.
pub(crate) fn check(title: &str, cmd: Cmd<'_>) -> Tally {
    timed(title, || progress::during(title, || cmd.run()).map_err(|error| error.to_string()))
}

/// [`check`] for a command whose output matters only when it fails.
pub(crate) fn check_quietly(title: &str, cmd: Cmd<'_>) -> Tally {
    timed(title, || {
        let output =
            progress::during(title, || cmd.quiet().ignore_status().output()).map_err(|error| error.to_string())?;
        if output.status.success() {
            return Ok(());
        }
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Err(format!("{}\n{}{}", output.status, text(&output.stdout), text(&output.stderr)))
    })
}

/// Runs a tier, notes its time, and returns it with the counts.
///
/// An error counts as one failure.
pub(crate) fn tier(name: &str, run: impl FnOnce() -> Result<Tally>) -> (Tally, f64) {
    let start = Instant::now();
    let tally = run().unwrap_or_else(|error| failed(name, &format!("{error:#}")));
    let seconds = start.elapsed().as_secs_f64();
    clock::note(clock::WorkKind::Tier, name, seconds);
    (tally, seconds)
}

/// Whether a command succeeds, such as one that asks an installed tool for its version.
pub(crate) fn succeeds(cmd: Cmd<'_>) -> bool {
    cmd.quiet().ignore_stdout().ignore_stderr().run().is_ok()
}

fn timed(title: &str, run: impl FnOnce() -> Result<(), String>) -> Tally {
    progress::paused(|| eprintln!("== {title}"));
    let start = Instant::now();
    let outcome = run();
    let passed = outcome.is_ok();
    progress::paused(|| {
        if let Err(error) = &outcome {
            eprintln!("error: {error}");
        }
        let seconds = start.elapsed().as_secs_f64();
        clock::note(clock::WorkKind::Check, title, seconds);
        eprintln!("== {title}: {} in {seconds:.1} s", if passed { "passed" } else { "FAILED" });
    });
    Tally::of(title, passed)
}

/// Prints one line that a step cannot run here, and counts it.
pub(crate) fn skip(title: &str, why: &str) -> Tally {
    println!("skipped: {title}: {why}");
    Tally::skipped(format!("{title}: {why}"))
}

/// Prints why a check failed, and counts it.
pub(crate) fn failed(title: &str, why: &str) -> Tally {
    println!("FAILED: {title}: {why}");
    Tally::of(title, false)
}

/// Whether continuous integration runs this program.
pub(crate) fn is_ci() -> bool {
    std::env::var_os("CI").is_some_and(|value| value == "true")
}

/// Prints that a step cannot run because a tool is missing.
///
/// Continuous integration has every tool: there it fails.
pub(crate) fn missing_tool(title: &str, why: &str) -> Tally {
    if is_ci() { failed(title, why) } else { skip(title, why) }
}

/// Starts `cargo test` and returns it with its standard output.
fn start(cargo: &mut Command) -> Result<(Child, BufReader<ChildStdout>)> {
    let mut child = cargo.stdout(Stdio::piped()).spawn().context("cannot start cargo test")?;
    let stdout = child.stdout.take().context("standard output of cargo test is piped")?;
    Ok((child, BufReader::new(stdout)))
}

/// Runs a `cargo test` that prints messages of JSON, and passes each to `take` as it comes.
pub(crate) fn cargo_messages(cargo: &mut Command, mut take: impl FnMut(Message) -> Result<()>) -> Result<ExitStatus> {
    let (mut child, stdout) = start(cargo)?;
    for message in Message::parse_stream(stdout) {
        take(message.context("cannot read the messages of cargo")?)?;
    }
    child.wait().context("cannot wait for cargo test")
}

/// Runs `cargo test` with `args`, passes its output on, and sums its closing lines.
///
/// A run that fails without a failed test (it did not compile, or a test program died) counts as
/// one failure.
pub(crate) fn cargo_test(sh: &Shell, title: &str, args: &[&str]) -> Result<Tally> {
    eprintln!("== {title}");
    let began = Instant::now();
    let (mut child, stdout) = start(Command::new("cargo").arg("test").args(args).current_dir(sh.current_dir()))?;
    let mut tally = Tally::default();
    for line in stdout.lines() {
        let line = line.context("cannot read the output of cargo test")?;
        println!("{line}");
        if let Some(result) = Tally::from_test_line(&line) {
            tally += result;
        }
    }
    let status = child.wait().context("cannot wait for cargo test")?;
    if !status.success() && tally.failed.is_empty() {
        tally += Tally::of(title, false);
    }
    let seconds = began.elapsed().as_secs_f64();
    clock::note(clock::WorkKind::Check, title, seconds);
    eprintln!("== {title}: {tally} in {seconds:.1} s");
    Ok(tally)
}
