//! The tests with MPI: ranks that are processes, which `mpirun` starts on this machine.

use anyhow::Result;
use xshell::{Shell, cmd};

use crate::{
    step::{cargo_test, missing_tool},
    tally::Tally,
};

const TITLE: &str = "ranks by MPI: 1, 2 and 4 processes";

/// The name of their test programs.
const TARGET: &str = "mpi";

/// Whether there is an MPI to build with and to run.
pub(crate) fn is_there(sh: &Shell) -> bool {
    let runs = |tool: xshell::Cmd<'_>| tool.quiet().ignore_stdout().ignore_stderr().run().is_ok();
    runs(cmd!(sh, "mpirun --version")) && runs(cmd!(sh, "mpicc --version"))
}

/// What every build of the workspace's tests is given: with MPI where it is there, so that nothing is compiled both ways.
pub(crate) fn features(sh: &Shell) -> &'static [&'static str] {
    if is_there(sh) { &["--features", "trefoil-cli/mpi"] } else { &[] }
}

/// Whether a test program is run by this task: it takes several cores, and waits for others by the clock.
pub(crate) fn is_one(target: &str) -> bool {
    target == TARGET
}

/// Runs the tests of the transport and those of the program.
///
/// All features are those of the workspace: of two packages alone, dependencies would have others, and be compiled again.
pub(crate) fn run(sh: &Shell) -> Result<Tally> {
    if !is_there(sh) {
        return Ok(missing_tool(TITLE, "no MPI with its headers is installed (ci/install-mpi)"));
    }
    let run = ["--workspace", "--test", TARGET, "--no-fail-fast"];
    cargo_test(sh, TITLE, &[&run, features(sh)].concat())
}
