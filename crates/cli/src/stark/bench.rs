//! `trefoil stark bench`.

use std::{
    fmt::Write as _,
    slice,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};
use backend_api::{Counted as _, Queue as _, Submissions};
use clap::Args;
use runtime::{AnyQueue, Choice, Domain};
use stark::{AnyStatement, PcsConfig, ProofGraph, Protocol, ProveError, ProveOptions, StatementProof, verify};

use super::{
    check::check,
    options::{config::ConfigArgs, known::AirArgs, number::whole, residency::ResidencyArgs},
    plan::{expect_room, planned},
    stages::Stages,
    trace::TraceInput,
};
use crate::{output::print, queue::open, text::shown};

/// Time proofs of one prover.
///
/// Shows the medians of each stage, and of a proof without waits, op by op and, if the device
/// supports capture, as one graph. On a GPU, counts the driver calls of a proof.
#[derive(Args, Debug)]
pub(crate) struct StarkBenchArgs {
    #[command(flatten)]
    air: AirArgs,
    #[command(flatten)]
    config: ConfigArgs,
    #[command(flatten)]
    residency: ResidencyArgs,
    /// Proofs to time of each kind, 1..=1000: watched, op by op, and as one graph.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = whole(1..=1000))]
    rounds: u32,
    /// Backend: cpu, gpu (= cuda), auto or sim [default: TREFOIL_BACKEND, or else cpu].
    #[arg(long, value_name = "NAME")]
    backend: Option<Choice>,
}

/// A benchmark of proofs: the times of stages, and of proofs that are not watched.
struct Timing<'a> {
    q: &'a AnyQueue,
    config: PcsConfig,
    residency: ResidencyArgs,
    trace: &'a TraceInput,
    rounds: u32,
}

/// What benchmarks of a statement found.
struct Timed {
    /// The stages of each proof.
    stages: Vec<Vec<(String, Duration)>>,
    /// Why a device that records graphs did not record the proof.
    not_recorded: Option<String>,
    /// Proofs op by op, and as one graph if the device records it.
    unwatched: Vec<Unwatched>,
}

/// Proofs without timing of their stages.
struct Unwatched {
    name: &'static str,
    times: Vec<Duration>,
    /// The driver submissions of the last proof.
    submissions: Submissions,
}

impl Unwatched {
    fn time(
        name: &'static str,
        q: &AnyQueue,
        rounds: u32,
        mut prove: impl FnMut() -> Result<StatementProof, ProveError>,
    ) -> Result<Self> {
        let (mut times, mut submissions) = (Vec::new(), Submissions::default());
        for _ in 0..rounds {
            q.finish()?;
            let (before, begin) = (q.submissions(), Instant::now());
            prove()?;
            times.push(begin.elapsed());
            submissions = q.submissions() - before;
        }
        Ok(Self { name, times, submissions })
    }
}

impl Timing<'_> {
    fn run(self, statement: &AnyStatement) -> Result<Timed> {
        let Self { q, config, residency, trace, rounds } = self;
        let mut prover = residency.prover(q, config, statement)?;
        let root = prover.preprocessed_root(q)?;
        let mut watched = Vec::new();
        for round in 0..=rounds {
            q.finish()?;
            let mut stages = Stages::silent();
            let options = ProveOptions::new();
            let proof = trace.prove(&mut prover, q, options.watching(&mut |stage| stages.begin(stage)))?;
            if round > 0 {
                watched.push(stages.end());
            }
            verify(Protocol::V2_3, config, statement, root, &proof)?;
        }
        let mut graph = ProofGraph::new();
        for _ in 0..2 {
            let proof = trace.prove(&mut prover, q, ProveOptions::new().replayed(&mut graph))?;
            verify(Protocol::V2_3, config, statement, root, &proof)?;
        }
        let prove = || trace.prove(&mut prover, q, ProveOptions::new());
        let mut unwatched = vec![Unwatched::time("op by op", q, rounds, prove)?];
        if graph.is_recorded() {
            let prove = || trace.prove(&mut prover, q, ProveOptions::new().replayed(&mut graph));
            unwatched.push(Unwatched::time("one graph", q, rounds, prove)?);
        }
        let not_recorded = match q {
            #[cfg(feature = "cuda")]
            AnyQueue::Cuda(queue) if !graph.is_recorded() => {
                Some(runtime::refused_recording(queue).unwrap_or_else(|| "no memory is left for it".to_owned()))
            }
            _ => None,
        };
        Ok(Timed { stages: watched, not_recorded, unwatched })
    }
}

fn median(times: impl Iterator<Item = Duration>) -> Duration {
    let mut times: Vec<Duration> = times.collect();
    times.sort_unstable();
    times[times.len() / 2]
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Runs the command.
pub(crate) fn run(args: &StarkBenchArgs) -> Result<()> {
    let config = args.config.config();
    let outline = args.air.outline()?;
    check(&outline, config)?;
    // Refused before a trace is made.
    planned(&outline, config, args.residency, 1, "one device")?;
    let q = open(Domain::Stark, args.backend)?;
    expect_room(&outline, config, args.residency, slice::from_ref(&q), 1, true)?;
    let (statement, trace) = args.air.make(q.budget()).context("making the trace")?;
    let timing = Timing { q: &q, config, residency: args.residency, trace: &trace, rounds: args.rounds };
    let timed = timing.run(&statement.build()?)?;
    let mut text = String::new();
    let mut proving = Duration::ZERO;
    for (stage, (name, _)) in timed.stages[0].iter().enumerate() {
        let median = median(timed.stages.iter().map(|round| round[stage].1));
        proving += median;
        writeln!(text, "{:>10.2} ms  {name}", milliseconds(median))?;
    }
    writeln!(text, "{:>10.2} ms  whole proof", milliseconds(proving))?;
    for Unwatched { name, times, submissions } in timed.unwatched {
        let median = median(times.into_iter());
        writeln!(text, "{:>10.2} ms  whole proof without a wait between stages, {name}", milliseconds(median))?;
        let Submissions { calls, launches, replays, copies, allocations, waits } = submissions;
        if calls > 0 {
            writeln!(
                text,
                "{calls:>10} driver calls, {launches} launches of kernels, {replays} replays, {copies} copies and fills, {allocations} \
                 allocations, {waits} waits"
            )?;
        }
    }
    if let Some(reason) = timed.not_recorded {
        writeln!(text, "{:>10}     whole proof, one graph: {}", "-", shown(&reason))?;
    }
    print(&text)
}
