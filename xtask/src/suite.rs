use anyhow::Result;
use xshell::{Shell, cmd};

use crate::{
    build_ptx, forwarders, fuzz,
    step::{cargo_test, check, skip},
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

/// Every test this machine can run.
pub(crate) fn test(sh: &Shell) -> Result<Tally> {
    let mut tally = tidy(sh)?;
    tally += build_ptx::run(sh, true)?;
    tally += forwarders::run(sh, true)?;
    tally += cargo_test(sh, "workspace tests", &["--workspace", "--no-fail-fast"])?;
    // Sweeps over all 2^31 field elements are too slow with overflow checks, so they have a release build of their own.
    tally += cargo_test(sh, "exhaustive field sweeps", &["--release", "-p", "core-types", "--test", "exhaustive"])?;
    Ok(tally)
}

/// What continuous integration checks before it runs the tests, cheap failures first.
pub(crate) fn ci(sh: &Shell) -> Result<Tally> {
    let mut tally = check("format", cmd!(sh, "cargo fmt --all --check"));
    tally += check("clippy", cmd!(sh, "cargo clippy --workspace --all-targets --quiet -- -D warnings"));
    tally += check("docs", cmd!(sh, "cargo doc --workspace --no-deps --quiet").env("RUSTDOCFLAGS", "-D warnings"));
    tally += deny(sh);
    tally += fuzz::run(sh, fuzz::DEFAULT_SECONDS)?;
    Ok(tally)
}

/// Licences, banned crates and sources of the dependency tree. Advisories need the network and are left out.
fn deny(sh: &Shell) -> Tally {
    if cmd!(sh, "cargo deny --version").quiet().ignore_stdout().ignore_stderr().run().is_err() {
        return skip("licences and sources", "cargo-deny is not installed (cargo install --locked cargo-deny)");
    }
    check("licences and sources", cmd!(sh, "cargo deny --offline --log-level error check licenses bans sources"))
}
