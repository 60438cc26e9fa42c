//! Known faults of dependencies, by the advisory database of RustSec.

use anyhow::Result;
use xshell::{Shell, cmd};

use crate::{
    step::{failed, missing_tool, skip, succeeds},
    tally::Tally,
};

const TITLE: &str = "advisories of dependencies";

/// What cargo-deny prints if it cannot download the database.
const NO_DATABASE: &str = "failed to fetch advisory database";

/// Runs `cargo deny check advisories`; without the database the check is skipped.
pub(super) fn run(sh: &Shell) -> Result<Tally> {
    if !succeeds(cmd!(sh, "cargo deny --version")) {
        return Ok(missing_tool(TITLE, "cargo-deny is not installed (cargo install --locked cargo-deny)"));
    }
    eprintln!("== {TITLE}");
    let output = cmd!(sh, "cargo deny check advisories").quiet().ignore_status().output()?;
    let text = String::from_utf8_lossy(&output.stderr);
    Ok(if output.status.success() {
        Tally::of(TITLE, true)
    } else if text.contains(NO_DATABASE) {
        skip(TITLE, "the advisory database cannot be downloaded")
    } else {
        failed(TITLE, &format!("{}\n{text}", output.status))
    })
}
