//! The check for secret-dependent branches and addresses, under valgrind.

use anyhow::Result;
use xshell::{Shell, cmd};

use crate::{
    step::{check, check_quietly, missing_tool, succeeds},
    tally::Tally,
};

/// Runs `crates/constant-time` under memcheck.
///
/// The release build is the one that users run; the checked arithmetic of other builds branches on
/// carries.
pub(crate) fn run(sh: &Shell) -> Result<Tally> {
    if !succeeds(cmd!(sh, "valgrind --version")) {
        return Ok(missing_tool("constant time", "valgrind is not installed (ci/install/valgrind)"));
    }
    let build = check("constant time, build", cmd!(sh, "cargo build --release --quiet --package constant-time"));
    if !build.failed.is_empty() {
        return Ok(build);
    }
    let run = cmd!(sh, "valgrind --quiet --error-limit=no target/release/constant-time");
    Ok(check_quietly("constant time, every entry point of pfss with secrets", run))
}
