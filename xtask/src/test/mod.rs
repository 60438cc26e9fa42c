//! The tests this machine can run, tier by tier.

mod changed;
mod conformance;
mod demo;
mod host;
mod pages;
mod programs;
mod ranks;
mod reference;

use std::{collections::BTreeMap, thread, time::Instant};

use anyhow::{Context, Result};
use xshell::{Shell, cmd};

pub(crate) use self::{
    changed::{TASK as CHANGED, run as run_changed},
    pages::run as run_pages,
    ranks::run as run_ranks,
    reference::{PyTorch, run as reference},
};

use crate::{
    build_ptx, constant_time, forwarders, gpu, kernels,
    program::BuildProfile,
    step::{cargo_test, check, tier},
    stwo_plugin, suite,
    tally::Tally,
};

/// How much is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// What does not take long.
    Usual,
    /// Every tier, whole.
    All,
}

impl Extent {
    /// The task as one would type it.
    pub(crate) const fn task(self) -> &'static str {
        match self {
            Self::Usual => "test",
            Self::All => "test --all",
        }
    }
}

/// The program that the tiers run. The release build would be a second one of every crate.
const PROGRAM: BuildProfile = BuildProfile::Dev;

/// A group of tests.
struct Tier {
    name: &'static str,
    run: fn(&Shell, Extent) -> Result<Tally>,
    /// The parts that the usual extent leaves out for time.
    left_out: Option<&'static str>,
    /// Whether the usual extent leaves out all of it.
    slow: bool,
    /// Whether it runs concurrently with the main lane.
    ///
    /// It must not build into `target/debug`, which cargo locks.
    concurrent: bool,
}

/// A tier that is run whole by either extent.
const fn whole(name: &'static str, run: fn(&Shell, Extent) -> Result<Tally>) -> Tier {
    Tier { name, run, left_out: None, slow: false, concurrent: false }
}

/// A tier that is too slow to be part of the usual extent.
const fn slow(name: &'static str, run: fn(&Shell, Extent) -> Result<Tally>, left_out: &'static str) -> Tier {
    Tier { left_out: Some(left_out), slow: true, concurrent: true, ..whole(name, run) }
}

impl Tier {
    const fn concurrent(self) -> Self {
        Self { concurrent: true, ..self }
    }
}

/// Tiers in the order of the table. Each lane runs its tiers in this order.
const TIERS: [Tier; 12] = [
    whole("rules", |sh, _| suite::tidy(sh)).concurrent(),
    Tier {
        left_out: Some("a fresh build of kernels whose sources have not changed, and new samples of families"),
        concurrent: true,
        ..whole("ptx", |sh, extent| match extent {
            Extent::Usual => build_ptx::check_what_changed(sh),
            Extent::All => {
                let mut tally = build_ptx::run(sh, true)?;
                tally += kernels::check_families(sh)?;
                Ok(tally)
            }
        })
    },
    whole("forwarders", |sh, _| forwarders::run(sh, true)).concurrent(),
    whole("reference", |sh, _| reference::run(sh, PyTorch::Optional)).concurrent(),
    Tier { left_out: Some(programs::LEFT_OUT), ..whole("host", host::run) },
    // Sweeps over all 2^31 field elements are too slow with overflow checks, so they have a release build of their own.
    slow(
        "sweeps",
        |sh, _| sweeps(sh, &["--skip", INVERSES]),
        "all 2^31 elements of the field (the host tier runs a part of them)",
    ),
    slow(
        "constant time",
        |sh, _| constant_time::run(sh),
        "every entry point of pfss that takes a secret, under valgrind",
    ),
    Tier { left_out: Some(conformance::LEFT_OUT), ..whole("cpu and sim", on_cpu_and_sim) },
    Tier {
        concurrent: false,
        ..slow(
            "pages",
            |sh, _| pages::run(sh),
            "the program's pages in a browser, on a wide screen and on a narrow one",
        )
    },
    slow(
        "stwo plug-in",
        |sh, _| Ok(stwo_plugin::run(sh)),
        "the backend for stwo's own prover, which has a compiler of its own",
    ),
    slow(
        "cairo",
        |sh, _| Ok(check("Cairo's constraints: format, lints and proofs", cmd!(sh, "bash ci/cairo"))),
        "Cairo's production constraints, recorded and proven",
    ),
    whole("gpu", |sh, _| gpu::test::run(sh, PROGRAM, false, true)),
];

