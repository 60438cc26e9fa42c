//! The tests with MPI: ranks that are processes, which `mpirun` starts on this machine.

use anyhow::Result;
use xshell::{Shell, cmd};

use crate::{
    step::{cargo_test, missing_tool},
    tally::Tally,
};

const TITLE: &str = "ranks by MPI: 1, 2 and 4 processes";

/// Whether there is an MPI to build with and to run.
pub(crate) fn is_there(sh: &Shell) -> bool {
    let runs = |tool: xshell::Cmd<'_>| tool.quiet().ignore_stdout().ignore_stderr().run().is_ok();
    runs(cmd!(sh, "mpirun --version")) && runs(cmd!(sh, "mpicc --version"))
}

/// Runs the tests of the transport and those of the program.
///
/// All features are those of the workspace: of two packages alone, dependencies would have others, and be compiled again.
pub(crate) fn run(sh: &Shell) -> Result<Tally> {
    if !is_there(sh) {
        return Ok(missing_tool(TITLE, "no MPI with its headers is installed (ci/install-mpi)"));
    }
    cargo_test(sh, TITLE, &["--workspace", "--features", "trefoil-cli/mpi", "--test", "mpi", "--no-fail-fast"])
}
