//! `trefoil stark prove`.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::{Context as _, Result};
use backend_api::{Budget, Collective as _, Queue as _};
use clap::Args;
use core_types::air::stored_position;
use runtime::{AnyQueue, Choice, Domain};
use stark::{
    AnyStatement, KnownStatement, M31, PcsConfig, ProofFile, Protocol, ProveOptions, QM31, Residency, Stage,
    StatementProof, verify,
};
use stark_air::{HostTrace, check_trace};
use stark_airs::WideFibonacci;

use super::{
    check::{check, check_file},
    file, npy,
    options::{
        config::{ConfigArgs, security},
        devices::{self, DevicesArgs, MadeOn},
        known::{AirArgs, AirName, check_memory},
        ranks::{self, ProverRank, RanksArgs},
        residency::ResidencyArgs,
    },
    plan::{expect_room, planned},
    stages::Stages,
    trace::TraceInput,
};
use crate::{
    exit::{UsageError, note},
    files::NamedFile,
    output::{OutputFile, print},
    queue::{open_many, open_of_rank},
    report,
    text::shown,
};

/// Prove a computation, verify the proof, and write it to a file.
///
/// A file is written as a whole and replaces an existing one; a pipe or a device is written to
/// directly. With `--out /dev/stdout` the facts go to standard error. TREFOIL_MEM_LIMIT bounds the
/// memory of the device, and separately the trace on the host. Without `--blocks`, all committed
/// values are kept if they fit; otherwise they are cut into the fewest blocks that fit. On a GPU
/// that no number of blocks fits, coefficients are kept in host memory too.
///
/// Processes started by `mpirun` or another launcher of MPI make one proof together, each its share
/// on a separate device: on GPUs, the device with the process's number on its machine, counted from
/// TREFOIL_CUDA_DEVICE. The first process writes the files; the others report failures.
#[derive(Args, Debug)]
pub(crate) struct ProveArgs {
    #[command(flatten)]
    air: AirArgs,
    #[command(flatten)]
    config: ConfigArgs,
    #[command(flatten)]
    residency: ResidencyArgs,
    #[command(flatten)]
    devices: DevicesArgs,
    #[command(flatten)]
    ranks: RanksArgs,
    /// Take the trace of wide-fibonacci from a NumPy file.
    ///
    /// The file is an array `[rows][columns]` of integers in 0..=2147483646.
    #[arg(long, value_name = "FILE", conflicts_with = "seed")]
    trace_npy: Option<PathBuf>,
    /// Write the proof to FILE.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// How the proof is written.
    #[arg(long, value_name = "FORMAT", default_value = "json")]
    format: file::Format,
    /// Write a report with the time of each stage to FILE.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Backend: cpu, gpu (= cuda), auto or sim [default: TREFOIL_BACKEND, or else cpu].
    #[arg(long, value_name = "NAME")]
    backend: Option<Choice>,
}

impl ProveArgs {
    /// The files that it reads and writes.
    pub(super) fn files(&self) -> Vec<NamedFile<'_>> {
        let trace = self.trace_npy.as_deref().map(|path| NamedFile::read("--trace-npy", path));
        let html = self.html.as_deref().map(|path| NamedFile::written("--html", path));
        trace.into_iter().chain([NamedFile::written("--out", &self.out)]).chain(html).collect()
    }
}

/// A finished proof, with the time and memory that it took.
struct Made {
    proof: StatementProof,
    times: Vec<(String, Duration)>,
    peak_bytes: u64,
    columns: usize,
    cells: usize,
    residency: Residency,
    /// The most bytes that one device sent to another.
    most_sent: u64,
    /// The ways between devices, in words, if there are several.
    routes: Option<String>,
}

/// Makes a proof and verifies it.
struct ProofMaker<'a> {
    /// Of each device one.
    queues: &'a [AnyQueue],
    /// Where others make the proof too.
    place: Option<&'a ProverRank>,
    config: PcsConfig,
    residency: ResidencyArgs,
    trace: &'a TraceInput,
    stages: Stages,
}

