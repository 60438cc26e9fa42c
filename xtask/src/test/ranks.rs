//! The tests with MPI: ranks that are processes, which `mpirun` starts on this machine.

use anyhow::Result;
use xshell::Shell;

use super::programs;
use crate::{mpi, step::missing_tool, tally::Tally};

const TITLE: &str = "ranks by MPI: 1, 2 and 4 processes";

/// The tests skipped if there is no MPI.
pub(super) fn skipped(sh: &Shell) -> Tally {
    if mpi::is_there(sh) {
        return Tally::default();
    }
    missing_tool(TITLE, "no MPI with its headers is installed (ci/install/mpi)")
}

/// Runs the tests of `collective-mpi` and `trefoil-cli` that `mpirun` starts.
///
/// It runs nothing else.
pub(crate) fn run(sh: &Shell) -> Result<Tally> {
    if mpi::is_there(sh) { programs::run_alone(sh, TITLE, mpi::is_of_ranks) } else { Ok(skipped(sh)) }
}
