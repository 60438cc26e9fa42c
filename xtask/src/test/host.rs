//! The workspace's tests but those with MPI: as many test programs at a time as there are cores, then the examples of the
//! documentation.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::BufReader,
    iter,
    path::PathBuf,
    process::{Command, Output, Stdio},
    time::Instant,
};

use anyhow::{Context, Result, ensure};
use cargo_metadata::Message;
use xshell::Shell;

use super::Extent;
use crate::{
    clock, mpi,
    pool::{Queue, while_fed},
    progress,
    step::cargo_test,
    tally::Tally,
};

/// Tests of tens of seconds to minutes, by program and by a part of their names. Each runs in a separate process, and none unless
/// everything is run.
const APART: [(&str, &[&str]); 3] = [
    ("conformance main", &["mutants::"]),
    ("nn-ops main", &["soak::"]),
    ("stark main", &["whatever_call_is_refused", "soak::", "grid::proofs_in_blocks", "grid::replayed_proofs"]),
];

/// What those are, for a table.
pub(super) const LEFT_OUT: &str = "faults put into every kernel, which tests have to notice; each call of the driver refused during a \
                                   proof; a thousand proofs and training steps; the grid of proofs in blocks and replayed";

/// A compiled test program.
#[derive(Clone)]
struct Program {
    title: String,
    executable: PathBuf,
    /// Where cargo would start it: the folder of its package.
    folder: PathBuf,
    /// Which of its tests run.
    tests: Tests,
}

/// Which tests of a program run.
#[derive(Clone)]
enum Tests {
    All,
    Named(Vec<String>),
}

pub(super) fn run(sh: &Shell, extent: Extent) -> Result<Tally> {
    const TITLE: &str = "workspace tests";
    eprintln!("== {TITLE}");
    let start = Instant::now();
    let Some(mut tally) = build_and_run(sh, extent, |_| true)? else { return Ok(Tally::of(TITLE, false)) };
    eprintln!("== {TITLE}: {tally} in {:.1} s", start.elapsed().as_secs_f64());
    let examples = ["--workspace", "--doc", "--no-fail-fast"];
    tally += cargo_test(sh, "examples of the documentation", &[&examples, mpi::features(sh)].concat())?;
    Ok(tally)
}

/// The test programs and examples of the packages in `folders`, without the slow tests of [`APART`].
///
/// Everything is built: a build of some packages would unify other features and compile dependencies again, and what the change
/// does not reach is fresh in a folder that built the workspace before.
pub(super) fn run_folders(sh: &Shell, folders: &BTreeSet<&str>) -> Result<Tally> {
    const TITLE: &str = "tests of what depends on the change";
    eprintln!("== {TITLE}");
    let root = sh.current_dir();
    let is_wanted = |program: &Program| folders.iter().any(|folder| program.folder == root.join(folder));
    let Some(mut tally) = build_and_run(sh, Extent::Usual, is_wanted)? else { return Ok(Tally::of(TITLE, false)) };
    // The names of examples begin with the paths of their files.
    let paths: Vec<String> = folders.iter().map(|folder| format!("{folder}/")).collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let examples = ["--workspace", "--doc", "--no-fail-fast"];
    let arguments = [&examples, mpi::features(sh), &["--"], &paths].concat();
    tally += cargo_test(sh, "examples of the documentation", &arguments)?;
    Ok(tally)
}

/// Compiles all test programs and runs those that are wanted, the first of them while others compile: the last crates of a build
/// keep one core busy. `None` if a program does not compile.
fn build_and_run(sh: &Shell, extent: Extent, is_wanted: impl Fn(&Program) -> bool) -> Result<Option<Tally>> {
    const TITLE: &str = "test programs, build";
    let mut built = 0;
    let feed = |queue: &Queue<Program, Weight>| {
        let start = Instant::now();
        let compiled = progress::during(TITLE, || {
            build(sh, |program| {
                built += 1;
                if is_wanted(&program) {
                    program.processes(extent)?.into_iter().for_each(|(weight, process)| queue.push(weight, process));
                }
                Ok(())
            })
        })?;
        let seconds = start.elapsed().as_secs_f64();
        clock::note(clock::Kind::Check, TITLE, seconds);
        eprintln!("== {TITLE}: {built} programs in {seconds:.1} s");
        Ok(compiled)
    };
    let (compiled, tally) = while_fed(feed, |program| program.run())?;
    Ok(compiled.then_some(tally))
}

/// Compiles all test programs and passes each to `take` as it is done; otherwise shows why they do not compile and returns `false`.
fn build(sh: &Shell, mut take: impl FnMut(Program) -> Result<()>) -> Result<bool> {
    let mut child = Command::new("cargo")
        .args(["test", "--workspace", "--no-run", "--message-format", "json-render-diagnostics"])
        .args(mpi::features(sh))
        .current_dir(sh.current_dir())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start cargo test")?;
    let stdout = child.stdout.take().context("standard output of cargo test is piped")?;
    for message in Message::parse_stream(BufReader::new(stdout)) {
        let Message::CompilerArtifact(artifact) = message.context("cannot read the messages of cargo")? else {
            continue;
        };
        let is_run = artifact.profile.test && !mpi::is_one(&artifact.target.name);
        let Some(executable) = artifact.executable.filter(|_| is_run) else { continue };
        let folder = artifact.manifest_path.parent().context("a manifest stands in a folder")?;
        let title = format!("{} {}", folder.file_name().unwrap_or_default(), artifact.target.name);
        take(Program { title, executable: executable.into(), folder: folder.into(), tests: Tests::All })?;
    }
    Ok(child.wait().context("cannot wait for cargo test")?.success())
}

/// What runs first: slow tests, then the largest programs.
type Weight = (bool, u64);

impl Program {
    /// The program in processes. The tests of a program take turns at its one simulated device, so each module of a crate's program
    /// `main` runs in a separate process.
    fn processes(self, extent: Extent) -> Result<Vec<(Weight, Self)>> {
        let bytes = fs::metadata(&self.executable).map_or(0, |file| file.len());
        if !self.title.ends_with(" main") {
            return Ok(vec![((false, bytes), self)]);
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

    /// Runs the program and then shows what it printed. One that dies counts as a failure by its title.
    fn run(&self) -> Result<Tally> {
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
        clock::note(clock::Kind::Program, &self.title, seconds);
        progress::paused(|| println!("-- {}: {tally} in {seconds:.1} s\n{stdout}\n{stderr}", self.title));
        Ok(tally)
    }
}
