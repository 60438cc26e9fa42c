//! The plug-in for stwo's own prover: a separate workspace, for a nightly compiler.

use xshell::{Shell, cmd};

use crate::{
    step::{check, skip, succeeds},
    tally::Tally,
};

const TITLE: &str = "plug-in for stwo: format, lints and tests";

/// Checks the plug-in where rustup has a nightly toolchain.
pub(crate) fn run(sh: &Shell) -> Tally {
    let tools = [["cargo", "--version"], ["cargo-clippy", "--version"], ["rustfmt", "--version"]];
    let missing = tools.into_iter().find(|tool| !succeeds(cmd!(sh, "rustup run nightly {tool...}")));
    match missing {
        Some([tool, _]) => {
            skip(TITLE, &format!("rustup has no nightly toolchain with {tool} (rustup toolchain install nightly)"))
        }
        None => check(TITLE, cmd!(sh, "bash ci/stwo-plugin")),
    }
}
