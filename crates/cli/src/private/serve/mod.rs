//! `trefoil pfss serve`: the server of private inference.

mod clients;
mod log;
mod pool;
mod stop;

use core::{iter, time::Duration};
use std::{
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use anyhow::Result;
use backend_api::Fork as _;
use clap::Args;
use runtime::{Choice, Domain};

use self::{
    clients::{ServedRuns, Server},
    log::RunLog,
    pool::Pool,
};
use super::LimitArgs;
use crate::{exit::UsageError, files::NamedFile, output::OutputFile};

/// The most clients at once.
const MAX_AT_ONCE: i64 = 64;

/// Run the server: hold the weights, learn nothing.
///
/// Prints its address once it listens, refuses anyone who is not a client of one of its deals,
/// serves a client for each unused run of its folders, and ends when no run is left. A client that
/// fails uses up its run, and others continue. It shakes hands with many at once, so that
/// strangers do not keep clients out. With keys for many runs the first run opens the weights, and
/// later ones take the same weights. Ctrl-C ends it after the running clients.
#[derive(Args, Debug)]
pub(crate) struct ServeArgs {
    /// The folders `party1` of deals; a run uses up one of them, or its next run of many.
    #[arg(value_name = "DIR", required_unless_present = "keys")]
    folders: Vec<PathBuf>,
    /// The same as DIR; may be given more than once.
    #[arg(long, value_name = "DIR")]
    keys: Vec<PathBuf>,
    /// The weights, a safetensors file.
    #[arg(long, value_name = "FILE")]
    weights: PathBuf,
    /// Address to listen on; port 0 takes any free port.
    #[arg(long, value_name = "ADDRESS", value_parser = super::address, default_value = "127.0.0.1:0")]
    listen: String,
    /// Serve up to this many clients at once.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=MAX_AT_ONCE))]
    at_once: u32,
    /// Give up when no client has come for this many seconds; if not given, keep waiting.
    #[arg(long, value_name = "SECONDS")]
    wait: Option<u32>,
    #[command(flatten)]
    limits: LimitArgs,
    /// Append a line of JSON for each run to FILE.
    ///
    /// It has the time, the folder, the number of the run, the fingerprint of the client's
    /// certificate, model, images, seconds, bytes, rounds, and the outcome: `ok` or an error.
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Also write rounds, bytes and times of a single run as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Backend: cpu, gpu (= cuda), auto or sim.
    #[arg(long, value_name = "NAME")]
    backend: Option<Choice>,
}

impl ServeArgs {
    /// The files that it reads and writes.
    pub(crate) fn files(&self) -> Vec<NamedFile<'_>> {
        let weights = Some(NamedFile::read("--weights", &self.weights));
        let log = self.log.as_deref().map(|path| NamedFile::written("--log", path));
        let json = self.json.as_deref().map(|path| NamedFile::written("--json", path));
        [weights, log, json].into_iter().flatten().collect()
    }
}

/// Runs the command.
pub(super) fn run(args: &ServeArgs) -> Result<()> {
    // Everything is read and checked before anyone can connect.
    let (q, _) = runtime::open_for(Domain::Pfss, args.backend)?;
    let paths: Vec<&Path> = args.folders.iter().chain(&args.keys).map(PathBuf::as_path).collect();
    let pool = Pool::open(&paths, &args.weights)?;
    let runs = pool.unused();
    if runs > 1 && args.json.is_some() {
        return Err(UsageError(format!("expected --log for {runs} runs, got --json, which is for one")).into());
    }
    let log = args.log.as_deref().map(RunLog::open).transpose()?;
    let json = args.json.as_deref().map(OutputFile::begin).transpose()?;
    let forks = (1..args.at_once).map(|_| q.fork()).collect::<Result<Vec<_>, _>>()?;
    let queues: Vec<_> = iter::once(q).chain(forks).collect();

    // Clients are served until no run is left.
    stop::watch()?;
    let listener = pool.listen(&args.listen, args.limits.limits())?;
    let server = Server::new(&pool, &queues, log.as_ref(), json);
    let waited = server.serve(listener, args.wait.map(|seconds| Duration::from_secs(seconds.into())));
    report(server.into_results(), runs, pool.unused(), waited.map_err(Into::into))
}

/// Prints how many runs were served, and fails if one failed or the wait for a client did.
fn report(results: ServedRuns, runs: u32, unused: u32, waited: Result<()>) -> Result<()> {
    let ServedRuns { served, failures } = results;
    let failed = failures.len();
    let left = match unused {
        0 => "no run is left".to_owned(),
        1 => "1 run is left".to_owned(),
        left => format!("{left} runs are left"),
    };
    let served = if served == 1 { "1 run".to_owned() } else { format!("{served} runs") };
    let printed = writeln!(io::stdout(), "{served} served, {failed} failed, {left}");
    match failures.into_iter().next() {
        None => waited.and(printed.map_err(Into::into)),
        Some(error) if runs == 1 => Err(error),
        Some(error) => Err(error.context(format!("{failed} of {runs} runs failed, the first of them"))),
    }
}
