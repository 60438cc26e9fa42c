//! The command line.

#[cfg(all(test, feature = "cuda"))]
mod reference;

use std::path::{Path, PathBuf};

use clap::{Arg, Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, builder::PossibleValuesParser};
use conformance::Condition;
use runtime::Choice;

use crate::{
    files::NamedFile,
    isolate::STDOUT,
    nn::{NnArgs, NnCommand},
    private::{PfssArgs, PfssCommand},
    stark::{StarkArgs, StarkCommand},
};

const EXIT_CODES: &str = "\
Exit codes:
  0  everything ran and was verified
  1  something failed; the message names it
  2  the command line or an environment variable cannot be used
  3  the requested backend is not available; `trefoil doctor` shows why
  4  keys were refused: used before, of the other party, for another model, or damaged
  5  the other party failed: absent, silent, gone, not the one expected, or out of step";

/// Why a command without a backend has no profile.
const ON_THE_HOST: &str = "this command uses no backend: it runs on the host alone";

/// Function secret sharing, circle-STARK proofs and neural-network operators.
///
/// All use one device boundary. Everything runs on the CPU unless you ask for a backend, with
/// `--backend` or with the environment variables that `trefoil doctor` lists. Nothing falls back
/// silently.
#[derive(Debug, Parser)]
#[command(name = "trefoil", version, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    /// Write a profile of every op and every copy to FILE.
    ///
    /// Open FILE in chrome://tracing or ui.perfetto.dev. A table is printed on standard error at
    /// the end.
    #[arg(long, alias = "trace", value_name = "FILE", global = true)]
    pub(crate) profile: Option<PathBuf>,
    /// Add the device's time of each call to the profile.
    ///
    /// For `nn` (`nn profile` has it by itself), `stark prove` on one device, and `pfss` without
    /// `serve` and `bench`. Two events of the device surround each call.
    #[arg(long, global = true)]
    pub(crate) profile_device: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Demo(DemoArgs),
    Doctor(DoctorArgs),
    Conformance(ConformanceArgs),
    Bench(BenchArgs),
    Trials(TrialsArgs),
    Pfss(PfssArgs),
    Stark(StarkArgs),
    Nn(NnArgs),
}

impl Cli {
    /// The command line of this process.
    ///
    /// A negative number is a value, for the option before it to refuse.
    pub(crate) fn of_process() -> Self {
        let matches = with_negative_numbers(Self::command()).get_matches();
        Self::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
    }
}

fn with_negative_numbers(command: clap::Command) -> clap::Command {
    let takes = |arg: Arg| {
        let numbers = arg.get_action().takes_values();
        arg.allow_negative_numbers(numbers)
    };
    command.mut_args(takes).mut_subcommands(with_negative_numbers)
}

impl Command {
    /// Why a profile of the command would be empty.
    pub(crate) fn has_no_profile(&self) -> Option<&'static str> {
        match self {
            Self::Conformance(ConformanceArgs { isolate: true, .. }) | Self::Bench(BenchArgs { isolate: true, .. }) => {
                Some("with `--isolate` there are several")
            }
            Self::Stark(args) if args.command.is_on_the_host() => Some(ON_THE_HOST),
            Self::Pfss(args) if args.command.is_on_the_host() => Some(ON_THE_HOST),
            Self::Stark(args) if args.command.is_shared() => Some("an MPI launcher started several for this proof"),
            _ => None,
        }
    }

    /// Whether `--profile-device` measures it: the main thread makes its calls.
    pub(crate) const fn has_device_times(&self) -> bool {
        match self {
            Self::Nn(args) => !matches!(args.command, NnCommand::Profile(_)),
            Self::Stark(args) => matches!(args.command, StarkCommand::Prove(_)),
            Self::Pfss(args) => !matches!(args.command, PfssCommand::Serve(_) | PfssCommand::Bench(_)),
            _ => false,
        }
    }

    /// Whether unknown environment variables are an error. `doctor` lists them.
    pub(crate) const fn reads_environment(&self) -> bool {
        match self {
            Self::Doctor(_) => false,
            Self::Stark(args) => !args.command.is_on_the_host(),
            Self::Pfss(args) => !args.command.is_on_the_host(),
            _ => true,
        }
    }

    /// The files named by the arguments, except folders and their contents.
    pub(crate) fn files(&self) -> Vec<NamedFile<'_>> {
        match self {
            Self::Demo(args) => vec![NamedFile::written("--report", &args.report)],
            Self::Doctor(_) => Vec::new(),
            Self::Conformance(args) => events(args.events.as_deref()).collect(),
            Self::Bench(args) => args.files(),
            Self::Trials(args) => events(args.events.as_deref()).collect(),
            Self::Pfss(args) => args.command.files(),
            Self::Stark(args) => args.command.files(),
            Self::Nn(args) => args.command.files(),
        }
    }
}

