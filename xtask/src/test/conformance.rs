//! Self-contained runs of the `trefoil` program.
//!
//! They are the conformance suite on the processor and the simulated device, and the bundle for GPU
//! machines.

use std::{collections::BTreeSet, time::Instant};

use anyhow::Result;
use xshell::{Shell, cmd};

use super::{Extent, PROGRAM};
use crate::{clock, gpu::bundle, pool::on_every_core, progress, tally::Tally, times};

/// One run of the suite.
struct SuiteRun {
    title: &'static str,
    backend: &'static str,
    /// The simulated machine.
    machine: &'static str,
    /// How it runs programs of AIRs.
    air: &'static str,
    arguments: &'static [&'static str],
}

/// Every case.
const ON_CPU: [SuiteRun; 1] = [cpu("conformance on cpu, plain", PLAIN)];

const PLAIN: &[&str] = &["--condition", "plain"];

/// The longest run of the usual extent, as one process for each of two cores.
const HALVES: [[&str; 4]; 2] = [["--condition", "plain", "--part", "1/2"], ["--condition", "plain", "--part", "2/2"]];

const SHUFFLE_1: &str = "order=seeded;seed=1;schedule=lazy;checks=sanitize";

/// Every case under every checker.
///
/// Blocks and warps run in another order, and streams run late.
const ON_SIM: [SuiteRun; 4] = [
    sim("conformance on sim, shuffle 1, late streams, checkers on, first half", SHUFFLE_1, &HALVES[0]),
    sim("conformance on sim, shuffle 1, late streams, checkers on, second half", SHUFFLE_1, &HALVES[1]),
    sim("conformance on sim, interpreted programs", "", &["air."]).interpreting(),
    sim("conformance on sim, proofs with interpreted programs", "", &["stark.", "--condition", "plain"]).interpreting(),
];

/// Jobs of the full tier.
///
/// - Plain, recorded, and under the other conditions, in the natural order without checkers.
/// - Under every checker in one more order, with shuffled streams.
/// - On forked queues, with late streams on the largest supported machine, whose multiprocessors
///   determine the size of launches.
const MORE: [SuiteRun; 6] = [
    sim("conformance on sim, plain and recorded", "", &["--condition", "plain", "--condition", "recorded"]),
    cpu("conformance on cpu, forked and starved", &["--condition", "forked", "--condition", "starved"]),
    cpu("conformance on cpu, guarded", &["--condition", "guarded"]),
    sim("conformance on sim, guarded and starved", "", &["--condition", "guarded", "--condition", "starved"]),
    sim(
        "conformance on sim, reverse order, shuffled streams, checkers on",
        "order=reverse;seed=2;schedule=random;checks=sanitize",
        PLAIN,
    ),
    sim(
        "conformance on sim, forked, late streams, 132 multiprocessors",
        "schedule=lazy;cc=9.0;sms=132;driver=13.0",
        &["--condition", "forked"],
    ),
];

/// The parts that the usual extent leaves out, for a table.
pub(super) const LEFT_OUT: &str = "the suite between guard words, forked and out of memory, on the simulated device also recorded; one more \
                                   order of blocks and streams under every checker, 132 multiprocessors, and the bundle for GPU machines";

