//! `trefoil pfss serve`: the server of private inference.

use std::{path::PathBuf, time::Duration};

use anyhow::{Context as _, Result};
use clap::Args;
use inference::{Parameters, party::Role};
use pfss::Party;
use runtime::{Choice, Domain};

use super::{LimitArgs, keys::RunKeys, report::PartyReport};
use crate::{
    files::{self, Named},
    output::OutputFile,
};

/// Run the server: hold the weights, learn nothing.
///
/// Prints its address once it listens, refuses anyone who is not the client of the same deal,
/// serves one run and ends. It shakes hands with many at once, so that strangers do not keep the
/// client out. With keys for many runs the first run opens the weights, and later ones take the
/// same weights.
#[derive(Args, Debug)]
pub(crate) struct ServeArgs {
    /// The folder `party1` of a deal; the run uses it up, or its next run of many.
    #[arg(long, value_name = "DIR")]
    keys: PathBuf,
    /// The weights, a safetensors file.
    #[arg(long, value_name = "FILE")]
    weights: PathBuf,
    /// Address to listen on; port 0 takes any free port.
    #[arg(long, value_name = "ADDRESS", value_parser = super::address, default_value = "127.0.0.1:0")]
    listen: String,
    /// Give up when the client has not come for this many seconds; if not given, keep waiting.
    #[arg(long, value_name = "SECONDS")]
    wait: Option<u32>,
    #[command(flatten)]
    limits: LimitArgs,
    /// Also write rounds, bytes and times as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Backend: cpu, gpu (= cuda), auto or sim.
    #[arg(long, value_name = "NAME")]
    backend: Option<Choice>,
}

impl ServeArgs {
    /// The files that it reads and writes.
    pub(crate) fn files(&self) -> Vec<Named<'_>> {
        let weights = Some(Named::read("--weights", &self.weights));
        let json = self.json.as_deref().map(|path| Named::written("--json", path));
        [weights, json].into_iter().flatten().collect()
    }
}

/// Runs the command.
pub(super) fn run(args: &ServeArgs) -> Result<()> {
    let (q, _) = runtime::open_for(Domain::Pfss, args.backend)?;
    let keys = RunKeys::open(&args.keys, Party::One)?;
    let (model, key_bytes, planned) = (keys.model().clone(), keys.key_bytes(), keys.traffic());
    let bytes = files::read(&args.weights).with_context(|| format!("reading {}", args.weights.display()))?;
    let weights = Parameters::read(&model, &bytes)?;
    let role = Role::Server(&weights);
    keys.check(role)?;
    let json = args.json.as_deref().map(OutputFile::begin).transpose()?;

    let patience = args.wait.map(|seconds| Duration::from_secs(seconds.into()));
    let channel = super::accept(&keys.endpoint(args.limits.limits()), &args.listen, patience)?;
    let done = keys.run(&q, channel, role, "serve")?;
    PartyReport::new(&model, Party::One, planned, key_bytes, &done).print(json)
}