/// The part K/N of something, with K of 1..=N.
fn part(text: &str) -> Result<[usize; 2], String> {
    let numbers = text.split_once('/').and_then(|(part, parts)| Some([part.parse().ok()?, parts.parse().ok()?]));
    numbers.filter(|[part, parts]| (1..=*parts).contains(part)).ok_or_else(|| "expected K/N with K of 1..=N".to_owned())
}

/// The file of events, if they do not go to standard output.
fn events(path: Option<&Path>) -> impl Iterator<Item = NamedFile<'_>> {
    path.filter(|path| *path != Path::new(STDOUT)).into_iter().map(|path| NamedFile::written("--events", path))
}

/// Run three workloads on real input, verify each, and write a report.
///
/// (1) Prove a computation: a circle-STARK proof of a wide-Fibonacci trace, which is verified, and
/// refused with a value changed. (2) Train a small network on handwritten digits in f32 and export
/// it. (3) Classify the test digits privately: a client with the images and a server with the
/// weights, two processes that hold secret shares, get exactly the results of the plaintext
/// fixed-point model.
#[derive(Args, Debug)]
pub(crate) struct DemoArgs {
    /// Where to write the HTML report.
    #[arg(long, value_name = "FILE", default_value = "trefoil-report.html")]
    pub(crate) report: PathBuf,
    /// Where to write the trained weights; a temporary folder if not given.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Use smaller inputs: 2^10 trace rows and 32 private digits.
    #[arg(long)]
    pub(crate) small: bool,
    /// Backend for all three workloads: cpu, gpu (= cuda), auto or sim.
    #[arg(long, value_name = "NAME")]
    pub(crate) backend: Option<Choice>,
}

/// Show what this machine offers and what Trefoil would use.
///
/// Lists processor features, the vector and AES paths chosen, threads, every backend and why it is
/// or is not available, and every environment variable with its value.
#[derive(Args, Debug)]
pub(crate) struct DoctorArgs {
    /// Print one JSON object instead of text.
    #[arg(long)]
    pub(crate) json: bool,
    /// Compile every kernel on the device of TREFOIL_BACKEND and show its resources.
    ///
    /// Shows the time to compile, registers, local and shared bytes, and the number of blocks that
    /// a multiprocessor runs at once. Fails if a module cannot be used, or a kernel spills or takes
    /// more registers than its budget.
    #[arg(long)]
    pub(crate) kernels: bool,
}

/// Check a backend against the models and golden outputs of the conformance suite.
///
/// Every case runs under every condition: plain, on a forked queue, with guard words around its
/// buffers, again after being refused memory, and, on a device that can record, recorded and
/// replayed.
///
/// With `--isolate` every op runs in a separate process. After a case that ends its process or the
/// device, the suite continues in a new one: a fault, a hang or a crash costs one case.
#[derive(Args, Debug)]
pub(crate) struct ConformanceArgs {
    /// Run only the ops whose name contains TEXT, such as `circle.` or `softmax`.
    #[arg(value_name = "TEXT", default_value = "")]
    pub(crate) filter: String,
    /// Run only the op whose name is TEXT.
    #[arg(long)]
    pub(crate) exact: bool,
    /// Run every N-th case from the K-th on, for K of 1..=N: each of N processes runs a part.
    #[arg(long, value_name = "K/N", default_value = "1/1", value_parser = part, conflicts_with = "isolate")]
    pub(crate) part: [usize; 2],
    /// Leave out cases on more than N elements.
    ///
    /// The default is 65536 on the simulated device and no limit elsewhere.
    #[arg(long, value_name = "N")]
    pub(crate) max_elements: Option<u64>,
    /// Backend to test: cpu, gpu (= cuda), auto or sim.
    #[arg(long, value_name = "NAME")]
    pub(crate) backend: Option<Choice>,
    /// Run under this condition: plain, forked, guarded, starved or recorded.
    ///
    /// More than one may be given.
    #[arg(long, value_name = "NAME", value_parser = conditions())]
    pub(crate) condition: Vec<String>,
    /// Begin with run N, if the runs before it are done; events number runs from 0.
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with = "isolate")]
    pub(crate) from: usize,
    /// Print every case, with its name before it runs, and not only the failing ones.
    #[arg(long)]
    pub(crate) verbose: bool,
    /// Write every event to FILE as it happens, a line of JSON each.
    ///
    /// FILE `-` is standard output, which then holds nothing else.
    #[arg(long, value_name = "FILE")]
    pub(crate) events: Option<PathBuf>,
    /// Run every op in a separate process.
    #[arg(long)]
    pub(crate) isolate: bool,
    /// Longest time for a case, after which its process is killed.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, requires = "isolate")]
    pub(crate) case_limit: u64,
    /// Longest time for the whole suite, after which the rest is not run.
    #[arg(long, value_name = "SECONDS", requires = "isolate")]
    pub(crate) deadline: Option<u64>,
}