/// The work of one process.
#[derive(Clone, Copy)]
enum ProcessWork {
    Suite(&'static SuiteRun),
    Bundle,
}

const fn cpu(title: &'static str, arguments: &'static [&'static str]) -> SuiteRun {
    SuiteRun { title, backend: "cpu", machine: "", air: "", arguments }
}

const fn sim(title: &'static str, machine: &'static str, arguments: &'static [&'static str]) -> SuiteRun {
    SuiteRun { title, backend: "sim", machine, air: "", arguments }
}

/// The usual jobs of some backends; the program has to be built.
pub(super) fn run_on(sh: &Shell, backends: &BTreeSet<&str>) -> Result<Tally> {
    let jobs = ON_SIM.iter().chain(&ON_CPU).filter(|job| backends.contains(job.backend));
    let jobs: Vec<_> = jobs.map(|job| (job, sh.clone())).collect();
    on_every_core(jobs, |(job, sh)| job.run(&sh))
}

/// Runs one job per core at a time, longest first: a process has one simulated driver.
pub(super) fn run(sh: &Shell, extent: Extent) -> Result<Tally> {
    let mut tally = PROGRAM.build(sh);
    if !tally.failed.is_empty() {
        return Ok(tally);
    }
    let suites = ON_SIM.iter().chain(&ON_CPU).map(ProcessWork::Suite);
    let mut work: Vec<_> = suites.map(|work| (work, sh.clone())).collect();
    if extent == Extent::All {
        let more = [ProcessWork::Bundle].into_iter().chain(MORE.iter().map(ProcessWork::Suite));
        work.splice(0..0, more.map(|work| (work, sh.clone())));
    }
    tally += on_every_core(work, |(work, sh)| match work {
        ProcessWork::Suite(job) => job.run(&sh),
        ProcessWork::Bundle => bundle::try_out(&sh, PROGRAM),
    })?;
    Ok(tally)
}

impl SuiteRun {
    /// With programs of AIRs run step by step.
    const fn interpreting(self) -> Self {
        Self { air: "interpreted", ..self }
    }

    fn run(&self, sh: &Shell) -> Result<Tally> {
        let &Self { title, backend, machine, air, arguments } = self;
        progress::paused(|| eprintln!("== {title}"));
        let (start, program) = (Instant::now(), PROGRAM.path());
        let scratch = sh.create_temp_dir()?;
        let events = scratch.path().join("events.jsonl");
        let suite = cmd!(sh, "{program} conformance --backend {backend} {arguments...} --events {events}");
        let suite = suite.env("TREFOIL_SIM", machine).env("TREFOIL_GPU_AIR", air);
        let output = progress::during(title, || suite.quiet().ignore_status().output())?;
        clock::note(clock::WorkKind::Job, title, start.elapsed().as_secs_f64());
        // A program that dies leaves a part of its events.
        if output.status.success() {
            times::note_events(backend, &events)?;
        }
        let lines = String::from_utf8_lossy(&output.stdout);
        let mut tally = Tally::default();
        lines.lines().filter_map(|line| summary(title, line)).for_each(|counts| tally += counts);
        if !output.status.success() {
            tally.failed.push(title.to_owned());
        }
        progress::paused(|| {
            lines.lines().for_each(|line| println!("{title}: {line}"));
            if !output.status.success() {
                println!("{title}: {}", String::from_utf8_lossy(&output.stderr).trim());
            }
            eprintln!("== {title}: {tally} in {:.1} s", start.elapsed().as_secs_f64());
        });
        Ok(tally)
    }
}

/// Reads a line of the program's summary.
///
/// `guarded    783 passed, 0 failed in 22.3 s`
///
/// `783 cases on sim, 14 on more elements than asked for left out`
fn summary(title: &str, line: &str) -> Option<Tally> {
    if let Some((_, rest)) = line.split_once(" cases on ") {
        let (_, left_out) = rest.rsplit_once(", ")?;
        return Some(Tally::skipped(format!("{title}: cases {left_out}")));
    }
    let passed = line.split_once(" passed, ")?.0.split_whitespace().last()?.parse().ok()?;
    Some(Tally { passed, ..Tally::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_are_counted() {
        let lines = [
            "guarded    783 passed, 0 failed in 22.3 s",
            "linalg.gemm   A B, 1x1x1   0.000 s  FAILED: element 0",
            "783 cases on sim, 14 on more elements than asked for left out",
            "797 cases on cpu",
        ];
        let mut sum = Tally::default();
        lines.iter().filter_map(|line| summary("suite", line)).for_each(|tally| sum += tally);
        let skipped = vec!["suite: cases 14 on more elements than asked for left out".to_owned()];
        assert_eq!(sum, Tally { passed: 783, failed: Vec::new(), skipped });
    }
}
