//! The workspace's tests.
//!
//! One test program per core runs at a time, then the examples of the documentation.

use std::{collections::BTreeSet, time::Instant};

use anyhow::Result;
use xshell::Shell;

use super::{
    Extent,
    programs::{TestProgram, Weight, build, expect_slow_programs},
    ranks,
};
use crate::{
    clock, mpi,
    pool::{JobQueue, while_fed},
    progress,
    step::cargo_test,
    tally::Tally,
};

pub(super) fn run(sh: &Shell, extent: Extent) -> Result<Tally> {
    const TITLE: &str = "workspace tests";
    eprintln!("== {TITLE}");
    let start = Instant::now();
    let is_whole = extent == Extent::All;
    let is_wanted = |program: &TestProgram| is_whole || !mpi::is_of_ranks(&program.target);
    let Some(mut tally) = build_and_run(sh, extent, is_wanted)? else { return Ok(Tally::of(TITLE, false)) };
    if is_whole {
        tally += ranks::skipped(sh);
    }
    eprintln!("== {TITLE}: {tally} in {:.1} s", start.elapsed().as_secs_f64());
    let examples = ["--workspace", "--doc", "--no-fail-fast"];
    tally += cargo_test(sh, "examples of the documentation", &[&examples, mpi::features(sh)].concat())?;
    Ok(tally)
}

/// Runs the test programs and examples of the packages in `folders`.
///
/// Tests that only `--all` runs are left out. Tests with MPI run only `with_ranks`. Everything is
/// built: a build of some packages would unify other features and compile dependencies again, while
/// unaffected packages are fresh in a folder that built the workspace before.
pub(super) fn run_folders(sh: &Shell, folders: &BTreeSet<&str>, with_ranks: bool) -> Result<Tally> {
    const TITLE: &str = "tests of what depends on the change";
    eprintln!("== {TITLE}");
    let root = sh.current_dir();
    let is_wanted = |program: &TestProgram| {
        (with_ranks || !mpi::is_of_ranks(&program.target))
            && folders.iter().any(|folder| program.folder == root.join(folder))
    };
    let Some(mut tally) = build_and_run(sh, Extent::Usual, is_wanted)? else { return Ok(Tally::of(TITLE, false)) };
    if with_ranks {
        tally += ranks::skipped(sh);
    }
    // The names of examples begin with the paths of their files.
    let paths: Vec<String> = folders.iter().map(|folder| format!("{folder}/")).collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let examples = ["--workspace", "--doc", "--no-fail-fast"];
    let arguments = [&examples, mpi::features(sh), &["--"], &paths].concat();
    tally += cargo_test(sh, "examples of the documentation", &arguments)?;
    Ok(tally)
}

/// Compiles all test programs and runs those that `is_wanted` selects.
///
/// The first programs run while others compile, since the last crates of a build keep one core
/// busy. `None` if a program does not compile.
fn build_and_run(sh: &Shell, extent: Extent, is_wanted: impl Fn(&TestProgram) -> bool) -> Result<Option<Tally>> {
    const TITLE: &str = "test programs, build";
    let mut titles = BTreeSet::new();
    let feed = |queue: &JobQueue<TestProgram, Weight>| {
        let start = Instant::now();
        let compiled = progress::during(TITLE, || {
            build(sh, |program| {
                titles.insert(program.title.clone());
                if is_wanted(&program) {
                    program.processes(extent)?.into_iter().for_each(|(weight, process)| queue.push(weight, process));
                }
                Ok(())
            })
        })?;
        let seconds = start.elapsed().as_secs_f64();
        clock::note(clock::WorkKind::Check, TITLE, seconds);
        eprintln!("== {TITLE}: {} programs in {seconds:.1} s", titles.len());
        if compiled {
            expect_slow_programs(&titles)?;
        }
        Ok(compiled)
    };
    let (compiled, tally) = while_fed(feed, |program| program.run())?;
    Ok(compiled.then_some(tally))
}
