//! Undefined behaviour in code that Miri can interpret.
//!
//! It is code without SIMD and foreign functions, and with little data.

use xshell::{Shell, cmd};

use crate::{
    step::{check_quietly, skip, succeeds},
    tally::Tally,
};

const TITLE: &str = "Miri";

/// Packages whose memory accesses Miri can interpret.
///
/// Each has filters of its unit tests (all tests if empty) and skipped tests, which loop over much
/// data.
const PACKAGES: [(&str, &[&str], &[&str]); 3] = [
    ("backend-api", &[], &["random", "results_that_overlap"]),
    ("cuda-sim", &[], &[]),
    ("cpu-backend", &["blake2s", "blocks"], &[]),
];

/// Runs the unit tests of each package under the nightly toolchain's Miri.
///
/// There is one check per package.
pub(super) fn run(sh: &Shell) -> Tally {
    if !succeeds(cmd!(sh, "rustup run nightly cargo miri --version")) {
        let why = "rustup has no nightly toolchain with miri (rustup +nightly component add miri rust-src)";
        return skip(TITLE, why);
    }
    let mut tally = Tally::default();
    for (package, filters, skipped) in PACKAGES {
        let skips = skipped.iter().flat_map(|part| ["--skip", part]);
        let test = cmd!(sh, "rustup run nightly cargo miri test --package {package} --lib -- {filters...} {skips...}");
        // rust-toolchain.toml names another compiler. Tests read files and the time. Miri's own model of weak memory panics where
        // atomics of several widths meet, as in the simulator's memory.
        let flags = "-Zmiri-disable-isolation -Zmiri-disable-weak-memory-emulation";
        let test = test.env("RUSTUP_TOOLCHAIN", "nightly").env("MIRIFLAGS", flags);
        tally += check_quietly(&format!("{TITLE}, unit tests of {package}"), test);
    }
    tally
}
