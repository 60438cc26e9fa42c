//! `trefoil stark bench`.

use std::{
    io::{self, Write as _},
    time::Duration,
};

use anyhow::{Result, ensure};
use clap::Args;
use runtime::Choice;

use super::{
    config::ConfigArgs,
    known::{AirArgs, Known},
    prove::{Making, open},
    stages::Stages,
};

/// Time the stages of a proof: medians over several proofs, each of which is verified.
#[derive(Args, Debug)]
pub(crate) struct BenchArgs {
    #[command(flatten)]
    air: AirArgs,
    #[command(flatten)]
    config: ConfigArgs,
    /// Proofs to make, after one that is not counted.
    #[arg(long, value_name = "N", default_value_t = 5)]
    rounds: usize,
    /// Backend: cpu, gpu (= cuda), auto or sim.
    #[arg(long, value_name = "NAME")]
    backend: Option<Choice>,
}

/// Runs the command.
pub(crate) fn run(args: &BenchArgs) -> Result<()> {
    ensure!(args.rounds > 0, "expected a round at least");
    let q = open(args.backend)?;
    let (statement, trace) = Known::make(&args.air)?;
    let config = args.config.config();
    let make = || statement.with(Making { q: &q, config, trace: &trace, stages: Stages::silent() });
    let first = make()?;
    let mut rounds = Vec::with_capacity(args.rounds);
    for _ in 0..args.rounds {
        rounds.push(make()?.times);
    }
    let mut out = io::stdout().lock();
    let mut proving = Duration::ZERO;
    for (stage, (name, _)) in first.times.iter().enumerate() {
        let mut times: Vec<Duration> = rounds.iter().map(|round| round[stage].1).collect();
        times.sort_unstable();
        let median = times[times.len() / 2];
        if name != "verify" && name != "set up" {
            proving += median;
        }
        writeln!(out, "{:>10.2} ms  {name}", median.as_secs_f64() * 1e3)?;
    }
    writeln!(out, "{:>10.2} ms  whole proof, without setting up and verifying", proving.as_secs_f64() * 1e3)?;
    Ok(())
}