impl ProofMaker<'_> {
    fn make(self, statement: &AnyStatement) -> Result<Made> {
        let Self { queues, place, config, residency, trace, mut stages } = self;
        stages.begin("set up");
        let made = match (queues, place) {
            ([q], Some(ProverRank { group, .. })) => {
                let watch: &mut (dyn FnMut(Stage) + Send) = &mut |stage| stages.begin(stage);
                devices::prove_on(q, Arc::clone(group), config, statement, trace, Some(watch))?
            }
            ([q], None) => {
                let mut prover = residency.prover(q, config, statement)?;
                q.finish()?;
                let options = ProveOptions::new();
                let proof = trace.prove(&mut prover, q, options.watching(&mut |stage| stages.begin(stage)))?;
                MadeOn::new(proof, &prover, q, 0)?
            }
            (queues, _) => devices::prove(queues, config, statement, trace, &mut |stage| stages.begin(stage))?,
        };
        stages.begin("verify");
        let MadeOn { proof, root, airs, residency, most_sent, routes } = made;
        verify(Protocol::V2_3, config, statement, root, &proof).context("the new proof failed verification")?;
        let (columns, cells) =
            airs.iter().fold((0, 0), |(columns, cells), (more, log)| (columns + more, cells + (more << log)));
        let peak_bytes = queues.iter().map(|q| q.budget().peak_bytes()).max().unwrap_or(0);
        Ok(Made { proof, times: stages.end(), peak_bytes, columns, cells, residency, most_sent, routes })
    }
}

/// Runs the command.
pub(crate) fn run(args: &ProveArgs) -> Result<()> {
    let trace = args.trace_npy.as_ref().map(|path| format!("--trace-npy {}", path.display()));
    let options: Vec<String> = args.air.options().into_iter().chain(args.config.options()).chain(trace).collect();
    ranks::run(args.ranks, &options, |place| make(args, place))
}

/// Makes the proof and, unless another process does, writes the files.
fn make(args: &ProveArgs, place: Option<&ProverRank>) -> Result<()> {
    if args.trace_npy.is_some() && args.air.air != AirName::WideFibonacci {
        let message = "`--trace-npy` requires `--air wide-fibonacci`: other statements fix the ends of their traces";
        return Err(UsageError(message.to_owned()).into());
    }
    let (outline, config) = (args.air.outline()?, args.config.config());
    check(&outline, config)?;
    check_file(&outline, config, args.format)?;
    // Refused before a trace is made.
    let (count, by) = match place {
        None => (args.devices.count(), "`--devices`"),
        Some(_) if args.devices.count() > 1 => return Err(one_process("--devices")),
        Some(_) if args.residency.chosen().is_some() => return Err(one_process("--blocks")),
        Some(ProverRank { launch, .. }) => (launch.ranks, "processes"),
    };
    planned(&outline, config, args.residency, count, by)?;
    let files = match place {
        Some(place) if !place.is_first() => None,
        _ => Some((
            OutputFile::begin_public(&args.out)?,
            args.html.as_deref().map(OutputFile::begin_public).transpose()?,
        )),
    };

    let queues = match place {
        Some(place) => vec![open_of_rank(Domain::Stark, args.backend, &place.launch)?],
        None => open_many(Domain::Stark, args.backend, args.devices.count())?,
    };
    expect_room(&outline, config, args.residency, &queues, count, args.trace_npy.is_none())?;
    let q = &queues[0];
    let (statement, trace) = match &args.trace_npy {
        None => args.air.make(q.budget()).context("making the trace")?,
        Some(path) => (outline, from_file(path, &args.air, q.budget())?),
    };
    let stages = if files.is_some() { Stages::new("prove")? } else { Stages::silent() };
    let making = ProofMaker { queues: &queues, place, config, residency: args.residency, trace: &trace, stages };
    let made = making.make(&statement.build()?)?;
    if let Some(ProverRank { group, .. }) = place {
        // Nothing is written before all have verified it.
        group.barrier(q)?;
    }
    if let Some((output, html)) = files {
        write(args, q, count, statement, made, output, html)?;
    }
    match place {
        // All end well, or none does.
        Some(ProverRank { group, .. }) => Ok(group.barrier(q)?),
        None => Ok(()),
    }
}

/// The error of an option that means nothing among several processes.
fn one_process(option: &str) -> anyhow::Error {
    UsageError(format!("`{option}` requires a single process, but an MPI launcher started several for this proof"))
        .into()
}