/// The sweep over inverses, which takes ten times as long as the others.
///
/// The nightly tier runs it, the host tier a part of it.
const INVERSES: &str = "every_element_but_zero_has_its_inverse";

/// Laws of the field on all its elements, of a release build.
pub(crate) fn sweeps(sh: &Shell, filters: &[&str]) -> Result<Tally> {
    let sweeps = ["--release", "-p", "core-types", "--test", "exhaustive", "--"];
    cargo_test(sh, "exhaustive field sweeps", &[&sweeps, filters].concat())
}

/// Names of the tiers, in their order.
#[cfg(test)]
pub(crate) fn tier_names() -> impl Iterator<Item = &'static str> {
    TIERS.iter().map(|tier| tier.name)
}

/// Runs every tier and prints a table of tests run, unavailable and left out.
///
/// Two lanes run concurrently: tiers that use the workspace's test programs, and tiers that build
/// elsewhere.
pub(crate) fn run(sh: &Shell, extent: Extent) -> Result<Tally> {
    let start = Instant::now();
    let (concurrent, mut outcomes) = thread::scope(|scope| {
        let shell = sh.clone();
        let concurrent = scope.spawn(move || run_lane(&shell, extent, true));
        let outcomes = run_lane(sh, extent, false);
        (concurrent.join().ok(), outcomes)
    });
    outcomes.extend(concurrent.context("a thread of the task died")?);
    let (mut sum, mut table) = (Tally::default(), Vec::new());
    for tier in &TIERS {
        let (tally, seconds) = outcomes.remove(tier.name).context("every tier has run")?;
        table.push(row(tier.name, &tally, seconds));
        table.extend(tally.skipped.iter().map(|why| format!("{:<14}skipped: {why}", "")));
        let left_out = tier.left_out.filter(|_| extent == Extent::Usual);
        table.extend(left_out.map(|what| format!("{:<14}only by --all: {what}", "")));
        sum += tally;
    }
    table.push(row("sum", &sum, start.elapsed().as_secs_f64()));
    show(&table);
    Ok(sum)
}

/// Prints a table of tiers.
fn show(rows: &[String]) {
    println!("\n{:<14}{:>8}{:>8}{:>9}{:>12}\n{}\n", "tier", "passed", "failed", "skipped", "time", rows.join("\n"));
}

/// Runs the tiers of one lane and returns their tallies and seconds by name.
fn run_lane(sh: &Shell, extent: Extent, concurrent: bool) -> BTreeMap<&'static str, (Tally, f64)> {
    let lane = TIERS.iter().filter(|tier| tier.concurrent == concurrent);
    let run = |tier: &Tier| {
        if tier.slow && extent == Extent::Usual { Ok(Tally::default()) } else { (tier.run)(sh, extent) }
    };
    lane.map(|of_lane| (of_lane.name, tier(of_lane.name, || run(of_lane)))).collect()
}

/// A line of the table.
fn row(name: &str, tally: &Tally, seconds: f64) -> String {
    let (passed, failed, skipped) = (tally.passed, tally.failed.len(), tally.skipped.len());
    format!("{name:<14}{passed:>8}{failed:>8}{skipped:>9}{seconds:>10.1} s")
}

fn on_cpu_and_sim(sh: &Shell, extent: Extent) -> Result<Tally> {
    let mut tally = conformance::run(sh, extent)?;
    tally += demo::is_the_same_on_cpu_and_sim(sh)?;
    Ok(tally)
}
