//! The book of the documents, built without warnings.

use anyhow::Result;
use xshell::{Shell, cmd};

use crate::{
    step::{failed, missing_tool, succeeds},
    tally::Tally,
};

const TITLE: &str = "book";

/// Runs `mdbook build`; a warning is a failure.
pub(super) fn run(sh: &Shell) -> Result<Tally> {
    if !succeeds(cmd!(sh, "mdbook --version")) {
        return Ok(missing_tool(TITLE, "mdbook is not installed (cargo install --locked mdbook)"));
    }
    eprintln!("== {TITLE}");
    let output = cmd!(sh, "mdbook build").quiet().ignore_status().output()?;
    let text = String::from_utf8_lossy(&output.stderr);
    let passed = output.status.success() && !text.contains("WARN") && !text.contains("ERROR");
    Ok(if passed { Tally::of(TITLE, true) } else { failed(TITLE, &text) })
}
