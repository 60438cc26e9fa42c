//! `cargo xtask nightly`: checks too slow for continuous integration.
//!
//! Each part can be run by hand.

mod advisories;
mod book;
mod miri;
mod sanitizers;

use std::time::Instant;

use anyhow::Result;
use xshell::Shell;

use crate::{clock, fuzz, mpi, mutants, step::cargo_test, tally::Tally, test};

/// A part of the nightly tier.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NightlyPart {
    pub(crate) name: &'static str,
    run: fn(&Shell) -> Result<Tally>,
}

/// Seconds for each fuzz target.
const FUZZ_SECONDS: u32 = 180;

/// The parts in the order in which they run, the quickest first.
///
/// The help of the program lists them.
pub(crate) const PARTS: [NightlyPart; 9] = [
    NightlyPart { name: "book", run: |sh| Ok(book::run(sh)) },
    NightlyPart { name: "advisories", run: |sh| Ok(advisories::run(sh)) },
    NightlyPart { name: "sweeps", run: |sh| test::sweeps(sh, &[]) },
    NightlyPart { name: "soaks", run: soaks },
    NightlyPart { name: "miri", run: |sh| Ok(miri::run(sh)) },
    NightlyPart { name: "asan", run: sanitizers::address },
    NightlyPart { name: "tsan", run: sanitizers::thread },
    NightlyPart { name: "fuzz", run: |sh| fuzz::run(sh, FUZZ_SECONDS) },
    NightlyPart { name: "mutants", run: |sh| mutants::run(sh, &mutants::MutantOptions::of_today()) },
];

impl PartialEq for NightlyPart {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for NightlyPart {}

impl NightlyPart {
    /// The part called `name`.
    pub(crate) fn named(name: &str) -> Option<Self> {
        PARTS.into_iter().find(|part| part.name == name)
    }
}

/// Runs one part or all, and prints a line for each.
pub(crate) fn run(sh: &Shell, part: Option<NightlyPart>) -> Result<Tally> {
    let parts = part.map_or_else(|| PARTS.to_vec(), |part| vec![part]);
    let (mut sum, mut lines) = (Tally::default(), Vec::new());
    for NightlyPart { name, run } in parts {
        let start = Instant::now();
        let tally = run(sh).unwrap_or_else(|error| {
            println!("FAILED: {name}: {error:#}");
            Tally::of(name, false)
        });
        let seconds = start.elapsed().as_secs_f64();
        clock::note(clock::WorkKind::Tier, name, seconds);
        lines.push(format!("{name:<12}{tally} in {seconds:.1} s"));
        lines.extend(tally.skipped.iter().map(|why| format!("{:<12}skipped: {why}", "")));
        sum += tally;
    }
    println!("\n{}\n", lines.join("\n"));
    Ok(sum)
}

/// A thousand proofs and a thousand training steps without growth.
///
/// They run from the programs that the tier `host` builds.
fn soaks(sh: &Shell) -> Result<Tally> {
    let run = ["--workspace", "--test", "main"];
    cargo_test(sh, "soaks", &[&run, mpi::features(sh), &["--", "soak::"]].concat())
}
