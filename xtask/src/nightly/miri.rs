//! Undefined behaviour in what Miri can interpret: no SIMD, no foreign functions, and little data.

use xshell::{Shell, cmd};

use crate::{
    step::{check_quietly, skip},
    tally::Tally,
};

const TITLE: &str = "Miri";

/// Packages whose unit tests run, with the tests that are left out as they loop over much data.
const PACKAGES: [(&str, &[&str]); 5] = [
    ("core-types", &["every", "exhaustive", "all_"]),
    ("backend-api", &[]),
    ("stark-verifier", &[]),
    ("stark-air", &[]),
    ("ptx", &[]),
];

/// Runs the unit tests of each package under the nightly toolchain's Miri; one check per package.
pub(super) fn run(sh: &Shell) -> Tally {
    if cmd!(sh, "rustup run nightly cargo miri --version").quiet().ignore_stdout().ignore_stderr().run().is_err() {
        let why = "rustup has no nightly toolchain with miri (rustup +nightly component add miri rust-src)";
        return skip(TITLE, why);
    }
    let mut tally = Tally::default();
    for (package, skipped) in PACKAGES {
        let skips = skipped.iter().flat_map(|part| ["--skip", part]);
        let test = cmd!(sh, "rustup run nightly cargo miri test --package {package} --lib -- {skips...}");
        // rust-toolchain.toml names another compiler, and tests read files and the time.
        let test = test.env("RUSTUP_TOOLCHAIN", "nightly").env("MIRIFLAGS", "-Zmiri-disable-isolation");
        tally += check_quietly(&format!("{TITLE}, unit tests of {package}"), test);
    }
    tally
}