/// Test a device and its driver's compiler on kernels whose results are known.
///
/// Random programs over all widths of integers and floats, with loops, tables, arrays and calls,
/// are compiled into this program for the host and for the device, and have to give the same
/// results, bit for bit. Canaries are small kernels with barriers, exchanges between lanes, shared
/// memory and fences, which compilers easily break. A kernel's name is printed before it runs.
#[derive(Args, Debug)]
pub(crate) struct TrialsArgs {
    /// Run only the kernels whose name contains TEXT, such as `single` or `canary`.
    #[arg(value_name = "TEXT", default_value = "")]
    pub(crate) filter: String,
    /// Device to test: gpu (= cuda) or sim.
    #[arg(long, value_name = "NAME")]
    pub(crate) backend: Option<Choice>,
    /// Run the samples of kernels in DIR instead, with a verdict for each family.
    ///
    /// `cargo xtask kernels` wrote DIR. TEXT then chooses families.
    #[arg(long, value_name = "DIR", conflicts_with = "events")]
    pub(crate) samples: Option<PathBuf>,
    /// Write every event to FILE as it happens, a line of JSON each.
    ///
    /// FILE `-` is standard output, which then holds nothing else.
    #[arg(long, value_name = "FILE")]
    pub(crate) events: Option<PathBuf>,
}

/// The names of all conditions.
fn conditions() -> PossibleValuesParser {
    PossibleValuesParser::new(Condition::ALL.map(Condition::name))
}

/// Measure the CPU ops against the best public peers, or the main ops of one backend.
///
/// Without `--backend`, contenders run interleaved in one process, on one CPU thread, and medians
/// and ratios are printed. With it, the backend's main ops run at sizes that fill a device, with
/// inputs resident, next to the device's own copy; if `nvidia-smi` is installed, clocks are sampled
/// while they run. Files hold all finished lines, even if others fail. Absolute times depend on the
/// machine and its load, so compare ratios. Times of the simulated device do not predict a real
/// device.
#[derive(Args, Debug)]
pub(crate) struct BenchArgs {
    /// Measure only the lines whose name contains TEXT, such as `pfss.` or `matmul`.
    #[arg(value_name = "TEXT", default_value = "")]
    pub(crate) filter: String,
    /// Print the names of the lines and measure nothing.
    #[arg(long, requires = "backend")]
    pub(crate) list: bool,
    /// Measure only the line whose name is TEXT, without the copy.
    #[arg(long, requires = "backend")]
    pub(crate) exact: bool,
    /// Also write the table as JSON.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Also write the table as a self-contained HTML page.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Measure for a shorter time, with more noise; with `--backend`, also at small sizes.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Measure the ops of one backend: cpu, gpu (= cuda), auto or sim.
    #[arg(long, value_name = "NAME")]
    pub(crate) backend: Option<Choice>,
    /// Times of another program for lines of the same name, to compare with ours.
    ///
    /// The file is JSON: `{"name": .., "lines": {id: seconds}}`.
    #[arg(long, value_name = "FILE", requires = "backend")]
    pub(crate) peer: Option<PathBuf>,
    /// Text to keep with the results, such as the clocks of the device.
    #[arg(long, value_name = "TEXT", requires = "backend")]
    pub(crate) note: Option<String>,
    /// Write every event to FILE as it happens, a line of JSON each.
    ///
    /// FILE `-` is standard output, which then holds nothing else.
    #[arg(long, value_name = "FILE", requires = "backend")]
    pub(crate) events: Option<PathBuf>,
    /// Measure every line in a separate process.
    #[arg(long, requires = "backend")]
    pub(crate) isolate: bool,
    /// Longest time for a line, after which its process is killed.
    #[arg(long, value_name = "SECONDS", default_value_t = 120, requires = "isolate")]
    pub(crate) line_limit: u64,
    /// Longest time for all lines, after which the rest are not measured.
    #[arg(long, value_name = "SECONDS", requires = "isolate")]
    pub(crate) deadline: Option<u64>,
}

impl BenchArgs {
    fn files(&self) -> Vec<NamedFile<'_>> {
        let peer = self.peer.as_deref().map(|path| NamedFile::read("--peer", path));
        let json = self.json.as_deref().map(|path| NamedFile::written("--json", path));
        let html = self.html.as_deref().map(|path| NamedFile::written("--html", path));
        [peer, json, html].into_iter().flatten().chain(events(self.events.as_deref())).collect()
    }
}
