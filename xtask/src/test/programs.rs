//! Test programs: built together, and run whole or in parts.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, iter,
    path::PathBuf,
    process::{Command, Output},
    time::Instant,
};

use anyhow::{Context, Result, ensure};
use cargo_metadata::Message;
use xshell::Shell;

use super::Extent;
use crate::{clock, mpi, progress, step::cargo_messages, tally::Tally};

/// Tests of tens of seconds to minutes, by program and by a part of their names.
///
/// Each runs in a separate process, and none unless everything is run.
const APART: [(&str, &[&str]); 7] = [
    (
        "cli main",
        &[
            "every_op_of_the_suite_is_in_its_profile",
            "a_kernel_that_traps_hangs_or_computes_wrongly",
            "a_module_that_the_driver_does_not_compile",
        ],
    ),
    (
        "conformance main",
        &["cpu::", "mutants::", "small::", "a_thousand_streamed_residuals", "blocks_that_keep_weights"],
    ),
    ("cuda-backend main", &["transforms_of_sixteen_million_points", "air_programs::mutants"]),
    ("nn-dispatch main", &["soak::"]),
    ("nn-ops main", &["soak::"]),
    ("pfss-ffi main", if cfg!(target_os = "linux") { &[SANITIZED_EXAMPLES] } else { &[] }),
    (
        "stark main",
        &[
            "whatever_call_is_refused",
            "whatever_call_of_nccl_is_refused",
            "some_calls_that_a_driver_refuses",
            "soak::",
            "grid::proofs_in_blocks",
            "grid::proofs_over_the_grid_on_the_simulated_device",
            "grid::replayed_proofs",
            "memory::proofs_take_at_most_two_percent_more_than_was_planned",
        ],
    ),
];

/// A test that exists on Linux alone.
const SANITIZED_EXAMPLES: &str = "examples_of_the_installed_library_run_under_the_sanitizers";

/// What those are, for a table.
pub(super) const LEFT_OUT: &str = "ranks by MPI; examples in C and C++ under sanitizers; kernels that trap or do not \
                                   compile, in a rehearsal of a GPU machine; faults put into every kernel, which tests have \
                                   to notice; each call of the driver refused during a proof; a thousand proofs, residuals \
                                   and training steps; the grid of proofs on the simulated device, in blocks and replayed; \
                                   memory beside the plan; the suite on every vector level and AES path of the processor; \
                                   its small cases in the natural order under every checker; transforms of 2^24 points; \
                                   resident GRU blocks; the trace of every op";

/// A compiled test program.
#[derive(Clone)]
pub(super) struct TestProgram {
    /// The folder of its package, and its target.
    pub(super) title: String,
    /// The name of its target.
    pub(super) target: String,
    executable: PathBuf,
    /// Where cargo would start it: the folder of its package.
    pub(super) folder: PathBuf,
    /// Which of its tests run.
    tests: Tests,
}

/// Which tests of a program run.
#[derive(Clone)]
enum Tests {
    All,
    Named(Vec<String>),
}

/// Compiles all test programs and passes each to `take` as it is done.
///
/// If they do not compile, it shows the reason and returns `false`.
pub(super) fn build(sh: &Shell, mut take: impl FnMut(TestProgram) -> Result<()>) -> Result<bool> {
    let mut cargo = Command::new("cargo");
    cargo.args(["test", "--workspace", "--no-run", "--message-format", "json-render-diagnostics"]);
    cargo.args(mpi::features(sh)).current_dir(sh.current_dir());
    // Integration tests start the program of their package, which may be linked after them.
    let (mut held, mut linked) = (Vec::new(), BTreeSet::new());
    let status = cargo_messages(&mut cargo, |message| {
        let Message::CompilerArtifact(artifact) = message else { return Ok(()) };
        let Some(executable) = artifact.executable else { return Ok(()) };
        let folder: PathBuf = artifact.manifest_path.parent().context("a manifest stands in a folder")?.into();
        if !artifact.profile.test {
            if artifact.target.is_bin() {
                for program in held.extract_if(.., |program: &mut TestProgram| program.folder == folder) {
                    take(program)?;
                }
                linked.insert(folder);
            }
            return Ok(());
        }
        let starts_program = artifact.target.is_test() && folder.join("src/main.rs").is_file();
        let target = artifact.target.name;
        let title = format!("{} {target}", folder.file_name().unwrap_or_default().display());
        let waits = starts_program && !linked.contains(&folder);
        let program = TestProgram { title, target, executable: executable.into(), folder, tests: Tests::All };
        if waits {
            held.push(program);
            return Ok(());
        }
        take(program)
    })?;
    Ok(status.success())
}

