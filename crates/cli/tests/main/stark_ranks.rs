//! `trefoil stark prove` without MPI, where a launcher of MPI started it: several processes are told, one goes on.

use std::fs;

use assert_cmd::Command;

use super::{fails, trefoil};

/// A process as Open MPI's `mpirun` starts it.
fn started(rank: &str, ranks: &str) -> Command {
    let mut line = trefoil();
    line.env("OMPI_COMM_WORLD_SIZE", ranks).env("OMPI_COMM_WORLD_RANK", rank).env("OMPI_COMM_WORLD_LOCAL_RANK", rank);
    line
}

const PROVE: [&str; 7] = ["stark", "prove", "--air", "state-machine", "--log-rows=4", "--out", "a"];

#[test]
fn several_processes_without_mpi_are_told_what_to_build() {
    let folder = tempfile::tempdir().unwrap();
    for rank in ["0", "3"] {
        let mut line = started(rank, "4");
        let reason = format!("rank {rank} of 4: this program was built without MPI");
        fails(line.current_dir(folder.path()).args(PROVE), 3, &[&reason, "--features mpi"]);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
    fails(started("4", "4").args(PROVE), 2, &["OMPI_COMM_WORLD_RANK: unknown value `4`"]);
    fails(started("0", "4").args(PROVE).args(["--profile", "ops"]), 2, &["an MPI launcher started several"]);
}

#[test]
fn one_process_goes_on_alone_and_so_do_other_commands() {
    let folder = tempfile::tempdir().unwrap();
    started("0", "1").current_dir(folder.path()).args(PROVE).assert().success();
    started("2", "4").current_dir(folder.path()).args(["stark", "verify", "a"]).assert().success();
    fails(trefoil().args(PROVE).args(["--patience", "9"]), 2, &["`--patience` requires several processes"]);
}
