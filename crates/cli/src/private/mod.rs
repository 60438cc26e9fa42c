//! `trefoil pfss`: private inference between two processes, and keys of single gates.

mod bench;
mod bundle;
mod deal;
mod infer;
mod input;
mod inspect;
mod keys;
mod kind;
mod model;
mod plan;
mod report;
mod serve;
mod sound;
mod verify;

use core::{ops::RangeInclusive, time::Duration};
use std::{
    io::{self, Write as _},
    net::TcpListener,
    path::Path,
};

use anyhow::{Context as _, Result};
use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use inference::{
    InferenceError, Limits,
    folder::{KeyFolder, Stale, remove_stale},
    tls::{Endpoint, TlsChannel, TlsError},
};
use pfss::Party;

pub(crate) use report::PartyReport;

use crate::{
    exit::say,
    files::{NamedFile, folder_of},
    interrupt,
};

/// Function secret sharing: private inference by two processes, and keys of single gates.
///
/// A dealer runs `deal` and gives `party0` to the client, `party1` to the server. The server runs
/// `serve` with its weights, the client runs `infer` with its inputs. The client learns the
/// results, the server learns nothing, and only the server has the weights. `deal --runs` makes
/// keys for many runs, and the first of them opens the weights. `gen` makes keys for one gate or
/// function, `eval` uses them. `inspect` shows the purpose of keys, `verify` reads them all without
/// using any. `plan` computes the cost of a model without keys, `bench` measures it.
#[derive(Args, Debug)]
pub(crate) struct PfssArgs {
    #[command(subcommand)]
    pub(crate) command: PfssCommand,
}

/// Checks the form of an address. The system finds out whether there is such a host.
fn address(text: &str) -> Result<String, &'static str> {
    let parts = text.rsplit_once(':').filter(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok());
    parts.map(|_| text.to_owned()).ok_or("expected HOST:PORT with a port of 0..=65535")
}

#[derive(Debug, Subcommand)]
pub(crate) enum PfssCommand {
    Deal(deal::DealArgs),
    Serve(serve::ServeArgs),
    Infer(infer::InferArgs),
    Gen(bundle::GenArgs),
    Eval(bundle::EvalArgs),
    Inspect(inspect::InspectArgs),
    Verify(verify::VerifyArgs),
    Plan(plan::PlanArgs),
    Bench(bench::PfssBenchArgs),
}

impl PfssCommand {
    /// Whether it uses no backend.
    pub(crate) const fn is_on_the_host(&self) -> bool {
        matches!(self, Self::Plan(_))
    }

    /// The files that it names, but for those in folders of keys.
    pub(crate) fn files(&self) -> Vec<NamedFile<'_>> {
        match self {
            Self::Infer(args) => args.files(),
            Self::Serve(args) => args.files(),
            Self::Eval(args) => args.files(),
            Self::Inspect(args) => args.files(),
            Self::Plan(args) => args.files(),
            Self::Bench(args) => args.files(),
            Self::Deal(_) | Self::Gen(_) | Self::Verify(_) => Vec::new(),
        }
    }
}

/// The step of a connection before the first step of a run, in errors.
const GREETING: &str = "greeting";

/// Time between two looks of a progress bar at the clock.
const TICK: Duration = Duration::from_millis(200);

/// How long to wait for the other party.
#[derive(Args, Debug)]
pub(crate) struct LimitArgs {
    /// Give up when nothing has moved for this many seconds.
    ///
    /// Must be longer than the slower party's longest step.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    idle: u32,
    /// Give up when the whole run has taken this many seconds.
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
        PfssCommand::Verify(args) => verify::run(args),
        PfssCommand::Plan(args) => plan::run(args),
        PfssCommand::Bench(args) => bench::run(args),
    }
}

/// Prepares for secrets in the folder `out`.
///
/// Handles signals, and removes unfinished folders of killed programs next to it.
fn before_dealing(out: &Path) -> Result<()> {
    interrupt::watch()?;
    remove_leftovers(out);
    Ok(())
}

/// Removes unfinished folders of killed programs next to the folder `out`.
fn remove_leftovers(out: &Path) {
    // A folder that cannot be read is an error when the keys are written.
    for Stale { path, bytes, removed } in remove_stale(folder_of(out)).unwrap_or_default() {
        let (path, size) = (path.display(), bytes >> 10);
        match removed {
            Ok(()) => say("note", &format!("removed {path}, {size} KiB of keys that an earlier run did not finish")),
            Err(e) => {
                say("warning", &format!("{path} holds {size} KiB of keys that an earlier run did not finish: {e}"))
            }
        }
    }
}

/// Checks the bytes of a folder for `party` against the plan.
fn expect_planned_keys(planned: &RangeInclusive<u64>, party: Party, bytes: u64) -> Result<()> {
    let (fewest, most) = (planned.start(), planned.end());
    if planned.contains(&bytes) {
        return Ok(());
    }
    let reason = format!("expected {fewest} to {most} bytes of keys for {party} (from the plan), got {bytes}");
    Err(InferenceError::Keys { reason }.into())
}

/// Listens on `address`, prints the address, and waits for the other party.
///
/// It waits for as long as `patience`, if there is a limit.
fn accept(endpoint: &Endpoint<'_>, address: &str, patience: Option<Duration>) -> Result<TlsChannel> {
    Ok(endpoint.accept(&listen(address)?, patience, refusals()).map_err(InferenceError::from)?)
}

/// Listens on `address`, and prints the address.
fn listen(address: &str) -> Result<TcpListener> {
    let listener = TcpListener::bind(address).with_context(|| format!("listening on {address}"))?;
    let mut out = io::stdout().lock();
    writeln!(out, "listening on {}", listener.local_addr()?)?;
    out.flush()?;
    Ok(listener)
}

/// Returns a function that reports refused connections on standard error.
///
/// It reports each of the first ten, and then the last one each time their number doubles.
fn refusals() -> impl FnMut(&TlsError) {
    let mut count = 0u64;
    move |error| {
        count += 1;
        match count {
            1..=10 => say("refused a connection", &error.to_string()),
            _ if count.is_power_of_two() => say(&format!("refused {count} connections; the last"), &error.to_string()),
            _ => {}
        }
    }
}

/// A progress bar on standard error over `steps` steps.
fn steps_bar(steps: usize, title: &'static str) -> Result<ProgressBar> {
    let template = "{prefix:24} {bar:32} {pos}/{len} {elapsed} {msg}";
    let style = ProgressStyle::with_template(template).context("progress style")?;
    let bar = ProgressBar::new(steps as u64).with_style(style).with_prefix(title);
    bar.enable_steady_tick(TICK);
    Ok(bar)
}

/// Reads a party's folder for a model.
fn open(path: &Path, party: Party) -> Result<KeyFolder> {
    let bar = steps_bar(KeyFolder::manifest(path)?.keys.len(), "read keys")?;
    let folder = KeyFolder::open(path, party, |step| advance(&bar, step))?;
    bar.finish_and_clear();
    Ok(folder)
}

/// Shows the current step.
fn advance(bar: &ProgressBar, step: &str) {
    bar.set_message(step.to_owned());
    bar.inc(1);
}
