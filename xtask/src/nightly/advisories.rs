//! Known faults of dependencies, by the advisory database of RustSec.

use xshell::{Shell, cmd};

use crate::{
    step::{missing_tool, skip},
    tally::Tally,
};

const TITLE: &str = "advisories of dependencies";

/// What cargo-deny prints if it cannot download the database.
const NO_DATABASE: &str = "failed to fetch advisory database";

/// Runs `cargo deny check advisories`; without the database the check is skipped.
pub(super) fn run(sh: &Shell) -> Tally {
    if cmd!(sh, "cargo deny --version").quiet().ignore_stdout().ignore_stderr().run().is_err() {
        return missing_tool(TITLE, "cargo-deny is not installed (cargo install --locked cargo-deny)");
    }
    eprintln!("== {TITLE}");
    let output = match cmd!(sh, "cargo deny check advisories").quiet().ignore_status().output() {
        Ok(output) => output,
        Err(error) => {
            println!("FAILED: {TITLE}: {error}");
            return Tally::of(TITLE, false);
        }
    };
    let text = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() && text.contains(NO_DATABASE) {
        return skip(TITLE, "the advisory database cannot be downloaded");
    }
    if !output.status.success() {
        println!("FAILED: {TITLE}: {}\n{text}", output.status);
    }
    Tally::of(TITLE, output.status.success())
}
