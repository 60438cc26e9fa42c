//! The constant-time check of every entry point of `pfss` with secret arguments.
//!
//! Each entry point runs with its secrets declared uninitialised, under valgrind's memcheck, which
//! reports each branch and each address that depends on one. `cargo xtask constant-time` starts the
//! check.
//!
//! Secrets are the dealer's random stream, and with it every mask, seed and share derived from it,
//! and the parties' input shares. Words sent in a session become public at the point where they are
//! sent. Planted leaks in the same run prove that the checker finds leaks.
//!
//! `entry_points` lists every method of `pfss` that touches a secret with the check that runs it.
//!
//! Not covered: reading a bundle from bytes, since whether a bundle is refused is public; waiting
//! for a peer; and everything that memcheck does not model, such as instructions whose time depends
//! on their operands.
#![allow(clippy::print_stdout, reason = "the program reports on standard output")]

mod batches;
mod circuit;
mod deal;
#[cfg(test)]
mod entry_points;
mod gates;
mod lockstep;
mod matrices;
mod memcheck;
mod plain;
mod planted;
mod seeds;
mod sessions;
mod tasks;

use std::{num::NonZeroUsize, process::ExitCode};

use anyhow::{Context, Result, bail, ensure};
use cpu_backend::{AesPath, CpuConfig, CpuQueue, Simd, SimdLevel};

/// The body of a check.
type Run = Box<dyn FnOnce(&CpuQueue) -> Result<()>>;

/// One entry point with secret arguments.
struct Check {
    title: String,
    run: Run,
    /// Whether the checker has to report something.
    leaks: bool,
}

impl Check {
    fn clean(title: impl Into<String>, run: impl FnOnce(&CpuQueue) -> Result<()> + 'static) -> Self {
        Self { title: title.into(), run: Box::new(run), leaks: false }
    }

    fn leak(title: impl Into<String>, run: impl FnOnce(&CpuQueue) -> Result<()> + 'static) -> Self {
        Self { leaks: true, ..Self::clean(title, run) }
    }

    /// The same on a processor without AES instructions.
    fn without_aes_instructions(self) -> Self {
        let Self { title, run, leaks } = self;
        let run = move |_: &CpuQueue| {
            let simd = Simd::detect_up_to(SimdLevel::Avx512).with_aes(AesPath::Portable).context("it runs anywhere")?;
            run(&CpuQueue::with_simd(one_thread(), simd)?)
        };
        Self { title: format!("{title}, without AES instructions"), run: Box::new(run), leaks }
    }
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// One thread, so that a report belongs to the check that runs.
fn one_thread() -> CpuConfig {
    CpuConfig { threads: Some(NonZeroUsize::MIN), ..CpuConfig::default() }
}

/// All checks, in the order in which they run.
fn checks() -> Result<Vec<Check>> {
    let mut checks = planted::checks();
    checks.extend(deal::checks()?);
    checks.extend(sessions::checks()?);
    checks.extend(seeds::checks());
    let again = deal::checks()?.into_iter().chain(sessions::checks()?).chain(seeds::checks());
    checks.extend(again.map(Check::without_aes_instructions));
    checks.extend(lockstep::checks()?);
    checks.extend(matrices::checks());
    checks.extend(batches::checks());
    checks.extend(circuit::checks());
    checks.extend(planted::after_gates());
    Ok(checks)
}

fn run() -> Result<()> {
    if !memcheck::is_running() {
        bail!("this program runs under valgrind: cargo xtask constant-time");
    }
    let q = CpuQueue::open(one_thread())?;
    let before = memcheck::reports();
    ensure!(before == 0, "{before} reports before anything was declared secret");
    let checks = checks()?;
    let (total, mut wrong) = (checks.len(), Vec::new());
    for Check { title, run, leaks } in checks {
        let before = memcheck::reports();
        run(&q)?;
        let reports = memcheck::reports() - before;
        let verdict = if leaks == (reports > 0) { "ok" } else { "WRONG" };
        println!("{verdict:<6}{reports:>6} reports  {title}");
        if verdict != "ok" {
            wrong.push(title);
        }
    }
    ensure!(wrong.is_empty(), "{} of {total} checks: {}", wrong.len(), wrong.join(", "));
    println!("{total} checks");
    Ok(())
}
