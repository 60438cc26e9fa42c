//! Workspace tasks: `cargo xtask help` lists them.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, reason = "a task reports on standard output")]

mod build_ptx;
mod clock;
mod constant_time;
mod docs;
mod forwarders;
mod fuzz;
mod gpu;
mod kernels;
mod mpi;
mod mutants;
mod nightly;
mod outside;
mod pool;
mod program;
mod progress;
mod release;
mod step;
mod stwo_plugin;
mod suite;
mod tally;
mod test;
mod tidy;
mod times;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result, bail};
use cargo_metadata::{Metadata, MetadataCommand};
use xshell::Shell;

use crate::{program::BuildProfile, tally::Tally};

const HELP: &str = "\
cargo xtask TASK

TASKS
    test [--all]           The tests this machine can run, tier by tier, with a table at the end: repository rules,
                           generated files, the kernels' PTX, the workspace's tests, the conformance suite on cpu, on
                           the simulated device and on a GPU where there is one. Without a flag the quick tier (goal
                           10 min on two cores, from scratch). --all is the full tier of CI: it adds
                           slow tests, which the table names: faults put into kernels, exhaustive field sweeps,
                           constant time, the plug-in for stwo's prover, more orders of the simulated device.
    test --changed [REV]   The tests that the changes since REV can reach (goal 4 min for a change in one domain
                           crate, in a target folder that built the workspace before). REV is by default where the
                           branch left main; untracked files count. Ends with a list of what it left out and why.
    times [--release] [--tests] [--lines]
                           The largest times of the last runs of `test` and `ci`: tiers, checks, test programs, runs
                           and op groups of the conformance suite. --release and --tests measure a fresh build of
                           the program and of all test programs by crate in target/times; --lines counts
                           instantiated lines of LLVM code (`cargo install --locked cargo-llvm-lines`).
    nightly [PART]         The nightly tier (hours), all parts or one:
                               book        the documents as a book, without warnings (needs mdbook)
                               advisories  known faults of dependencies (needs cargo-deny and the network)
                               arrays      the suite on the processor with the floats of other processors
                               sweeps      laws of the field on all 2^31 elements, inverses too
                               soaks       a thousand proofs and training steps without growth
                               miri        unit tests under Miri (needs the nightly toolchain's miri and rust-src)
                               asan        the C interface under the address sanitizer
                               tsan        queues, pools and collectives under the thread sanitizer (needs rust-src)
                               fuzz        every fuzz target for three minutes
                               mutants     200 mutants, with the number of the day as the seed
    mutants --seed N [--count N] [--package P] [--own]
                           Small faults put into N (200) places of the libraries, or of library P: swapped operators,
                           other constants, checks that are left out. Tests have to notice 90 % of them, without those
                           that ci/mutants.toml lists as equivalent. --own leaves out the tests of dependents.
    tidy                   Repository rules: crate arrows, layers of modules, domain purity, documented unsafe, file length,
                           links.
    build-ptx [--check]    Compiles kernels-ptx and writes kernels-ptx/ptx, or compares with --check; then
                           lints and assembles what is there, holds its manifests to the parameters that the PTX
                           declares, and writes or compares the budgets of new kernels and the tables of
                           docs/kernels.md. Needs ci/install/kernel-compiler, ci/install/ptxas.
    sass [NAME]            Machine code of each kernel whose name contains NAME, or of all, on sm_90: registers, spills, and
                           clocks by pipe for the body and each innermost loop. Needs ci/install/ptxas.
    kernels --family NAME --count N --seed S --out DIR
                           N seeded samples of a family of kernels, or of each family (`all`), in the new or empty
                           folder DIR: source, PTX, manifest, expected results, and a line in index.jsonl. Lints,
                           assembler, the host's twin and the simulated device check each of them. An unknown name
                           lists the families. Needs ci/install/kernel-compiler; ci/install/ptxas for registers.
    constant-time          Runs every entry point of pfss that takes a secret under valgrind, which reports branches
                           and addresses that depend on one; planted leaks have to be reported.
    fuzz [--seconds N]     Runs every fuzz target under fuzz/ for N seconds (default 10) from its seeds.
                           Needs cargo-fuzz (ci/install/tools); no nightly toolchain.
    mpi                    Ranks that are processes: the transport and proofs by 1, 2 and 4 processes of `mpirun` on this
                           machine. Needs ci/install/mpi.
    pages                  Every page that the program writes, measured in a browser at 360 and 1280 pixels. Needs
                           ci/install/chromium, and the program as the tests build it.
    outside                Packages every library, and builds crates on the packages in an empty folder, without CUDA and
                           with it: one on `trefoil` alone with the README's examples, and one on all.
    reference              Has the reference in Python and PyTorch write the golden files again, and compares them with the
                           committed ones. Fails without PyTorch, where `test` says that it is not there.
    docs                   Writes docs/performance.md from the results and words in docs/performance, and the README of
                           each library from its documentation.
    forwarders [--check]   Writes the generated sources of crate cuda-loader; with --check, compares them.
    test-gpu [--sanitize] [--allow-none]
                           The conformance suite on the real driver; no device is a failure unless --allow-none,
                           and with REQUIRE_CUDA=1 always, also in `test`.
                           --sanitize repeats it under the checkers of compute-sanitizer.
    bundle-gpu             Puts target/gpu-bundle together: the program, run.sh and a page of commands for a GPU
                           machine without Rust and network.
    release VERSION        Cuts a release: checks the tree and the packages, gives the changelog a section, commits and
                           tags, and prints the commands that publish. Nothing leaves the machine.
    ci                     What CI checks before the tests: format, clippy, docs, licences, outside crates.
    help                   This text.

Each task ends with a line for every failed check and one line `N passed, N failed, N skipped`. A step that cannot
run here is one line that says `skipped` and why, and is counted. With CI=true a missing cargo-fuzz, valgrind or MPI
is a failure, and so is a time that exceeds its budget in ci/time-budgets.toml by more than 20 %.

EXIT STATUS
    0 nothing failed, 1 something failed, 2 usage.
";

fn main() -> ExitCode {
    // A measured build: cargo runs this program in place of rustc.
    if let Some(log) = std::env::var_os(times::LOG) {
        return times::wrap_rustc(&log, std::env::args_os().skip(1));
    }
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let task = match CommandLineTask::parse(&args) {
        Ok(task) => task,
        Err(error) => {
            eprintln!("error: {error}\n\n{HELP}");
            return ExitCode::from(2);
        }
    };
    if task == CommandLineTask::Help {
        println!("{HELP}");
        return ExitCode::SUCCESS;
    }
    match with_shell(|sh| task.run(sh)) {
        Ok(tally) => {
            for title in &tally.failed {
                println!("FAILED: {title}");
            }
            println!("{tally}");
            ExitCode::from(u8::from(!tally.failed.is_empty()))
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The tasks without arguments.
const PLAIN: [(&str, step::TaskChecks); 9] = [
    ("tidy", suite::tidy),
    ("constant-time", constant_time::run),
    ("mpi", test::run_ranks),
    ("pages", test::run_pages),
    ("outside", outside::run),
    ("reference", |sh| test::reference(sh, test::PyTorch::Required)),
    ("docs", docs::run),
    ("bundle-gpu", gpu::bundle::run),
    ("ci", |sh| times::recorded(sh, "ci", true, suite::ci)),
];

/// The task of a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
enum CommandLineTask<'a> {
    Help,
    /// The number of a task in [`PLAIN`].
    Plain(usize),
    Test(test::Extent),
    /// The tests that the changes since a revision reach.
    TestChanged {
        revision: Option<&'a str>,
    },
    Times(times::MeasureOptions),
    Mutants(mutants::MutantOptions),
    /// The part of this name, or all.
    Nightly(Option<&'a str>),
    Fuzz {
        seconds: u32,
    },
    Forwarders {
        check: bool,
    },
    TestGpu {
        sanitize: bool,
        allow_none: bool,
    },
    Release {
        version: &'a str,
    },
    /// Cost of the kernels' machine code; the named kernel, or all.
    Sass(Option<&'a str>),
    BuildPtx {
        check: bool,
    },
    /// Samples of the families of kernels.
    Kernels(kernels::KernelOptions),
}

const TEST_GPU_FLAGS: [&str; 2] = ["--sanitize", "--allow-none"];

impl<'a> CommandLineTask<'a> {
    fn parse(args: &[&'a str]) -> Result<Self> {
        Ok(match args {
            [] | ["help" | "--help" | "-h"] => Self::Help,
            ["test"] => Self::Test(test::Extent::Usual),
            ["test", "--all"] => Self::Test(test::Extent::All),
            ["test", "--changed"] => Self::TestChanged { revision: None },
            ["test", "--changed", revision] if !revision.starts_with('-') => {
                Self::TestChanged { revision: Some(revision) }
            }
            ["times", flags @ ..] if let Some(options) = times::MeasureOptions::parse(flags) => Self::Times(options),
            ["mutants", flags @ ..] => Self::Mutants(mutants::MutantOptions::parse(flags)?),
            ["nightly"] => Self::Nightly(None),
            ["nightly", part] if nightly::is_part(part) => Self::Nightly(Some(part)),
            ["fuzz"] => Self::Fuzz { seconds: fuzz::DEFAULT_SECONDS },
            ["fuzz", "--seconds", n] => {
                Self::Fuzz { seconds: n.parse().with_context(|| format!("--seconds takes a whole number, got `{n}`"))? }
            }
            ["forwarders"] => Self::Forwarders { check: false },
            ["forwarders", "--check"] => Self::Forwarders { check: true },
            ["test-gpu", flags @ ..] if flags.iter().all(|flag| TEST_GPU_FLAGS.contains(flag)) => {
                let has = |flag| flags.contains(&flag);
                Self::TestGpu { sanitize: has(TEST_GPU_FLAGS[0]), allow_none: has(TEST_GPU_FLAGS[1]) }
            }
            ["release", version] if !version.starts_with('-') => Self::Release { version },
            ["sass"] => Self::Sass(None),
            ["sass", name] if !name.starts_with('-') => Self::Sass(Some(name)),
            ["build-ptx"] => Self::BuildPtx { check: false },
            ["build-ptx", "--check"] => Self::BuildPtx { check: true },
            ["kernels", flags @ ..] => Self::Kernels(kernels::KernelOptions::parse(flags)?),
            [name] if let Some(plain) = PLAIN.iter().position(|(plain, _)| plain == name) => Self::Plain(plain),
            other => bail!("unknown arguments `{}`", other.join(" ")),
        })
    }

    fn run(self, sh: &Shell) -> Result<Tally> {
        match self {
            Self::Help => Ok(Tally::default()),
            Self::Plain(plain) => (PLAIN[plain].1)(sh),
            Self::Test(extent) => {
                times::recorded(sh, extent.task(), extent == test::Extent::All, |sh| test::run(sh, extent))
            }
            Self::TestChanged { revision } => {
                times::recorded(sh, test::CHANGED, false, |sh| test::run_changed(sh, revision))
            }
            Self::Times(options) => times::run(sh, options),
            Self::Mutants(options) => mutants::run(sh, &options),
            Self::Nightly(part) => times::recorded(sh, "nightly", part.is_none(), |sh| nightly::run(sh, part)),
            Self::Fuzz { seconds } => fuzz::run(sh, seconds),
            Self::Forwarders { check } => forwarders::run(sh, check),
            Self::TestGpu { sanitize, allow_none } => gpu::test::run(sh, BuildProfile::Release, sanitize, allow_none),
            Self::Release { version } => release::run(sh, version),
            Self::Sass(name) => build_ptx::sass(sh, name),
            Self::BuildPtx { check } => build_ptx::run(sh, check),
            Self::Kernels(options) => kernels::run(sh, &options),
        }
    }
}

/// Runs `task` with a shell in the root of the workspace.
fn with_shell(task: impl FnOnce(&Shell) -> Result<Tally>) -> Result<Tally> {
    let sh = Shell::new()?;
    sh.change_dir(workspace_root()?);
    task(&sh)
}

/// The packages of the workspace at `root`, without those that they depend on.
fn metadata(root: &Path) -> Result<Metadata> {
    let metadata = MetadataCommand::new().manifest_path(root.join("Cargo.toml")).no_deps().exec();
    metadata.context("cargo metadata does not read the workspace")
}

/// The directory that holds this crate's.
fn workspace_root() -> Result<PathBuf> {
    let manifest = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    Ok(manifest.parent().context("xtask stands inside the workspace")?.to_path_buf())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_parse_and_anything_else_is_refused() {
        assert_eq!(CommandLineTask::parse(&["fuzz", "--seconds", "3"]).unwrap(), CommandLineTask::Fuzz { seconds: 3 });
        assert_eq!(CommandLineTask::parse(&["test"]).unwrap(), CommandLineTask::Test(test::Extent::Usual));
        assert_eq!(CommandLineTask::parse(&["test", "--all"]).unwrap(), CommandLineTask::Test(test::Extent::All));
        let changed = |revision| CommandLineTask::TestChanged { revision };
        assert_eq!(CommandLineTask::parse(&["test", "--changed"]).unwrap(), changed(None));
        assert_eq!(CommandLineTask::parse(&["test", "--changed", "HEAD~1"]).unwrap(), changed(Some("HEAD~1")));
        let times = times::MeasureOptions { release: true, ..times::MeasureOptions::default() };
        assert_eq!(CommandLineTask::parse(&["times", "--release"]).unwrap(), CommandLineTask::Times(times));
        for (plain, (name, _)) in PLAIN.iter().enumerate() {
            assert_eq!(CommandLineTask::parse(&[name]).unwrap(), CommandLineTask::Plain(plain));
            assert!(HELP.contains(&format!("\n    {name} ")), "the help lists `{name}`");
        }
        let release = CommandLineTask::Release { version: "0.1.0" };
        assert_eq!(CommandLineTask::parse(&["release", "0.1.0"]).unwrap(), release);
        let test_gpu = CommandLineTask::TestGpu { sanitize: false, allow_none: true };
        assert_eq!(CommandLineTask::parse(&["test-gpu", "--allow-none"]).unwrap(), test_gpu);
        for bad in [
            &["fuzz", "--seconds", "x"][..],
            &["tests"],
            &["test", "extra"],
            &["test", "--changed", "--all"],
            &["times", "--slow"],
            &["test-gpu", "--none"],
            &["kernels", "--family", "math"],
        ] {
            assert!(CommandLineTask::parse(bad).is_err(), "{bad:?}");
        }
    }
}
