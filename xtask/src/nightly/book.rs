//! The book of the documents, built without warnings.

use xshell::{Shell, cmd};

use crate::{step::missing_tool, tally::Tally};

const TITLE: &str = "book";

/// Runs `mdbook build`; a warning is a failure.
pub(super) fn run(sh: &Shell) -> Tally {
    if cmd!(sh, "mdbook --version").quiet().ignore_stdout().ignore_stderr().run().is_err() {
        return missing_tool(TITLE, "mdbook is not installed (cargo install --locked mdbook)");
    }
    eprintln!("== {TITLE}");
    let (passed, text) = match cmd!(sh, "mdbook build").quiet().ignore_status().output() {
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            (output.status.success() && !text.contains("WARN") && !text.contains("ERROR"), text)
        }
        Err(error) => (false, error.to_string()),
    };
    if !passed {
        println!("FAILED: {TITLE}\n{text}");
    }
    Tally::of(TITLE, passed)
}
