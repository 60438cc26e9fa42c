//! The tasks `tidy` and `ci`.

use std::{path::Path, thread};

use anyhow::{Context, Result};
use xshell::{Shell, cmd};

use crate::{
    mpi, outside,
    step::{check, skip, succeeds},
    tally::Tally,
    tidy as rules,
};

/// Repository rules; one check.
pub(crate) fn tidy(sh: &Shell) -> Result<Tally> {
    let findings = rules::check(&sh.current_dir())?;
    for finding in &findings {
        println!("{finding}");
    }
    eprintln!("== tidy: {} findings", findings.len());
    Ok(Tally::of("tidy", findings.is_empty()))
}

/// What continuous integration checks before it runs the tests, cheap failures first.
pub(crate) fn ci(sh: &Shell) -> Result<Tally> {
    let mut tally = check("format", cmd!(sh, "cargo fmt --all --check"));
    tally += deny(sh);
    // Outside crates have a separate target folder. They compile while the last crates of the lints keep one core busy.
    let (outside, lints) = thread::scope(|scope| {
        let shell = sh.clone();
        let outside = scope.spawn(move || outside::run(&shell));
        let lints = lints_and_docs(sh);
        (outside.join().ok(), lints)
    });
    tally += lints?;
    tally += outside.context("a thread of the task died")??;
    Ok(tally)
}

/// Clippy on every target, on the program without CUDA, and the documentation.
///
/// Everything is checked once, with every feature that this machine can build.
fn lints_and_docs(sh: &Shell) -> Result<Tally> {
    let sysroot = cmd!(sh, "rustc --print sysroot").quiet().read()?;
    let wrapper = Path::new(&sysroot).join("bin/clippy-driver");
    // The documentation is made from the metadata that the lints leave: without the wrapper it would be compiled again.
    let _wrapper = sh.push_env("RUSTC_WORKSPACE_WRAPPER", wrapper);
    let _lints = sh.push_env("CLIPPY_ARGS", "-Dwarnings__CLIPPY_HACKERY__");
    let features = mpi::features(sh);
    let mut tally = check("clippy", cmd!(sh, "cargo check --workspace --all-targets {features...} --quiet"));
    let program = cmd!(sh, "cargo check --package trefoil-cli --no-default-features --quiet");
    tally += check("clippy, the program without CUDA", program);
    let docs = cmd!(sh, "cargo doc --workspace --no-deps {features...} --quiet");
    tally += check("docs", docs.env("RUSTDOCFLAGS", "-D warnings"));
    Ok(tally)
}

/// Licences, banned crates and sources of the dependency tree.
///
/// Advisories need the network and are left out.
fn deny(sh: &Shell) -> Tally {
    if !succeeds(cmd!(sh, "cargo deny --version")) {
        return skip("licences and sources", "cargo-deny is not installed (cargo install --locked cargo-deny)");
    }
    check("licences and sources", cmd!(sh, "cargo deny --offline --log-level error check licenses bans sources"))
}
