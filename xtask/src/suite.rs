//! The tasks `tidy` and `ci`.

use anyhow::Result;
use xshell::{Shell, cmd};

use crate::{
    fuzz, mpi, outside,
    step::{check, skip},
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
    tally += check("clippy", cmd!(sh, "cargo clippy --workspace --all-targets --quiet -- -D warnings"));
    // The rest is checked already.
    if mpi::is_there(sh) {
        let clippy =
            cmd!(sh, "cargo clippy --workspace --all-targets --features trefoil-cli/mpi --quiet -- -D warnings");
        tally += check("clippy, with MPI", clippy);
    }
    tally += check("docs", cmd!(sh, "cargo doc --workspace --no-deps --quiet").env("RUSTDOCFLAGS", "-D warnings"));
    tally += deny(sh);
    tally += outside::run(sh)?;
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
