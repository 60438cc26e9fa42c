//! `trefoil pfss serve`: the server of private inference.

use std::{path::PathBuf, time::Duration};

use anyhow::{Context as _, Result};
use clap::Args;
use inference::{
    Parameters,
    party::{self, Role},
};
use pfss::Party;
use runtime::{Choice, Domain};

use super::{LimitArgs, kind::KeyPathKind, report::PartyReport};
use crate::{
    files::{self, Named},
    output::OutputFile,
};

/// Run the server: hold the weights, learn nothing.
///
/// Prints its address once it listens, refuses anyone who is not the client of the same deal,
/// serves one run and ends. It shakes hands with many at once, so that strangers do not keep the
/// client out.
#[derive(Args, Debug)]
pub(crate) struct ServeArgs {
    /// The folder `party1` of a deal; used up by the run.
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
    KeyPathKind::Model.expect(&args.keys)?;
    let folder = super::open(&args.keys, Party::One)?;
    let (model, key_bytes) = (folder.model().clone(), folder.key_bytes());
    let bytes = files::read(&args.weights).with_context(|| format!("reading {}", args.weights.display()))?;
    let weights = Parameters::read(&model, &bytes)?;
    let (plan, role) = (model.plan()?, Role::Server(&weights));
    super::expect_planned_keys(&plan, Party::One, key_bytes)?;
    let json = args.json.as_deref().map(OutputFile::begin).transpose()?;

    let patience = args.wait.map(|seconds| Duration::from_secs(seconds.into()));
    let channel = super::accept(&folder.endpoint(args.limits.limits()), &args.listen, patience)?;
    let keys = folder.consume(role)?;
    let bar = super::bar(&plan, 1, "serve")?;
    let done = party::run(&q, &model, keys, channel, role, |step| super::advance(&bar, step))?;
    bar.finish_and_clear();
    PartyReport::new(&model, &plan, Party::One, key_bytes, &done).print(json)
}
