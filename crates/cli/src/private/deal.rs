use std::{
    io::{self, Write as _},
    path::PathBuf,
};

use anyhow::Result;
use clap::Args;
use inference::{Architecture, Model, folder};
use runtime::{Choice, Domain};

/// Make keys for one run, a folder for each party. Whoever runs this must be trusted by both.
#[derive(Args, Debug)]
pub(crate) struct DealArgs {
    /// The network: digits or transformer.
    #[arg(long, value_name = "NAME", default_value = "digits")]
    model: Architecture,
    /// Number of images to classify in the run.
    #[arg(long, value_name = "N", default_value_t = 360)]
    count: usize,
    /// Folder to make, with `party0` for the client and `party1` for the server in it.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Backend: cpu, gpu (= cuda), auto or sim.
    #[arg(long, value_name = "NAME")]
    backend: Option<Choice>,
}

/// Runs the command.
pub(super) fn run(args: &DealArgs) -> Result<()> {
    let (q, _) = runtime::open_for(Domain::Pfss, args.backend)?;
    let model = Model::new(args.model, args.count)?;
    let bar = super::bar(&model.plan()?, 0, "deal keys")?;
    let manifests = folder::deal(&q, &model, &args.out, |step| super::advance(&bar, step))?;
    bar.finish_and_clear();
    let mut out = io::stdout().lock();
    for (manifest, to) in manifests.iter().zip(["client", "server"]) {
        let bytes: u64 = manifest.keys.iter().map(|key| key.bytes).sum();
        let folder = args.out.join(format!("party{}", manifest.party));
        writeln!(out, "{}  {} KiB of keys, for the {to} alone", folder.display(), bytes >> 10)?;
    }
    Ok(())
}
