//! `trefoil pfss plan`: the cost of a model, without keys.

use std::{fmt::Write as _, path::PathBuf};

use anyhow::Result;
use clap::Args;
use comfy_table::{CellAlignment, Table, presets};
use inference::{
    InferenceError, Model, Preference,
    cost::{GateCost, LayerCost, ModelCost, PlannedModel, PublishedFigures, PublishedModel, Work},
    folder::DealPart,
};
use serde_json::json;

use super::model::{ModelArg, described};
use crate::{
    exit::UsageError,
    files::NamedFile,
    output::{OutputFile, print},
};

/// Inputs or sequences of the largest batch.
const MAX_COUNT: i64 = Model::MAX_COUNT as i64;
/// The most runs of a deal.
const MAX_RUNS: i64 = DealPart::MAX_RUNS as i64;

/// Compute the keys, messages and arithmetic of a model by layer and gate.
///
/// `digits`, `transformer` and model files are whole models: a run sends these bytes, and a folder
/// of keys holds them. `bert-tiny`, `bert-base`, `bert-large` and `gpt2` are shapes alone: their
/// layers, without embeddings and layers for results, for assumed limits on magnitudes. For one
/// sequence of 128 positions the published figures of other systems are shown next to them. Runs
/// on the host alone.
#[derive(Args, Debug)]
pub(crate) struct PlanArgs {
    /// The model: digits, transformer, bert-tiny, bert-base, bert-large or gpt2, or a model file.
    ///
    /// The name of a model file ends in `.json`.
    #[arg(long, value_name = "NAME")]
    model: ModelArg<PlannedModel>,
    /// Positions of a sequence, for a shape; 128 if not given.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    sequence: Option<u32>,
    /// Number of images or sequences of the run.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=MAX_COUNT))]
    count: u32,
    /// Number of runs on weights that are opened once, as `deal --runs` deals them.
    ///
    /// With more than one, the sums for all runs are shown as well.
    #[arg(long, value_name = "R", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=MAX_RUNS))]
    runs: u32,
    /// What to keep low by the choice of gates: rounds, bytes (of keys), or balanced for both.
    #[arg(long, value_name = "COST", default_value = "rounds")]
    prefer: Preference,
    /// Also write the table as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

impl PlanArgs {
    /// The files that it reads and writes.
    pub(crate) fn files(&self) -> Vec<NamedFile<'_>> {
        let model = match &self.model {
            ModelArg::Known(_) => None,
            ModelArg::File(path) => Some(NamedFile::read("--model", path)),
        };
        let json = self.json.as_deref().map(|path| NamedFile::written("--json", path));
        [model, json].into_iter().flatten().collect()
    }

    fn sequence(&self) -> u32 {
        self.sequence.unwrap_or(PublishedModel::PUBLISHED_SEQUENCE)
    }

    /// The published figures for this run.
    fn published(&self) -> Option<[PublishedFigures; 2]> {
        let is_published = self.sequence() == PublishedModel::PUBLISHED_SEQUENCE && self.count == 1;
        match &self.model {
            ModelArg::Known(PlannedModel::Published(model)) if is_published => Some(model.figures()),
            _ => None,
        }
    }
}

/// Runs the command.
pub(super) fn run(args: &PlanArgs) -> Result<()> {
    let json = args.json.as_deref().map(OutputFile::begin).transpose()?;
    let (cost, published) = (cost(args)?, args.published());
    let all_runs = (args.runs > 1).then(|| (args.runs, cost.total().of_runs(args.runs)));
    print(&text(&cost, all_runs, published.as_ref())?)?;
    if let Some(json) = json {
        let all_runs = all_runs.map(|(runs, total)| json!({"runs": runs, "total": total}));
        let facts = json!({
            "cost": cost,
            "total": cost.total(),
            "key_memory_bytes": cost.key_memory_bytes(),
            "all_runs": all_runs,
            "published": published,
        });
        json.finish(&serde_json::to_vec_pretty(&facts)?)?;
    }
    Ok(())
}

