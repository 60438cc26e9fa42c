//! A test runs twice: as `cargo test` starts it, it has `mpirun` start it again, as each rank.

use std::{
    env,
    process::{Command, Output},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use collective_mpi::Mpi;

/// Longer than any test takes.
pub(crate) const LONG: Duration = Duration::from_mins(2);

/// What each rank of the test with this name does, and then ends well, in groups of each of these sizes.
pub(crate) fn on_ranks(name: &str, groups: &[usize], patience: Duration, run: impl FnOnce(Mpi)) {
    if let Some(mpi) = joined(patience) {
        return run(mpi);
    }
    for &ranks in groups {
        let output = mpirun(name, ranks);
        assert!(output.status.success(), "{ranks} ranks: {}", text(&output));
    }
}

/// This process as a rank, if it was started as one.
pub(crate) fn joined(patience: Duration) -> Option<Mpi> {
    let launch = runtime::launch().unwrap()?;
    let mpi = Mpi::join(patience).unwrap();
    assert_eq!(format!("{mpi:?}"), format!("Mpi {{ rank: {}, ranks: {}, .. }}", launch.rank, launch.ranks));
    Some(mpi)
}

/// Starts the test with this name as each of so many ranks, on this machine without any network, while no other test does.
pub(crate) fn mpirun(name: &str, ranks: usize) -> Output {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut mpirun = Command::new("mpirun");
    mpirun.args(["--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "--mca", "btl", "self,vader"]);
    mpirun.args(["-n", &ranks.to_string()]).arg(env::current_exe().unwrap());
    mpirun.args(["--exact", name, "--nocapture"]).output().unwrap()
}

/// All that was said.
pub(crate) fn text(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned()).join("\n")
}
