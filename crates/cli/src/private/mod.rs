//! `trefoil pfss`: private inference between two processes, and keys of single gates.

mod bundle;
mod deal;
mod infer;
mod inspect;
mod report;
mod serve;

use core::time::Duration;

use anyhow::{Context as _, Result};
use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use inference::{Limits, Plan};

pub(crate) use report::Report;

/// Function secret sharing: private inference between two processes, and keys of single gates.
///
/// A dealer runs `deal` and gives `party0` to the client, `party1` to the server. The server runs `serve` with its
/// weights, the client `infer` with its images. The client learns the classes, the server nothing, and nobody the
/// weights. `gen`, `eval` and `inspect` make, use and show keys of one gate.
#[derive(Args, Debug)]
pub(crate) struct PfssArgs {
    #[command(subcommand)]
    pub(crate) command: PfssCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PfssCommand {
    Deal(deal::DealArgs),
    Serve(serve::ServeArgs),
    Infer(infer::InferArgs),
    Gen(bundle::GenArgs),
    Eval(bundle::EvalArgs),
    Inspect(inspect::InspectArgs),
}

/// How long to wait for the other party.
#[derive(Args, Debug)]
pub(crate) struct LimitArgs {
    /// Give up when nothing has moved for so many seconds; longer than the slower party's longest step takes.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    idle: u32,
    /// Give up when the whole run has taken so many seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 3600)]
    session: u32,
}

impl LimitArgs {
    fn limits(&self) -> Limits {
        let seconds = |seconds: u32| Duration::from_secs(u64::from(seconds).max(1));
        Limits { idle: seconds(self.idle), session: seconds(self.session) }
    }
}

/// Runs the command.
pub(crate) fn run(command: &PfssCommand) -> Result<()> {
    match command {
        PfssCommand::Deal(args) => deal::run(args),
        PfssCommand::Serve(args) => serve::run(args),
        PfssCommand::Infer(args) => infer::run(args),
        PfssCommand::Gen(args) => bundle::generate(args),
        PfssCommand::Eval(args) => bundle::eval(args),
        PfssCommand::Inspect(args) => inspect::run(args),
    }
}

/// A progress bar on standard error over the steps of a plan, and `more` behind them.
fn bar(plan: &Plan, more: usize, title: &'static str) -> Result<ProgressBar> {
    steps_bar(plan.steps().len() + more, title)
}

/// A progress bar on standard error over so many steps.
fn steps_bar(steps: usize, title: &'static str) -> Result<ProgressBar> {
    let style = ProgressStyle::with_template("{prefix:24} {bar:32} {pos}/{len} {msg}").context("progress style")?;
    Ok(ProgressBar::new(steps as u64).with_style(style).with_prefix(title))
}

/// Says what is being done.
fn advance(bar: &ProgressBar, step: &str) {
    bar.set_message(step.to_owned());
    bar.inc(1);
}
