//! `trefoil stark bench`.

use std::{fmt::Write as _, time::Duration};

use anyhow::{Context as _, Result};
use backend_api::{Counted as _, Queue as _, Submissions};
use clap::Args;
use runtime::{AnyQueue, Choice, Domain};
use stark::{PcsConfig, Protocol, Statement, StatementProver, UseStatement, verify};

use super::{check::check, config::ConfigArgs, known::AirArgs, number::whole, stages::Stages, trace::Trace};
use crate::{output::print, queue::open};

/// Time the stages of a proof: medians over several proofs by one prover, each of which is verified. On a GPU, count what one more
/// proof hands to the driver.
#[derive(Args, Debug)]
pub(crate) struct BenchArgs {
    #[command(flatten)]
    air: AirArgs,
    #[command(flatten)]
    config: ConfigArgs,
    /// Proofs to make, 1..=1000, after one that is not counted.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = whole(1..=1000))]
    rounds: u32,
    /// Backend: cpu, gpu (= cuda), auto or sim [default: TREFOIL_BACKEND, or else cpu].
    #[arg(long, value_name = "NAME")]
    backend: Option<Choice>,
}

/// Makes proofs, and says how long each stage of each took and what one proof hands to the driver.
struct Timing<'a> {
    q: &'a AnyQueue,
    config: PcsConfig,
    trace: &'a Trace,
    rounds: u32,
}

impl UseStatement for Timing<'_> {
    type Out = Result<(Vec<Vec<(String, Duration)>>, Submissions)>;

    fn with<S: Statement>(self, statement: &S) -> Self::Out {
        let Self { q, config, trace, rounds } = self;
        let mut prover = StatementProver::new(q, Protocol::V2_3, config, statement)?;
        let root = prover.preprocessed_root(q)?;
        let mut times = Vec::new();
        for round in 0..=rounds {
            q.finish()?;
            let mut stages = Stages::silent();
            let proof = trace.prove(&mut prover, q, Some(&mut |stage| stages.begin(stage)))?;
            if round > 0 {
                times.push(stages.end());
            }
            verify(Protocol::V2_3, config, statement, root, &proof)?;
        }
        q.finish()?;
        let before = q.submissions();
        trace.prove(&mut prover, q, None)?;
        Ok((times, q.submissions() - before))
    }
}

/// Runs the command.
pub(crate) fn run(args: &BenchArgs) -> Result<()> {
    let config = args.config.config();
    check(&args.air.outline()?, config)?;
    let q = open(Domain::Stark, args.backend)?;
    let (statement, trace) = args.air.make(q.budget()).context("making the trace")?;
    let (rounds, submissions) = statement.with(Timing { q: &q, config, trace: &trace, rounds: args.rounds })??;
    let mut text = String::new();
    let mut proving = Duration::ZERO;
    for (stage, (name, _)) in rounds[0].iter().enumerate() {
        let mut times: Vec<Duration> = rounds.iter().map(|round| round[stage].1).collect();
        times.sort_unstable();
        let median = times[times.len() / 2];
        proving += median;
        writeln!(text, "{:>10.2} ms  {name}", median.as_secs_f64() * 1e3)?;
    }
    writeln!(text, "{:>10.2} ms  whole proof", proving.as_secs_f64() * 1e3)?;
    let Submissions { calls, launches, replays, copies, allocations, waits } = submissions;
    if calls > 0 {
        writeln!(text, "{calls:>10} driver calls for a proof whose stages nobody watches, among them")?;
        writeln!(
            text,
            "{launches:>10} launches of kernels, {replays} replays, {copies} copies and fills, {allocations} allocations, {waits} waits"
        )?;
    }
    print(&text)
}