/// Runs the programs of the wanted targets, one after the other.
///
/// Other tiers have built them: every build of the workspace's tests has the same features.
pub(super) fn run_alone(sh: &Shell, title: &str, is_wanted: impl Fn(&str) -> bool) -> Result<Tally> {
    eprintln!("== {title}");
    let (start, mut programs) = (Instant::now(), Vec::new());
    let compiled = build(sh, |program| {
        programs.extend(is_wanted(&program.target).then_some(program));
        Ok(())
    })?;
    if !compiled {
        return Ok(Tally::of(title, false));
    }
    let mut tally = Tally::default();
    for program in programs {
        tally += program.run()?;
    }
    eprintln!("== {title}: {tally} in {:.1} s", start.elapsed().as_secs_f64());
    Ok(tally)
}

/// Checks that every program of [`APART`] is among the `titles` of a build.
pub(super) fn expect_slow_programs(titles: &BTreeSet<String>) -> Result<()> {
    for (title, _) in APART {
        ensure!(
            titles.contains(title),
            "no test program is `{title}`, which has slow tests (xtask/src/test/programs.rs)"
        );
    }
    Ok(())
}

/// What runs first: slow tests and ranks, then the largest programs.
pub(super) type Weight = (bool, u64);

impl TestProgram {
    /// The program in processes.
    ///
    /// The tests of a program take turns at its one simulated device, so each module of a crate's
    /// program `main` runs in a separate process.
    pub(super) fn processes(self, extent: Extent) -> Result<Vec<(Weight, Self)>> {
        let bytes = fs::metadata(&self.executable).map_or(0, |file| file.len());
        if self.target != "main" {
            return Ok(vec![((mpi::is_of_ranks(&self.target), bytes), self)]);
        }
        let parts = APART.iter().find(|(title, _)| *title == self.title).map_or(&[][..], |(_, parts)| parts);
        let (alone, together): (Vec<_>, Vec<_>) =
            self.names()?.into_iter().partition(|name| parts.iter().any(|part| name.contains(part)));
        for part in parts {
            ensure!(alone.iter().any(|name| name.contains(part)), "{} has no test `{part}`", self.title);
        }
        let mut processes = Vec::new();
        if extent == Extent::All {
            processes.extend(alone.into_iter().map(|name| ((true, bytes), self.of(&name.clone(), vec![name]))));
        }
        let mut modules = BTreeMap::<String, Vec<String>>::new();
        for name in together {
            let module = name.split_once("::").map_or("", |(module, _)| module).to_owned();
            modules.entry(module).or_default().push(name);
        }
        processes.extend(modules.into_iter().map(|(module, names)| ((false, bytes), self.of(&module, names))));
        Ok(processes)
    }

    /// The names of its tests.
    fn names(&self) -> Result<Vec<String>> {
        let output = self.output(&["--list", "--format", "terse"])?;
        ensure!(output.status.success(), "{} cannot list its tests: {}", self.title, output.status);
        let list = String::from_utf8_lossy(&output.stdout);
        Ok(list.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
    }

    /// The program with some of its tests.
    fn of(&self, part: &str, names: Vec<String>) -> Self {
        Self {
            title: format!("{} {part}", self.title).trim_end().to_owned(),
            tests: Tests::Named(names),
            ..self.clone()
        }
    }

    fn output(&self, arguments: &[&str]) -> Result<Output> {
        Command::new(&self.executable)
            .args(arguments)
            .current_dir(&self.folder)
            .env("CARGO_MANIFEST_DIR", &self.folder)
            .output()
            .with_context(|| format!("cannot start {}", self.executable.display()))
    }

    /// Runs the program and prints its output.
    ///
    /// A program that dies counts as one failure under its title.
    pub(super) fn run(&self) -> Result<Tally> {
        let start = Instant::now();
        let arguments: Vec<&str> = match &self.tests {
            Tests::All => Vec::new(),
            Tests::Named(names) => iter::once("--exact").chain(names.iter().map(String::as_str)).collect(),
        };
        let output = progress::during(&self.title, || self.output(&arguments))?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        let mut tally = Tally::default();
        stdout.lines().filter_map(Tally::from_test_line).for_each(|counts| tally += counts);
        if !output.status.success() && tally.failed.is_empty() {
            tally += Tally::of(&format!("{}: {}", self.title, output.status), false);
        }
        let seconds = start.elapsed().as_secs_f64();
        clock::note(clock::WorkKind::Program, &self.title, seconds);
        progress::paused(|| println!("-- {}: {tally} in {seconds:.1} s\n{stdout}\n{stderr}", self.title));
        Ok(tally)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slow_test_of_linux_is_compiled_on_linux_alone() {
        let source = include_str!("../../../crates/pfss-ffi/tests/main/example.rs");
        let test = format!("#[cfg(target_os = \"linux\")]\n#[test]\nfn {SANITIZED_EXAMPLES}");
        assert!(source.contains(&test));
        let parts = APART.iter().find(|(title, _)| *title == "pfss-ffi main").map_or(0, |(_, parts)| parts.len());
        assert_eq!(parts, usize::from(cfg!(target_os = "linux")));
    }
}
