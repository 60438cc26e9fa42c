use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
    time::Instant,
};

use anyhow::{Context, Result};
use xshell::{Cmd, Shell};

use crate::tally::Tally;

/// Runs one command as one check, shown under its title with the time it took.
pub(crate) fn check(title: &str, cmd: Cmd<'_>) -> Tally {
    eprintln!("== {title}");
    let start = Instant::now();
    let passed = match cmd.run() {
        Ok(()) => true,
        Err(error) => {
            eprintln!("error: {error}");
            false
        }
    };
    eprintln!("== {title}: {} in {:.1} s", if passed { "passed" } else { "FAILED" }, start.elapsed().as_secs_f64());
    Tally::of(passed)
}

/// Says in one line that a step cannot run here, and counts it.
pub(crate) fn skip(title: &str, why: &str) -> Tally {
    println!("skipped: {title}: {why}");
    Tally::SKIPPED
}

/// Runs `cargo test` with `args`, passes its output on, and sums its closing lines.
///
/// A run that fails without a failed test (it did not compile, or a test program died) counts as one failure.
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
        if let Some(result) = Tally::from_test_result(&line) {
            tally += result;
        }
    }
    let status = child.wait().context("cannot wait for cargo test")?;
    if !status.success() && tally.failed == 0 {
        tally += Tally::FAILED;
    }
    eprintln!("== {title}: {tally} in {:.1} s", start.elapsed().as_secs_f64());
    Ok(tally)
}