/// Writes the files and reports the result.
fn write(
    args: &ProveArgs,
    q: &AnyQueue,
    count: usize,
    statement: KnownStatement,
    made: Made,
    output: OutputFile,
    html: Option<OutputFile>,
) -> Result<()> {
    let tell =
        if [Some(&output), html.as_ref()].into_iter().flatten().any(OutputFile::is_stdout) { note } else { print };
    let size = format!("{} columns, {} cells", made.columns, made.cells);
    let file = ProofFile { statement, proof: made.proof };
    let bytes = file.to_bytes(args.format.encoding())?;
    let peak = format!("{} MiB", made.peak_bytes.div_ceil(1 << 20));
    let memory = match made.residency {
        Residency::Full | Residency::Truncated => peak,
        Residency::Blocks(blocks) => format!("{peak}, {blocks} blocks"),
        Residency::Host(blocks) => format!("{peak}, {blocks} blocks, coefficients on the host"),
    };
    let mut facts = facts(q, &file, &args.config.config(), size, args.format.size(bytes.len()), memory);
    facts.extend(file::refused_by_stwo(&file).map(|warning| ("stwo".to_owned(), warning.to_owned())));
    if count > 1 {
        let sent = format!("{count}, each sent each other {} bytes at most", made.most_sent);
        facts.push(("devices".to_owned(), sent));
        facts.extend(made.routes.map(|routes| ("links".to_owned(), routes)));
    }
    output.finish(&bytes)?;
    let mut text = String::new();
    for (stage, time) in &made.times {
        writeln!(text, "{:>10.1} ms  {stage}", time.as_secs_f64() * 1e3)?;
    }
    text.push_str(&report::listed(&facts, 22));
    if let Some((html, path)) = html.zip(args.html.as_deref()) {
        html.finish(page(&made.times, facts).to_html().as_bytes())?;
        writeln!(text, "{:<22} {}", "report", shown(&path.to_string_lossy()))?;
    }
    tell(&text)
}

/// The trace in a file, of the size that the arguments name.
fn from_file(path: &Path, args: &AirArgs, budget: &Budget) -> Result<TraceInput> {
    let (log_rows, columns) = (args.log_rows, args.columns());
    // The file and its elements, then those and the columns; later all columns, and one that is put into its stored order.
    let file = fs::metadata(path).map_or(0, |file| file.len());
    let elements = (4 * (u64::from(columns) + 1)) << log_rows;
    check_memory(elements.saturating_add(file.max(elements)), budget).context("reading the trace")?;
    let air = WideFibonacci::new(log_rows, columns)?;
    let trees = [vec![], npy::read(path, log_rows, columns as usize)?];
    let trace = HostTrace { columns: &trees, preprocessed: &[], challenges: &[], claimed_sum: QM31::ZERO };
    check_trace(&air, &trace).with_context(|| format!("the trace in {}", path.display()))?;
    let [_, rows] = trees;
    Ok(TraceInput::Columns(vec![rows.into_iter().map(stored).collect()]))
}

/// A column in stored order.
fn stored(rows: Vec<M31>) -> Vec<M31> {
    let log_rows = rows.len().ilog2();
    let mut column = vec![M31::ZERO; rows.len()];
    for (row, value) in (0..).zip(rows) {
        column[stored_position(row, log_rows) as usize] = value;
    }
    column
}

fn facts(
    q: &AnyQueue,
    file: &ProofFile,
    config: &PcsConfig,
    trace: String,
    proof_size: String,
    memory: String,
) -> Vec<(String, String)> {
    let caps = q.caps();
    let fact = |name: &str, value: String| (name.to_owned(), value);
    vec![
        fact("statement", file.statement.name().to_owned()),
        fact("trace", trace),
        fact("security", format!("{} bits, conjectured", security(config))),
        fact("proof", proof_size),
        fact("peak device memory", memory),
        fact("device", format!("{} ({}, {} threads)", caps.device, caps.path, caps.threads)),
    ]
}

fn page(times: &[(String, Duration)], facts: Vec<(String, String)>) -> report::Page {
    let times: Vec<_> = times.iter().map(|(stage, time)| (stage.clone(), time.as_secs_f64() * 1e3)).collect();
    let section = report::ReportSection {
        heading: "Stages".to_owned(),
        facts,
        pictures: vec![report::bars("time of each stage", "ms", &times)],
        table: None,
    };
    report::Page {
        title: "Trefoil: a STARK proof".to_owned(),
        lead: "The proof was verified after it was made.".to_owned(),
        sections: vec![section],
    }
}
