//! Every test this machine can run, tier by tier.

mod conformance;
mod demo;
mod host;
mod reference;

use std::time::Instant;

use anyhow::Result;
use xshell::Shell;

use crate::{
    build_ptx, bundle, constant_time, forwarders, program::Program, step::cargo_test, suite, tally::Tally, test_gpu,
};

type Run = fn(&Shell) -> Result<Tally>;

/// The program that the tiers run. The release build would be a second one of every crate.
const PROGRAM: Program = Program::Dev;

/// The tiers in the order in which they run, cheap failures first.
const TIERS: [(&str, Run); 11] = [
    ("rules", suite::tidy),
    ("ptx", |sh| build_ptx::run(sh, true)),
    ("forwarders", |sh| forwarders::run(sh, true)),
    ("reference", reference::run),
    ("host", host::run),
    // Sweeps over all 2^31 field elements are too slow with overflow checks, so they have a release build of their own.
    ("sweeps", |sh| {
        cargo_test(sh, "exhaustive field sweeps", &["--release", "-p", "core-types", "--test", "exhaustive"])
    }),
    ("constant time", constant_time::run),
    ("cpu", conformance::on_cpu),
    ("sim", on_sim),
    ("bundle", |sh| bundle::try_out(sh, PROGRAM)),
    ("gpu", |sh| test_gpu::run(sh, PROGRAM, false, true)),
];

/// Runs every tier and prints a table of what each ran and what it left out.
pub(crate) fn run(sh: &Shell) -> Result<Tally> {
    let (mut sum, mut table) = (Tally::default(), Vec::new());
    for (name, tier) in TIERS {
        let start = Instant::now();
        let tally = tier(sh).unwrap_or_else(|error| {
            println!("FAILED: {name}: {error:#}");
            Tally::of(name, false)
        });
        let (passed, failed, skipped) = (tally.passed, tally.failed.len(), tally.skipped.len());
        let seconds = start.elapsed().as_secs_f64();
        table.push(format!("{name:<14}{passed:>8}{failed:>8}{skipped:>9}{seconds:>10.1} s"));
        table.extend(tally.skipped.iter().map(|why| format!("{:<14}skipped: {why}", "")));
        sum += tally;
    }
    println!("\n{:<14}{:>8}{:>8}{:>9}{:>12}\n{}\n", "tier", "passed", "failed", "skipped", "time", table.join("\n"));
    Ok(sum)
}

fn on_sim(sh: &Shell) -> Result<Tally> {
    let mut tally = conformance::on_sim(sh)?;
    tally += demo::is_the_same_on_cpu_and_sim(sh)?;
    Ok(tally)
}
