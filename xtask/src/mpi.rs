//! Tests with MPI: whether they are built, and which they are.
//!
//! `mpirun` starts their ranks as processes of this machine.

use xshell::{Shell, cmd};

use crate::step::succeeds;

/// Whether a test program, by the name of its target, has these tests.
///
/// They mostly wait: for ranks that hang, come late or are killed.
pub(crate) fn is_of_ranks(target: &str) -> bool {
    target == "mpi"
}

/// Whether there is an MPI to build with and to run.
pub(crate) fn is_there(sh: &Shell) -> bool {
    succeeds(cmd!(sh, "mpirun --version")) && succeeds(cmd!(sh, "mpicc --version"))
}

/// Cargo arguments of every build of the workspace's tests.
///
/// They enable MPI if it is there, so that nothing is compiled both ways.
pub(crate) fn features(sh: &Shell) -> &'static [&'static str] {
    if is_there(sh) { &["--features", "trefoil-cli/mpi"] } else { &[] }
}
