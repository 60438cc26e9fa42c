//! `trefoil stark prove`.

use std::{
    io::{self, Write as _},
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, Result, bail, ensure};
use backend_api::Queue as _;
use clap::Args;
use core_types::air::stored_position;
use runtime::{AnyQueue, Choice, Domain, OpenError, Settings};
use stark::{
    Component, KnownStatement, M31, PcsConfig, ProofFile, Protocol, QM31, Statement, StatementProof, StatementProver,
    UseStatement, verify,
};
use stark_air::{HostTrace, check_trace};
use stark_airs::WideFibonacci;

use super::{
    config::{ConfigArgs, security},
    file,
    known::{AirArgs, AirName, make},
    npy,
    stages::Stages,
    trace::Trace,
};
use crate::{output::Output, report};

/// Prove a computation, verify the proof, and write it to a file.
#[derive(Args, Debug)]
pub(crate) struct ProveArgs {
    #[command(flatten)]
    air: AirArgs,
    #[command(flatten)]
    config: ConfigArgs,
    /// Take the trace of wide-fibonacci from a NumPy file, an array `[rows][columns]` of integers.
    #[arg(long, value_name = "FILE")]
    trace_npy: Option<PathBuf>,
    /// Write the proof to FILE.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Write a report with the time of each stage to FILE.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Backend: cpu, gpu (= cuda), auto or sim.
    #[arg(long, value_name = "NAME")]
    backend: Option<Choice>,
}

/// A proof that was made, with what it took.
struct Made {
    proof: StatementProof,
    times: Vec<(String, Duration)>,
    peak_bytes: u64,
    columns: usize,
    cells: usize,
}

/// Makes a proof and verifies it.
struct Making<'a> {
    q: &'a AnyQueue,
    config: PcsConfig,
    trace: &'a Trace,
    stages: Stages,
}

impl UseStatement for Making<'_> {
    type Out = Result<Made>;

    fn with<S: Statement>(self, statement: &S) -> Result<Made> {
        let Self { q, config, trace, mut stages } = self;
        // A proof that nobody would check is not made.
        ProofFile::check_size(statement, &config)?;
        stages.begin("set up");
        let mut prover = StatementProver::new(q, Protocol::V2_3, config, statement)?;
        q.finish()?;
        let proof = trace.prove(&mut prover, q, |stage| stages.begin(stage))?;
        let root = prover.preprocessed_root(q)?;
        stages.begin("verify");
        verify(Protocol::V2_3, config, statement, root, &proof).context("the proof that was made is not valid")?;
        let airs = prover.components().iter().map(Component::air);
        let sizes = airs.map(|air| (air.columns().get(1).map_or(0, Vec::len), air.log_rows()));
        let (columns, cells) =
            sizes.fold((0, 0), |(columns, cells), (more, log)| (columns + more, cells + (more << log)));
        Ok(Made { proof, times: stages.end(), peak_bytes: q.budget().peak_bytes(), columns, cells })
    }
}

/// Opens the queue that the arguments and the environment ask for.
pub(crate) fn open(backend: Option<Choice>) -> Result<AnyQueue> {
    let settings = Settings::from_env().map_err(OpenError::from)?;
    Ok(runtime::open_with(&settings, Some(Domain::Stark), backend)?.0)
}

/// Runs the command.
pub(crate) fn run(args: &ProveArgs) -> Result<()> {
    ensure!(args.html.as_ref() != Some(&args.out), "the proof and the report need files of their own");
    let output = Output::begin_public(&args.out)?;
    let q = open(args.backend)?;
    let (statement, trace) = match &args.trace_npy {
        None => make(&args.air)?,
        Some(path) => from_file(path, &args.air)?,
    };
    let config = args.config.config();
    let stages = Stages::new("prove")?;
    let made = statement.with(Making { q: &q, config, trace: &trace, stages })??;
    let size = format!("{} columns, {} cells", made.columns, made.cells);
    let file = ProofFile { statement, proof: made.proof };
    let bytes = file::write(&file, output)?;
    let facts = facts(&q, &file, &config, size, bytes, made.peak_bytes);
    let mut out = io::stdout().lock();
    for (stage, time) in &made.times {
        writeln!(out, "{:>10.1} ms  {stage}", time.as_secs_f64() * 1e3)?;
    }
    for (name, value) in &facts {
        writeln!(out, "{name:<22} {value}")?;
    }
    if let Some(path) = &args.html {
        page(&made.times, facts)?.write(path).with_context(|| format!("writing {}", path.display()))?;
        writeln!(out, "{:<22} {}", "report", path.display())?;
    }
    Ok(())
}

/// The statement that the arguments name, with the trace in a file.
fn from_file(path: &Path, args: &AirArgs) -> Result<(KnownStatement, Trace)> {
    let AirArgs { log_rows, columns, .. } = *args;
    if args.air != AirName::WideFibonacci {
        bail!("a trace can be given for wide-fibonacci alone: the others say how theirs begin and end");
    }
    let air = WideFibonacci::new(log_rows, columns)?;
    let trees = [vec![], npy::read(path, log_rows, columns as usize)?];
    let trace = HostTrace { columns: &trees, preprocessed: &[], challenges: &[], claimed_sum: QM31::ZERO };
    check_trace(&air, &trace).with_context(|| format!("the trace in {}", path.display()))?;
    let [_, rows] = trees;
    let rows = vec![rows.into_iter().map(stored).collect()];
    Ok((KnownStatement::WideFibonacci { log_rows, columns }, Trace::Columns(rows)))
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
    bytes: usize,
    peak_bytes: u64,
) -> Vec<(String, String)> {
    let caps = q.caps();
    let fact = |name: &str, value: String| (name.to_owned(), value);
    vec![
        fact("statement", file.statement.name().to_owned()),
        fact("trace", trace),
        fact("security", format!("{} bits, conjectured", security(config))),
        fact("proof", format!("{} KiB of JSON", bytes.div_ceil(1024))),
        fact("peak device memory", format!("{} MiB", peak_bytes.div_ceil(1 << 20))),
        fact("device", format!("{} ({}, {} threads)", caps.device, caps.path, caps.threads)),
    ]
}

fn page(times: &[(String, Duration)], facts: Vec<(String, String)>) -> Result<report::Page> {
    let times: Vec<_> = times.iter().map(|(stage, time)| (stage.clone(), time.as_secs_f64() * 1e3)).collect();
    let section = report::Section {
        heading: "Stages".to_owned(),
        facts,
        pictures: vec![report::bars("time of each stage", "ms", &times)?],
        table: None,
    };
    Ok(report::Page {
        title: "Trefoil: a STARK proof".to_owned(),
        lead: "The proof was verified after it was made.".to_owned(),
        sections: vec![section],
    })
}
