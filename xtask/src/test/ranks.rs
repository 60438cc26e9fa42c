//! The tests with MPI: ranks that are processes, which `mpirun` starts on this machine.

use anyhow::Result;
use xshell::Shell;

use super::programs;
use crate::{mpi, step::missing_tool, tally::Tally};

/// The name of their test programs.
const TARGET: &str = "mpi";

/// Whether a test program belongs to this tier: its ranks take several cores and have limits of wall time.
pub(super) fn is_one(target: &str) -> bool {
    target == TARGET
}

/// Runs the tests of `collective-mpi` and `trefoil-cli` that `mpirun` starts.
pub(crate) fn run(sh: &Shell) -> Result<Tally> {
    const TITLE: &str = "ranks by MPI: 1, 2 and 4 processes";
    if !mpi::is_there(sh) {
        return Ok(missing_tool(TITLE, "no MPI with its headers is installed (ci/install-mpi)"));
    }
    programs::run_alone(sh, TITLE, is_one)
}
