//! A test runs twice: as `cargo test` starts it, it has `mpirun` start it again, as each rank.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use collective_mpi::Mpi;

/// The limit of `mpirun`.
const MOST: Duration = Duration::from_mins(10);

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

/// Folder where the ranks of the test `name` record that they received the cause of the end: the
/// output of a process may be lost when `mpirun` ends it.
fn told_in(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name.replace(':', "_"))
}

/// Records that a rank received the cause.
pub(crate) fn tell(name: &str, rank: usize) {
    fs::write(told_in(name).join(rank.to_string()), []).unwrap();
}

/// As [`mpirun`], and which ranks were told.
pub(crate) fn told(name: &str, ranks: usize) -> (Output, Vec<usize>) {
    let folder = told_in(name);
    // One that was ended may have left it.
    let (Ok(()) | Err(_)) = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let output = mpirun(name, ranks);
    let told = (0..ranks).filter(|rank| folder.join(rank.to_string()).exists()).collect();
    fs::remove_dir_all(&folder).unwrap();
    (output, told)
}

/// Starts the test `name` as `ranks` ranks, on this machine without network, one test at a time.
pub(crate) fn mpirun(name: &str, ranks: usize) -> Output {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut mpirun = Command::new("mpirun");
    mpirun.args(["--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "--mca", "btl", "self,vader"]);
    mpirun.args(["-n", &ranks.to_string()]).arg(env::current_exe().unwrap());
    mpirun.args(["--exact", name, "--nocapture"]);
    test_process::output(&mut mpirun, MOST)
}

/// All that was said.
pub(crate) fn text(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned()).join("\n")
}
