//! One command as one check: its title, its output, its time.

use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
    time::Instant,
};

use anyhow::{Context, Result};
use xshell::{Cmd, Shell};

use crate::{clock, progress, tally::Tally};

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

/// Whether continuous integration runs this program.
pub(crate) fn is_ci() -> bool {
    std::env::var_os("CI").is_some_and(|value| value == "true")
}

/// Prints that a step cannot run because a tool is missing.
///
/// Continuous integration has every tool: there it fails.
pub(crate) fn missing_tool(title: &str, why: &str) -> Tally {
    if is_ci() {
        println!("FAILED: {title}: {why}");
        return Tally::of(title, false);
    }
    skip(title, why)
}

/// Runs `cargo test` with `args`, passes its output on, and sums its closing lines.
///
/// A run that fails without a failed test (it did not compile, or a test program died) counts as
/// one failure.
pub(crate) fn cargo_test(sh: &Shell, title: &str, args: &[&str]) -> Result<Tally> {
    eprintln!("== {title}");
    let start = Instant::now();
    let mut child = Command::new("cargo")
        .arg("test")
        .args(args)
        .current_dir(sh.current_dir())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start cargo test")?;
    let stdout = child.stdout.take().context("standard output of cargo test is piped")?;
    let mut tally = Tally::default();
    for line in BufReader::new(stdout).lines() {
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
    let seconds = start.elapsed().as_secs_f64();
    clock::note(clock::WorkKind::Check, title, seconds);
    eprintln!("== {title}: {tally} in {seconds:.1} s");
    Ok(tally)
}
