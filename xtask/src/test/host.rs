//! The workspace's tests: as many test programs at a time as there are cores, then the examples of the documentation.

use std::{
    cmp::Reverse,
    fs,
    io::BufReader,
    path::PathBuf,
    process::{Command, Output, Stdio},
    time::Instant,
};

use anyhow::{Context, Result, ensure};
use cargo_metadata::Message;
use xshell::Shell;

use super::Extent;
use crate::{pool::on_every_core, progress, step::cargo_test, tally::Tally};

/// Programs with a few tests of minutes that take turns at one simulated device: each test runs in a process of its own, and
/// none of them unless everything is run.
const APART: [&str; 1] = ["conformance mutants"];

/// A compiled test program.
#[derive(Clone)]
struct Program {
    title: String,
    executable: PathBuf,
    /// Where cargo would start it: the folder of its package.
    folder: PathBuf,
    /// The one test to run; all, if `None`.
    test: Option<String>,
}

pub(super) fn run(sh: &Shell, extent: Extent) -> Result<Tally> {
    const TITLE: &str = "workspace tests";
    eprintln!("== {TITLE}");
    let start = Instant::now();
    let Some(mut programs) = progress::during("test programs, build", || build(sh))? else {
        return Ok(Tally::of(TITLE, false));
    };
    eprintln!("== {TITLE}: {} programs built in {:.1} s", programs.len(), start.elapsed().as_secs_f64());
    // Those that hold most of the suite take longest: they start first.
    programs.sort_by_key(|program| Reverse(fs::metadata(&program.executable).map_or(0, |file| file.len())));
    let (apart, whole): (Vec<_>, Vec<_>) = programs.into_iter().partition(|program| APART.contains(&&*program.title));
    let apart = apart.iter().filter(|_| extent == Extent::All).map(Program::tests).collect::<Result<Vec<_>>>()?;
    let mut tally = on_every_core(apart.into_iter().flatten().chain(whole), |program| program.run())?;
    eprintln!("== {TITLE}: {tally} in {:.1} s", start.elapsed().as_secs_f64());
    tally += cargo_test(sh, "examples of the documentation", &["--workspace", "--doc", "--no-fail-fast"])?;
    Ok(tally)
}

/// Compiles all test programs, or shows why they do not compile.
fn build(sh: &Shell) -> Result<Option<Vec<Program>>> {
    let mut child = Command::new("cargo")
        .args(["test", "--workspace", "--no-run", "--message-format", "json-render-diagnostics"])
        .current_dir(sh.current_dir())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start cargo test")?;
    let stdout = child.stdout.take().context("standard output of cargo test is piped")?;
    let mut programs = Vec::new();
    for message in Message::parse_stream(BufReader::new(stdout)) {
        let Message::CompilerArtifact(artifact) = message.context("cannot read the messages of cargo")? else {
            continue;
        };
        let Some(executable) = artifact.executable.filter(|_| artifact.profile.test) else { continue };
        let folder = artifact.manifest_path.parent().context("a manifest stands in a folder")?;
        let title = format!("{} {}", folder.file_name().unwrap_or_default(), artifact.target.name);
        programs.push(Program { title, executable: executable.into(), folder: folder.into(), test: None });
    }
    let status = child.wait().context("cannot wait for cargo test")?;
    Ok(status.success().then_some(programs))
}

impl Program {
    /// The program once for each of its tests.
    fn tests(&self) -> Result<Vec<Self>> {
        let output = self.output(&["--list", "--format", "terse"])?;
        ensure!(output.status.success(), "{} cannot list its tests: {}", self.title, output.status);
        let list = String::from_utf8_lossy(&output.stdout);
        let names = list.lines().filter_map(|line| line.strip_suffix(": test"));
        let alone =
            |name: &str| Self { title: format!("{} {name}", self.title), test: Some(name.to_owned()), ..self.clone() };
        Ok(names.map(alone).collect())
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
        let arguments: Vec<_> = self.test.iter().flat_map(|test| ["--exact", test]).collect();
        let output = progress::during(&self.title, || self.output(&arguments))?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        let mut tally = Tally::default();
        stdout.lines().filter_map(Tally::from_test_line).for_each(|counts| tally += counts);
        if !output.status.success() && tally.failed.is_empty() {
            tally += Tally::of(&format!("{}: {}", self.title, output.status), false);
        }
        let seconds = start.elapsed().as_secs_f64();
        progress::paused(|| println!("-- {}: {tally} in {seconds:.1} s\n{stdout}\n{stderr}", self.title));
        Ok(tally)
    }
}
