//! `cargo xtask test --changed`: the tests that a change can reach.

mod diff;
mod packages;
mod readers;
mod suite;

use std::{collections::BTreeSet, time::Instant};

use anyhow::Result;
use xshell::Shell;

use self::{
    diff::Diff,
    packages::{Impact, Packages},
    suite::SuiteSelection,
};
use super::{host, reference, row, show};
use crate::{
    build_ptx, forwarders,
    step::{TaskChecks, tier},
    suite as rules,
    tally::Tally,
};

/// The name of the command in the record of times.
pub(crate) const TASK: &str = "test --changed";

/// A tier that runs if a file below one of these paths changed.
struct Tier {
    name: &'static str,
    run: TaskChecks,
    paths: &'static [&'static str],
}

const TIERS: [Tier; 3] = [
    Tier {
        name: "ptx",
        run: build_ptx::check_what_changed,
        paths: &["kernels-ptx/", "crates/core-types/", "crates/ptx/", "xtask/", "ci/budgets.toml"],
    },
    Tier { name: "forwarders", run: |sh| forwarders::run(sh, true), paths: &["crates/cuda-loader/", "xtask/"] },
    Tier {
        name: "reference",
        run: |sh| reference::run(sh, reference::PyTorch::Optional),
        paths: &[
            "crates/pfss/tests/reference/",
            "crates/pfss/tests/golden/",
            "crates/nn-ops/tests/reference/",
            "crates/nn-ops/tests/golden/",
        ],
    },
];

/// Packages whose change runs the tests with processes of `mpirun`.
const RANKS: [&str; 2] = ["trefoil-collective", "trefoil-collective-mpi"];

/// What only other commands run.
const ONLY_BY_OTHERS: [&str; 5] = [
    "faults put into kernels, refused calls, the suite on every vector level and between guard words, examples in C and C++ under sanitizers, bad kernels in the rehearsal, field sweeps, constant time, stwo plug-in, cairo, pages: `cargo xtask test --all`",
    "demo on cpu and sim, gpu: `cargo xtask test`",
    "fuzz targets: `cargo xtask fuzz`",
    "format, clippy, docs, outside crates: `cargo xtask ci`",
    "mutants, sanitizers, Miri, soaks: `cargo xtask nightly`",
];

/// Runs the tests that the changes since `revision` affect, and prints the ones left out.
pub(crate) fn run(sh: &Shell, revision: Option<&str>) -> Result<Tally> {
    let diff = Diff::read(sh, revision)?;
    let packages = Packages::read(&sh.current_dir())?;
    let reach = packages.reach(&diff.files);
    let selection = SuiteSelection::of(&reach, &diff.files);
    println!("{} files changed since {:.12}", diff.files.len(), diff.since);
    println!("changed: {}\ntested: {}", list(&reach.changed), list(&reach.tested));

    let mut report = TierReport::default();
    report.add("rules", || rules::tidy(sh));
    for tier in TIERS {
        if diff.files.iter().any(|file| tier.paths.iter().any(|path| file.starts_with(path))) {
            report.add(tier.name, || (tier.run)(sh));
        } else {
            report.left_out.push(format!("{}: nothing below {} changed", tier.name, tier.paths.join(", ")));
        }
    }
    if reach.tested.is_empty() {
        report.left_out.push("all packages and the conformance suite: no package reads a changed file".to_owned());
    } else {
        tests(sh, &packages, &reach, &selection, &mut report);
    }
    report.left_out.extend(ONLY_BY_OTHERS.map(str::to_owned));
    Ok(report.finish())
}

/// Test programs, examples and the conformance suite.
fn tests(sh: &Shell, packages: &Packages, reach: &Impact, selection: &SuiteSelection, report: &mut TierReport) {
    let folders: BTreeSet<&str> = reach.tested.iter().filter_map(|name| packages.folder(name)).collect();
    let with_ranks = RANKS.iter().any(|name| reach.affected.contains(*name));
    report.add("host", || host::run_folders(sh, &folders, with_ranks));
    let untested: BTreeSet<String> = packages.names().map(str::to_owned).collect();
    let untested: BTreeSet<String> = untested.difference(&reach.tested).cloned().collect();
    if !untested.is_empty() {
        report.left_out.push(format!("tests of {}: no dependency changed", list(&untested)));
    }
    if !with_ranks {
        report.left_out.push(format!("mpi: none of {} depends on the change", RANKS.join(", ")));
    }
    report.add("conformance", || selection.run(sh));
    report.left_out.extend(selection.left_out());
}

fn list(names: &BTreeSet<String>) -> String {
    if names.is_empty() { "nothing".to_owned() } else { names.iter().cloned().collect::<Vec<_>>().join(", ") }
}

/// The table of tiers, and what did not run.
struct TierReport {
    sum: Tally,
    rows: Vec<String>,
    left_out: Vec<String>,
    start: Instant,
}

impl Default for TierReport {
    fn default() -> Self {
        Self { sum: Tally::default(), rows: Vec::new(), left_out: Vec::new(), start: Instant::now() }
    }
}

impl TierReport {
    fn add(&mut self, name: &str, run: impl FnOnce() -> Result<Tally>) {
        let (tally, seconds) = tier(name, run);
        self.rows.push(row(name, &tally, seconds));
        self.sum += tally;
    }

    /// Prints the table with the lines of what was left out.
    fn finish(mut self) -> Tally {
        self.rows.push(row("sum", &self.sum, self.start.elapsed().as_secs_f64()));
        show(&self.rows);
        println!("left out:");
        self.left_out.iter().for_each(|line| println!("    {line}"));
        println!();
        self.sum
    }
}