fn cost(args: &PlanArgs) -> Result<ModelCost> {
    let count = args.count as usize;
    let planned = match &args.model {
        ModelArg::Known(planned) => planned.clone(),
        ModelArg::File(path) => PlannedModel::Runs(described(path)?),
    };
    match planned {
        PlannedModel::Runs(model) if args.sequence.is_some() => {
            Err(UsageError(format!("`--sequence`: the inputs of `{model}` have a fixed length")).into())
        }
        PlannedModel::Runs(model) => Ok(ModelCost::of_model(&Model::new(model, count)?.preferring(args.prefer))?),
        PlannedModel::Published(model) => {
            model.cost(args.sequence(), count, args.prefer).map_err(|error| match error {
                InferenceError::Shape { .. } => UsageError(format!("`--sequence`: {error}")).into(),
                InferenceError::Count { .. } => UsageError(format!("`--count`: {error}")).into(),
                other => other.into(),
            })
        }
    }
}

/// The costs of one layer of each kind, of all layers and of all runs, and published figures.
fn text(cost: &ModelCost, all_runs: Option<(u32, Work)>, published: Option<&[PublishedFigures; 2]>) -> Result<String> {
    let mut text = format!("{}\n", cost.title);
    for layer in &cost.layers {
        writeln!(text, "\n{}", layer_table(layer))?;
    }
    let total = cost.total();
    writeln!(text)?;
    write_sums(&mut text, &total)?;
    let [zero, one] = cost.key_memory_bytes().map(gigabytes);
    writeln!(text, "a run has at most {zero:.3} GB of party 0's keys in memory at once, {one:.3} GB of party 1's")?;
    if let Some((runs, total)) = all_runs {
        writeln!(text, "\n{runs} runs on weights that are opened once:")?;
        write_sums(&mut text, &total)?;
    }
    if let Some(published) = published {
        writeln!(text, "\npublished for the whole model ({}):", PublishedModel::SOURCE)?;
        for PublishedFigures { system, key_gigabytes, sent_gigabytes, rounds } in published {
            writeln!(text, "{system}: {key_gigabytes} GB of keys, {sent_gigabytes} GB sent, {rounds} rounds")?;
        }
    }
    Ok(text)
}

/// Writes sums of keys, messages and arithmetic.
fn write_sums(text: &mut String, total: &Work) -> Result<()> {
    let [keys, sent] = [total.key_bytes, total.sent_bytes].map(|bytes| bytes.map(gigabytes));
    writeln!(text, "party 0: {:.3} GB of keys, {:.3} GB sent", keys[0], sent[0])?;
    writeln!(text, "party 1: {:.3} GB of keys, {:.3} GB sent", keys[1], sent[1])?;
    writeln!(text, "{:.3} GB of these open weights, once for all runs", gigabytes(total.weight_bytes))?;
    writeln!(text, "{} rounds, {} AES blocks, {} products", total.rounds, total.aes_blocks, total.multiplications)?;
    Ok(())
}

/// The gates of one layer, then the sums of one and of all equal ones.
fn layer_table(layer: &LayerCost) -> Table {
    let LayerCost { name, count, gates, .. } = layer;
    let head =
        ["step", "gate", "elements", "keys 0, B", "keys 1, B", "sent 0, B", "sent 1, B", "rounds", "AES", "products"];
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(head);
    for GateCost { step, gate, elements, work } in gates {
        table.add_row(row([step.clone(), gate.clone(), elements.to_string()], work));
    }
    let one = layer.work();
    table.add_row(row([name.clone(), String::new(), String::new()], &one));
    if *count > 1 {
        table.add_row(row([format!("{count} times"), String::new(), String::new()], &one.times(*count)));
    }
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

fn row(names: [String; 3], work: &Work) -> Vec<String> {
    let Work { key_bytes, sent_bytes, rounds, aes_blocks, multiplications, .. } = *work;
    let numbers = [key_bytes[0], key_bytes[1], sent_bytes[0], sent_bytes[1], rounds, aes_blocks, multiplications];
    names.into_iter().chain(numbers.map(|number| number.to_string())).collect()
}

fn gigabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e9
}
