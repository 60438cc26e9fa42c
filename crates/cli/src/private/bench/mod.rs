//! `trefoil pfss bench`: a private run of both parties in this process, next to its plan.

mod clock;
mod model;
mod parties;
mod report;

use std::path::PathBuf;

use anyhow::{Result, ensure};
use backend_api::Fork as _;
use clap::Args;
use inference::{
    Model, Preference,
    cost::{ModelCost, PlannedModel},
};
use pfss::{Dealer, Party};
use runtime::{Choice, Domain};

use self::{
    model::BenchModel,
    parties::{run_both, walk_rate},
    report::BenchReport,
};
use super::{advance, model::ModelArg, steps_bar};
use crate::{
    files::NamedFile,
    output::{OutputFile, print},
};

/// Inputs of the largest batch.
const MAX_COUNT: i64 = Model::MAX_COUNT as i64;

/// Measure a private run of both parties in this process, next to its plan.
///
/// Deals keys, runs both parties at once on zeros, and shows where the client's time goes: in PFSS
/// evaluation, in products of matrices, in copies and allocations of its queue, and waiting for the
/// server. The rest is arithmetic on the host. Bytes and rounds have to equal the plan's. The
/// ideal time counts the AES blocks alone, at the rate that walks of a ReLU reach at the start.
/// Both parties share the processor, and their keys are in memory. `digits`, `transformer` and
/// model files are run whole; of `bert-tiny`, `bert-base`, `bert-large` and `gpt2` one layer is.
/// With --profile the calls of the run are not in the profile.
#[derive(Args, Debug)]
pub(crate) struct PfssBenchArgs {
    /// Show each step, and the planned part of each of its gates.
    #[arg(long)]
    layer: bool,
    /// The model: digits, transformer, bert-tiny, bert-base, bert-large or gpt2, or a model file.
    ///
    /// The name of a model file ends in `.json`.
    #[arg(long, value_name = "NAME", default_value = "transformer")]
    model: ModelArg<PlannedModel>,
    /// Positions of a sequence, for a shape; 128 if not given.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    sequence: Option<u32>,
    /// Number of images or sequences of the run.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=MAX_COUNT))]
    count: u32,
    /// What to keep low by the choice of gates: rounds, bytes (of keys), or balanced for both.
    #[arg(long, value_name = "COST", default_value = "rounds")]
    prefer: Preference,
    /// Also write all measurements as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Backend: cpu, gpu (= cuda), auto or sim.
    #[arg(long, value_name = "NAME")]
    backend: Option<Choice>,
}

impl PfssBenchArgs {
    /// The files that it reads and writes.
    pub(crate) fn files(&self) -> Vec<NamedFile<'_>> {
        let model = match &self.model {
            ModelArg::Known(_) => None,
            ModelArg::File(path) => Some(NamedFile::read("--model", path)),
        };
        let json = self.json.as_deref().map(|path| NamedFile::written("--json", path));
        [model, json].into_iter().flatten().collect()
    }
}

/// Runs the command.
pub(super) fn run(args: &PfssBenchArgs) -> Result<()> {
    let (q, status) = runtime::open_for(Domain::Pfss, args.backend)?;
    let other = q.fork()?;
    let queues = [q, other];
    let json = args.json.as_deref().map(OutputFile::begin).transpose()?;
    let BenchModel { model, layers } = BenchModel::new(&args.model, args.sequence, args.count)?;
    let model = model.preferring(args.prefer);
    let (plan, cost) = (model.plan()?, ModelCost::of_model(&model)?);

    // The rate of walks, the keys, the run.
    let rate = walk_rate(&queues)?;
    let bar = steps_bar(2 * plan.steps().len() + 1, "deal and run")?;
    let keys = plan.deal(&queues[0], &mut Dealer::from_os()?, |step| advance(&bar, step))?;
    let measured = run_both(&queues, &model, keys, |step| advance(&bar, step))?;
    bar.finish_and_clear();

    // A run that sent anything else is not the one that was planned.
    for (party, measured) in Party::BOTH.into_iter().zip(&measured) {
        let (expected, got) = (plan.traffic(party), measured.traffic);
        ensure!(expected == got, "expected the traffic {expected:?} of {party} (from the plan), got {got:?}");
    }
    let report = BenchReport::new(&cost, status.active, layers, rate, &measured);
    print(&report.text(args.layer)?)?;
    if let Some(json) = json {
        json.finish(&serde_json::to_vec_pretty(&report)?)?;
    }
    Ok(())
}
