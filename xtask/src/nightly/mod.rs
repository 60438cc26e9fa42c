//! `cargo xtask nightly`: checks too slow for continuous integration.
//!
//! Each part can be run by hand.

mod advisories;
mod book;
mod miri;
mod sanitizers;

use anyhow::{Result, ensure};
use xshell::Shell;

use crate::{
    fuzz, mpi, mutants,
    step::{TaskChecks, cargo_test, tier},
    tally::Tally,
    test,
};

/// Seconds for each fuzz target.
const FUZZ_SECONDS: u32 = 180;

/// The parts of the tier by name, in the order in which they run, the quickest first.
///
/// The help of the program lists them.
const PARTS: [(&str, TaskChecks); 10] = [
    ("book", book::run),
    ("advisories", advisories::run),
    ("arrays", arrays),
    ("sweeps", |sh| test::sweeps(sh, &[])),
    ("soaks", soaks),
    ("miri", |sh| Ok(miri::run(sh))),
    ("asan", sanitizers::address),
    ("tsan", sanitizers::thread),
    ("fuzz", |sh| fuzz::run(sh, FUZZ_SECONDS)),
    ("mutants", |sh| mutants::run(sh, &mutants::MutantOptions::of_today())),
];

/// Whether a part has this name.
pub(crate) fn is_part(name: &str) -> bool {
    PARTS.iter().any(|(part, _)| *part == name)
}

/// Runs the part called `only`, or all, and prints a line for each.
pub(crate) fn run(sh: &Shell, only: Option<&str>) -> Result<Tally> {
    let (mut sum, mut lines) = (Tally::default(), Vec::new());
    for (name, run) in PARTS.into_iter().filter(|(name, _)| only.is_none_or(|only| only == *name)) {
        let (tally, seconds) = tier(name, || run(sh));
        lines.push(format!("{name:<12}{tally} in {seconds:.1} s"));
        lines.extend(tally.skipped.iter().map(|why| format!("{:<12}skipped: {why}", "")));
        sum += tally;
    }
    println!("\n{}\n", lines.join("\n"));
    Ok(sum)
}

/// The suite on the processor with the floats of other processors, in arrays.
fn arrays(sh: &Shell) -> Result<Tally> {
    let features = ["--package", "conformance", "--features", "cpu-backend/arrays", "--test", "main"];
    let tests =
        cargo_test(sh, "arrays", &[&features[..], &["--", "specifications_hold_on_every_vector_level"]].concat())?;
    ensure!(tests.passed + tests.failed.len() > 0, "expected tests on every vector level, got none");
    Ok(tests)
}

/// A thousand proofs and a thousand training steps without growth.
///
/// They run from the programs that the tier `host` builds.
fn soaks(sh: &Shell) -> Result<Tally> {
    let run = ["--workspace", "--test", "main"];
    cargo_test(sh, "soaks", &[&run, mpi::features(sh), &["--", "soak::"]].concat())
}
