//! The tests with MPI: ranks that are processes, which `mpirun` starts on this machine.

use anyhow::Result;
use xshell::{Shell, cmd};

use crate::{
    step::{cargo_test, missing_tool},
    tally::Tally,
};

const TITLE: &str = "ranks by MPI: 1, 2 and 4 processes";

/// Runs the tests of the transport and those of the program.
///
/// All features are those of the workspace: of two packages alone, dependencies would have others, and be compiled again.
pub(crate) fn run(sh: &Shell) -> Result<Tally> {
    let is_there = |tool: xshell::Cmd<'_>| tool.quiet().ignore_stdout().ignore_stderr().run().is_ok();
    if !is_there(cmd!(sh, "mpirun --version")) || !is_there(cmd!(sh, "mpicc --version")) {
        return Ok(missing_tool(TITLE, "no MPI with its headers is installed (ci/install-mpi)"));
    }
    cargo_test(sh, TITLE, &["--workspace", "--features", "trefoil-cli/mpi", "--test", "mpi", "--no-fail-fast"])
}
