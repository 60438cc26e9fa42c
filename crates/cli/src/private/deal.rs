//! `trefoil pfss deal`: keys for runs of a model.

use std::{
    io::{self, Write as _},
    path::PathBuf,
};

use anyhow::Result;
use backend_api::ops::fss::FssOps;
use clap::Args;
use inference::{
    Architecture, Model, Preference,
    cost::{ModelCost, folder_bytes, run_folder_bytes},
    folder::{self, DealPart, KeyFolder, Manifest, RunsFolder},
};
use pfss::Party;
use runtime::{Choice, Domain};

use super::{
    advance, expect_planned_keys,
    kind::folder_of,
    model::{ModelArg, described},
    steps_bar,
};

/// Inputs of the largest batch.
const MAX_COUNT: i64 = Model::MAX_COUNT as i64;
/// The most runs of a deal.
const MAX_RUNS: i64 = DealPart::MAX_RUNS as i64;

/// Make keys for one run or many, a folder for each party. Both must trust whoever runs this.
///
/// Prints the digest of each folder, which `verify` prints again: if it reaches a party by a
/// different route than the folder, it shows whether the folder was changed.
#[derive(Args, Debug)]
pub(crate) struct DealArgs {
    /// The network: digits or transformer, or a model file whose name ends in `.json`.
    ///
    /// A model file goes into both folders, so that `serve` and `infer` read it from there.
    #[arg(long, value_name = "NAME", default_value = "digits")]
    model: ModelArg<Architecture>,
    /// Number of images to classify in a run, or of other inputs.
    #[arg(long, value_name = "N", default_value_t = 360, value_parser = clap::value_parser!(u32).range(1..=MAX_COUNT))]
    count: u32,
    /// Number of runs.
    ///
    /// With more than one, the first run opens the weights under masks, and later runs do not send
    /// them again. Each party then has one folder for all runs, and each run uses up the next.
    #[arg(long, value_name = "R", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=MAX_RUNS))]
    runs: u32,
    /// What to keep low by the choice of gates: rounds, bytes (of keys), or balanced for both.
    ///
    /// With `bytes` GeLU and softmax are evaluated by table: their keys take fewer bytes, but each
    /// takes five rounds more and sends more. `balanced` saves rounds elsewhere in place of these,
    /// by larger keys where a row has one. Both parties read the choice from their folders.
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
    let architecture = match &args.model {
        ModelArg::Known(architecture) => architecture.clone(),
        ModelArg::File(path) => described(path)?,
    };
    let model = Model::new(architecture, args.count as usize)?.preferring(args.prefer);
    super::before_dealing(&args.out)?;
    let work = ModelCost::of_model(&model)?.total();
    if args.runs == 1 {
        let digests = deal_run(&q, &model, args)?;
        return report(args, work.key_bytes, digests);
    }
    let digests = deal_runs(&q, &model, args)?;
    report(args, work.of_runs(args.runs).key_bytes, digests)
}

/// A party's dealt folder.
struct DealtFolder {
    /// Bytes of its files of keys.
    bytes: u64,
    digest: String,
}

/// Deals the keys of a single run, and compares their size with the plan.
fn deal_run<Q: FssOps>(q: &Q, model: &Model, args: &DealArgs) -> Result<[DealtFolder; 2]> {
    let plan = model.plan()?;
    let bar = steps_bar(plan.steps().len(), "deal keys")?;
    let manifests = folder::deal(q, model, &args.out, |step| advance(&bar, step))?;
    bar.finish_and_clear();
    let [zero, one] = Party::BOTH.map(|party| {
        let bytes = key_bytes(&manifests[party.index()]);
        expect_planned_keys(&folder_bytes(&plan, party), party, bytes)?;
        Ok::<_, anyhow::Error>(DealtFolder { bytes, digest: KeyFolder::digest(&folder_of(&args.out, party))? })
    });
    Ok([zero?, one?])
}

/// Deals the keys of many runs, and compares their size with the plan.
fn deal_runs<Q: FssOps>(q: &Q, model: &Model, args: &DealArgs) -> Result<[DealtFolder; 2]> {
    let plan = model.opened_plan()?;
    let steps = 1 + args.runs as usize * (1 + plan.others().steps().len());
    let bar = steps_bar(steps, "deal keys")?;
    let manifests = folder::deal_runs(q, model, args.runs, &args.out, |step| advance(&bar, step))?;
    bar.finish_and_clear();
    let [zero, one] = Party::BOTH.map(|party| {
        let planned = run_folder_bytes(&plan, party);
        let all = &manifests[party.index()];
        // the first manifest is of the keys of the weights
        all.iter().skip(1).try_for_each(|run| expect_planned_keys(&planned, party, key_bytes(run)))?;
        let digest = RunsFolder::digest(&folder_of(&args.out, party))?;
        Ok::<_, anyhow::Error>(DealtFolder { bytes: all.iter().map(key_bytes).sum(), digest })
    });
    Ok([zero?, one?])
}

/// Bytes of the files of keys in a folder.
fn key_bytes(manifest: &Manifest) -> u64 {
    manifest.keys.iter().map(|key| key.bytes).sum()
}

/// Prints the size and the digest of each party's folder.
fn report(args: &DealArgs, planned: [u64; 2], folders: [DealtFolder; 2]) -> Result<()> {
    let mut out = io::stdout().lock();
    let parties = [(Party::Zero, "client"), (Party::One, "server")];
    for (((party, to), keys), DealtFolder { bytes, digest }) in parties.into_iter().zip(planned).zip(folders) {
        let (folder, size) = (folder_of(&args.out, party), bytes >> 10);
        let shown = folder.display();
        writeln!(out, "{shown}  {size} KiB for the {to} alone, {keys} bytes of keys; digest {digest}")?;
    }
    Ok(())
}
