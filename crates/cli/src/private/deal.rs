//! `trefoil pfss deal`: keys for one run of a model.

use std::{
    io::{self, Write as _},
    path::PathBuf,
};

use anyhow::Result;
use clap::Args;
use inference::{
    Architecture, Model, Preference,
    cost::ModelCost,
    folder::{self, KeyFolder},
};
use pfss::Party;
use runtime::{Choice, Domain};

/// Images of the largest batch.
const MAX_COUNT: i64 = Model::MAX_COUNT as i64;

/// Make keys for one run, in a folder for each party. Both must trust whoever runs this.
///
/// Prints the digest of each folder, which `verify` prints again: if it reaches a party by a
/// different route than the folder, it shows whether the folder was changed.
#[derive(Args, Debug)]
pub(crate) struct DealArgs {
    /// The network: digits or transformer.
    #[arg(long, value_name = "NAME", default_value = "digits")]
    model: Architecture,
    /// Number of images to classify in the run.
    #[arg(long, value_name = "N", default_value_t = 360, value_parser = clap::value_parser!(u32).range(1..=MAX_COUNT))]
    count: u32,
    /// What to keep low by the choice of gates: rounds, or bytes of keys.
    ///
    /// With `bytes` GeLU and softmax are evaluated by table: their keys take fewer bytes, but each
    /// takes five rounds more and sends more. Both parties read the choice from their folders.
    #[arg(long, value_name = "COST", default_value = "rounds")]
    prefer: Preference,
    /// Folder to make, with `party0` in it for the client and `party1` for the server.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Backend: cpu, gpu (= cuda), auto or sim.
    #[arg(long, value_name = "NAME")]
    backend: Option<Choice>,
}

/// Runs the command.
pub(super) fn run(args: &DealArgs) -> Result<()> {
    let (q, _) = runtime::open_for(Domain::Pfss, args.backend)?;
    let model = Model::new(args.model, args.count as usize)?.preferring(args.prefer);
    super::before_dealing(&args.out)?;
    let (plan, planned) = (model.plan()?, ModelCost::of_model(&model)?.total().key_bytes);
    let bar = super::bar(&plan, 0, "deal keys")?;
    let manifests = folder::deal(&q, &model, &args.out, |step| super::advance(&bar, step))?;
    bar.finish_and_clear();
    let mut out = io::stdout().lock();
    for ((manifest, party), to) in manifests.iter().zip(Party::BOTH).zip(["client", "server"]) {
        let bytes: u64 = manifest.keys.iter().map(|key| key.bytes).sum();
        super::expect_planned_keys(&plan, party, bytes)?;
        let folder = args.out.join(format!("party{}", manifest.party));
        let (digest, keys) = (KeyFolder::digest(&folder)?, planned[party.index()]);
        let shown = folder.display();
        writeln!(out, "{shown}  {} KiB for the {to} alone, {keys} bytes of keys; digest {digest}", bytes >> 10)?;
    }
    Ok(())
}
