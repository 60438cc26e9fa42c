//! `trefoil nn rollout`.

use std::{fmt::Write as _, path::PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use backend_api::Queue as _;
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use nn_ops::{
    Annealing, GruColumns, GruInputs, GruMember, GruPlan, GruResults, Init, LossError, OptimizerConfig, RssmOperands,
    RssmPlan, RssmSpec, RssmSummary, RssmTensors, RssmTrainer, RssmTraining, Schedule, Tensor,
    io::{NpyArray, write_npy},
};
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng as _, SeedableRng as _},
};
use runtime::{AnyQueue, Choice, Domain};

use super::{array, held_out::HeldOut};
use crate::{
    exit::{UsageError, note},
    files::NamedFile,
    output::{OutputFile, print},
    queue::open,
    report::{self, Fan, Series},
};

/// The norm that gradients are held to.
const CLIP: f64 = 5.0;
/// Elements of the second part of the combined state.
const STOCHASTIC: usize = 8;

/// Forecast a training loss with an ensemble fitted to its history.
///
/// Each member is a gated recurrent unit with separate weights, trained on windows of the history
/// before the row to predict from. The predicted loss of a step is an input of the next step, and
/// the other features stay. The members' mean is the prediction. The last rows before it are held
/// out and predicted too: the largest of their errors is the distance of the bounds. Later rows of
/// the history are compared with the prediction.
#[derive(Args, Debug)]
pub(crate) struct RolloutArgs {
    /// The history of losses and features.
    ///
    /// A NumPy file of rows, or an archive of NumPy or safetensors with `history`. The first column
    /// is the loss, above 0; the others are features such as the rate. `trefoil nn train --history`
    /// writes one.
    #[arg(long, value_name = "FILE")]
    history: PathBuf,
    /// Rows to predict.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    steps: u32,
    /// The row to predict from [default: `--steps` rows before the last].
    ///
    /// The ensemble is fitted to the rows before it.
    #[arg(long, value_name = "ROW")]
    from: Option<usize>,
    /// Members of the ensemble.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=64))]
    members: u32,
    /// Units of a member's state.
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u32).range(8..=1024))]
    hidden: u32,
    /// Rows of a training window.
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=1024))]
    window: u32,
    /// Steps of training, of 16 windows each.
    #[arg(long, value_name = "N", default_value_t = 600, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    training: u32,
    /// Seed of the initial weights and of the windows.
    #[arg(long, value_name = "N", default_value_t = 7)]
    seed: u64,
    /// Write the predicted losses to FILE, a NumPy file `[members, steps + 1]` of f32.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write a report with the fan of predictions to FILE.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Backend: cpu, gpu (= cuda), auto or sim [default: TREFOIL_BACKEND, or else cpu].
    #[arg(long, value_name = "NAME")]
    backend: Option<Choice>,
}

impl RolloutArgs {
    /// The files that it reads and writes.
    pub(super) fn files(&self) -> Vec<NamedFile<'_>> {
        let written = [("--out", &self.out), ("--html", &self.html)];
        let written = written.into_iter().filter_map(|(by, path)| Some(NamedFile::written(by, path.as_deref()?)));
        [NamedFile::read("--history", &self.history)].into_iter().chain(written).collect()
    }
}

/// Losses and features, row by row.
struct RolloutHistory {
    features: usize,
    rows: Vec<f32>,
}

impl RolloutHistory {
    fn of_array(array: NpyArray<f32>) -> Result<Self> {
        let [count, features] = array::matrix(&array, "the history")?;
        ensure!(features > 0, "the history has no column: its shape is {:?}", array.shape);
        for (row, values) in array.data.chunks_exact(features).enumerate() {
            if let Some(value) = values.iter().find(|value| !value.is_finite()) {
                bail!("row {row} of {count} holds {value}, expected finite numbers");
            }
            ensure!(values[0] > 0.0, "the loss of row {row} is {}, expected more than 0", values[0]);
        }
        Ok(Self { features, rows: array.data })
    }

    fn count(&self) -> usize {
        self.rows.len() / self.features
    }

    fn row(&self, row: usize) -> &[f32] {
        &self.rows[row * self.features..][..self.features]
    }

    fn loss(&self, row: usize) -> f32 {
        self.row(row)[0]
    }
}

/// An ensemble, its training data, and the row that it predicts from.
struct Ensemble<'a> {
    q: &'a AnyQueue,
    args: &'a RolloutArgs,
    history: &'a RolloutHistory,
    from: usize,
    /// The last row that is learned.
    learned: usize,
    trainer: RssmTrainer<AnyQueue>,
}

/// Windows of a training step.
const BATCH: usize = 16;

/// The most predictions from rows that are held out.
const HELD_OUT: usize = 64;

impl<'a> Ensemble<'a> {
    fn new(q: &'a AnyQueue, args: &'a RolloutArgs, history: &'a RolloutHistory) -> Result<Self> {
        let (count, steps, window) = (history.count(), args.steps as usize, args.window as usize);
        let from = args.from.unwrap_or(count.saturating_sub(1 + steps));
        if from >= count {
            return Err(
                UsageError(format!("`--from` is {from}, expected less than {count}, the rows of the history")).into()
            );
        }
        // a window and the loss after it
        if from <= window {
            return Err(UsageError(format!(
                "{from} rows come before the one to predict from, expected more than a window of {window} (`--window`)"
            ))
            .into());
        }
        // Twice the predicted rows are held out: the last step is then compared `steps` times.
        let learned = from - steps.saturating_mul(2).min((from - window) / 2);
        let (input, hidden) = (history.features, args.hidden as usize);
        let member = |member: u32| {
            let drawn = |shape: [usize; 2], site: u32| Init::Glorot.values(&shape, args.seed, 3 * member + site);
            let (w, u) = (drawn([input, 3 * hidden], 0)?, drawn([hidden, 3 * hidden], 1)?);
            Ok(GruMember::new(input, hidden, GruColumns { w, u, b: vec![0.0; 3 * hidden], bu: None })?)
        };
        let members = (0..args.members).map(member).collect::<Result<Vec<_>>>()?;
        let head = Init::Glorot.values(&[hidden + STOCHASTIC, 1], args.seed, 2)?;
        // losses differ by orders of magnitude, and small ones count as much
        let error = LossError::OfLogarithms;
        let training =
            RssmTraining { batch: BATCH, steps: window, stochastic: STOCHASTIC, error, ..RssmTraining::default() };
        let annealing = Annealing::Cosine { steps: args.training.into(), least: 0.0 };
        let schedule = Schedule { rate: 0.01, warmup: 20, annealing };
        let optimizer = OptimizerConfig { schedule, clip: Some(CLIP), ..OptimizerConfig::adam(0.01) };
        let trainer = RssmTrainer::new(q, &members, &head, training, optimizer)?;
        Ok(Self { q, args, history, from, learned, trainer })
    }

    /// Trains on the windows up to the last row to learn.
    ///
    /// Returns the mean squared error of the losses' logarithms in each step.
    fn train(&mut self, bar: &ProgressBar) -> Result<Vec<f64>> {
        let window = self.args.window as usize;
        let mut random = ChaCha8Rng::seed_from_u64(self.args.seed);
        let mut errors = Vec::new();
        for _ in 0..self.args.training {
            let starts: Vec<usize> =
                (0..BATCH).map(|_| (random.next_u64() % (self.learned + 1 - window) as u64) as usize).collect();
            let steps = || (0..window).flat_map(|step| starts.iter().map(move |start| start + step));
            let x: Vec<f32> = steps().flat_map(|row| self.history.row(row)).copied().collect();
            let targets: Vec<f32> = steps().map(|row| self.history.loss(row + 1)).collect();
            let x = Tensor::from_values(self.q, &[window, BATCH, self.history.features], &x)?;
            let targets = Tensor::from_values(self.q, &[window, BATCH], &targets)?;
            self.trainer.step(self.q, x.at(), targets.at())?;
            let of_members = self.trainer.errors(self.q)?;
            errors.push(of_members.iter().sum::<f64>() / of_members.len() as f64);
            bar.inc(1);
            bar.set_message(format!("error of logarithms {:.4}", errors[errors.len() - 1].sqrt()));
        }
        Ok(errors)
    }

    /// Predicts losses from each of these rows.
    ///
    /// Returns the losses of each member, `[members, rows, steps + 1]`, and the summaries over the
    /// members.
    fn predict(&self, from: &[usize]) -> Result<(Vec<f32>, Vec<RssmSummary>)> {
        let (q, weights, features) = (self.q, self.trainer.weights(), self.history.features);
        let (members, hidden, batch) = (weights.count(), weights.hidden(), from.len());
        let (window, steps) = (self.args.window as usize, self.args.steps as usize);
        // the rows before, which determine the states
        let before = (0..window).flat_map(|step| from.iter().map(move |from| from - window + step));
        let before: Vec<f32> = before.flat_map(|row| self.history.row(row)).copied().collect();
        let before = Tensor::from_values(q, &[window, batch, features], &before)?;
        let mut states = Tensor::alloc(q, &[members, batch, hidden])?;
        let results = GruResults { states: None, last: states.at_mut(), saved: None };
        GruPlan::new(weights, batch, window, GruInputs::Sequence)?.forward(q, weights, before.at(), None, results)?;

        let spec = RssmSpec { batch, steps, stochastic: STOCHASTIC, ..RssmSpec::default() };
        let now: Vec<f32> = from.iter().flat_map(|&row| self.history.row(row)).copied().collect();
        let now = Tensor::from_values(q, &[batch, features], &now)?;
        let losses: Vec<f32> = from.iter().map(|&row| self.history.loss(row)).collect();
        let loss = Tensor::from_values(q, &[members, batch], &losses.repeat(members))?;
        let plan = RssmPlan::new(weights, spec)?;
        let mut results = RssmTensors::new(q, &plan)?;
        let head = self.trainer.head()?;
        let operands = RssmOperands { features: now.at(), first: states.at(), losses: loss.at() };
        plan.run(q, weights, head, operands, results.at_mut())?;
        let (trajectory, entropy) = (results.trajectory.values(q)?, results.entropy.values(q)?);
        let summaries = RssmSummary::of_rows(members, steps, &trajectory, &entropy)?;
        Ok((trajectory, summaries))
    }

    /// Predictions of the rows that were held out, compared with them.
    fn held_out(&self) -> Result<Option<HeldOut>> {
        let held_out = self.from - self.learned;
        let starts: Vec<usize> = (self.learned..self.from).step_by(held_out.div_ceil(HELD_OUT).max(1)).collect();
        if starts.is_empty() {
            return Ok(None);
        }
        let means: Vec<_> = self.predict(&starts)?.1.into_iter().map(|summary| summary.mean).collect();
        let losses: Vec<f64> = (0..=self.from).map(|row| self.history.loss(row).into()).collect();
        Ok(HeldOut::compare(&starts, &means, &losses))
    }
}

/// Runs the command.
pub(crate) fn run(args: &RolloutArgs) -> Result<()> {
    let begin = |path: &Option<PathBuf>| path.as_deref().map(OutputFile::begin_public).transpose();
    let (out, html) = (begin(&args.out)?, begin(&args.html)?);
    let tell = if [&out, &html].into_iter().flatten().any(OutputFile::is_stdout) { note } else { print };
    let history = RolloutHistory::of_array(array::numbers(&args.history, "history")?).context("the history")?;
    let q = open(Domain::Nn, args.backend)?;
    let mut ensemble = Ensemble::new(&q, args, &history)?;

    let style = ProgressStyle::with_template("{prefix:8} {bar:32} {pos}/{len} {msg}")?;
    let bar = ProgressBar::new(args.training.into()).with_style(style).with_prefix("training");
    let errors = ensemble.train(&bar)?;
    bar.finish_and_clear();
    let held_out = ensemble.held_out()?;
    let (trajectory, summaries) = ensemble.predict(&[ensemble.from])?;
    let steps = args.steps as usize;
    let summary = summaries.into_iter().next().context("a prediction of one row")?;
    let predicted = Predicted::new(summary, held_out);
    if let Some(out) = out {
        let shape = vec![args.members as usize, steps + 1];
        out.finish(&write_npy(&NpyArray { shape, data: trajectory.clone() })?)?;
    }

    let from = ensemble.from;
    let actual: Vec<f64> =
        (from..history.count().min(from + steps + 1)).map(|row| f64::from(history.loss(row))).collect();
    let facts = facts(&q, args, &ensemble, &predicted, &actual, &errors);
    let mut text = report::listed(&facts, 26);
    let table = predicted.table(from, &actual);
    for row in [&table.head].into_iter().chain(&table.rows) {
        let cells: Vec<String> = row.iter().map(|cell| format!("{cell:>10}")).collect();
        writeln!(text, "{}", cells.join(" "))?;
    }
    tell(&text)?;
    let Some(html) = html else { return Ok(()) };
    let pictures = vec![predicted.fan(&history, from, &trajectory)?, curve(&errors)?];
    let section = report::ReportSection { heading: "Prediction".to_owned(), facts, pictures, table: Some(table) };
    let page = report::Page {
        title: "Trefoil: forecast of a training loss".to_owned(),
        lead: predicted.lead().to_owned(),
        sections: vec![section],
    };
    html.finish(page.to_html().as_bytes())
}

/// The members' joint prediction after each step.
struct Predicted {
    mean: Vec<f64>,
    bounds: Vec<[f64; 2]>,
    held_out: Option<HeldOut>,
}

impl Predicted {
    /// Where no row was held out, the bounds are twice the members' uncertainty.
    fn new(summary: RssmSummary, held_out: Option<HeldOut>) -> Self {
        let RssmSummary { mean, bounds, .. } = summary;
        let bounds = held_out.as_ref().map_or(bounds, |held_out| held_out.bounds(&mean));
        Self { mean, bounds, held_out }
    }

    const fn lead(&self) -> &'static str {
        match self.held_out {
            Some(_) => {
                "The area is as far from the prediction as losses were in rows that were predicted and not learned."
            }
            None => "The area is twice the members' uncertainty around their mean. There were too few rows to test it.",
        }
    }

    /// Counts the actual losses within the bounds.
    ///
    /// The row that the prediction begins with is left out.
    fn within(&self, actual: &[f64]) -> usize {
        let pairs = self.bounds.iter().zip(actual).skip(1);
        pairs.filter(|(bounds, loss)| (bounds[0]..=bounds[1]).contains(*loss)).count()
    }

    /// Root mean squared error over the known losses, without the starting row.
    fn error(&self, actual: &[f64]) -> Option<f64> {
        let squares = self.mean.iter().zip(actual).skip(1).map(|(mean, loss)| (mean - loss) * (mean - loss));
        let count = actual.len().checked_sub(1).filter(|&count| count > 0)?;
        Some((squares.sum::<f64>() / count as f64).sqrt())
    }

    fn table(&self, from: usize, actual: &[f64]) -> report::ReportTable {
        let row = |step: usize| {
            let [low, high] = self.bounds[step];
            let was = actual.get(step).map_or_else(String::new, |loss| format!("{loss:.4}"));
            let said = [self.mean[step], low, high].map(|value| format!("{value:.4}"));
            [(from + step).to_string()].into_iter().chain(said).chain([was]).collect()
        };
        let head = ["row", "predicted", "least", "most", "was"].map(str::to_owned).into();
        report::ReportTable { head, rows: (0..self.mean.len()).map(row).collect() }
    }

    /// Draws the prediction, with up to `3 * steps` rows of the history before it.
    fn fan(&self, history: &RolloutHistory, from: usize, trajectory: &[f32]) -> Result<String> {
        let steps = self.mean.len();
        let at = |step: usize| (from + step) as f64;
        let shown = from.saturating_sub(3 * steps)..history.count().min(from + steps);
        let member = |losses: &[f32]| losses.iter().enumerate().map(|(step, &loss)| (at(step), loss.into())).collect();
        let actual = shown.map(|row| (row as f64, history.loss(row).into())).collect();
        let fan = Fan {
            actual: Series { name: "loss".to_owned(), points: actual },
            members: trajectory.chunks_exact(steps).map(member).collect(),
            mean: Series {
                name: "predicted".to_owned(),
                points: self.mean.iter().enumerate().map(|(step, &mean)| (at(step), mean)).collect(),
            },
            bounds: self.bounds.iter().enumerate().map(|(step, &[low, high])| [at(step), low, high]).collect(),
        };
        report::fan("how the loss goes on", "row", "loss", &fan)
    }
}

fn facts(
    q: &AnyQueue,
    args: &RolloutArgs,
    ensemble: &Ensemble<'_>,
    predicted: &Predicted,
    actual: &[f64],
    errors: &[f64],
) -> Vec<(String, String)> {
    let caps = q.caps();
    let fact = |name: &str, value: String| (name.to_owned(), value);
    let RolloutArgs { members, hidden, training, seed, .. } = args;
    let mut facts = vec![
        fact("history", format!("{} rows, of which {} were learned", ensemble.history.count(), ensemble.learned + 1)),
        fact("ensemble", format!("{members} members of {hidden} units, seed {seed}")),
        fact(
            "training",
            format!(
                "{training} steps, root mean squared error of logarithms {:.4}",
                errors.last().map_or(0.0, |e| e.sqrt())
            ),
        ),
    ];
    let beside = |error: f64, of_staying: f64| {
        let verdict = if error < of_staying { "" } else { ": worse than a loss that stays" };
        format!("{error:.4}; of a loss that stays, {of_staying:.4}{verdict}")
    };
    match &predicted.held_out {
        None => facts.push(fact("bounds", "untested: no rows were held out".to_owned())),
        Some(held_out) => {
            let bounds = format!("the worst of {} predictions from rows that were not learned", held_out.predictions);
            let error = beside(held_out.error, held_out.of_staying);
            facts.extend([fact("bounds", bounds), fact("error of rows not learned", error)]);
        }
    }
    if let Some(error) = predicted.error(actual) {
        let unchanged = Predicted { mean: vec![actual[0]; actual.len()], bounds: Vec::new(), held_out: None };
        let of_staying = unchanged.error(actual).unwrap_or(0.0);
        facts.push(fact("error of prediction", beside(error, of_staying)));
        let known = actual.len() - 1;
        facts.push(fact("within the bounds", format!("{} of {known}", predicted.within(actual))));
    }
    facts.push(fact("device", format!("{} ({}, {} threads)", caps.device, caps.path, caps.threads)));
    facts
}

fn curve(errors: &[f64]) -> Result<String> {
    let points = errors.iter().enumerate().map(|(step, error)| (step as f64 + 1.0, error.sqrt())).collect();
    let series = [Series { name: "windows to learn".to_owned(), points }];
    report::lines("error while training", "step", "of logarithms, root mean squared", &series)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(data: Vec<f32>) -> Result<RolloutHistory> {
        RolloutHistory::of_array(NpyArray { shape: vec![data.len() / 2, 2], data })
    }

    #[test]
    fn histories_without_losses_are_refused_by_their_row() {
        let refused = |data: Vec<f32>| format!("{:#}", history(data).err().unwrap());
        assert!(refused(vec![1.0, 0.0, 0.0, 1.0]).contains("row 1 is 0"));
        assert!(refused(vec![1.0, f32::NAN]).contains("row 0 of 1 holds NaN"));
        assert_eq!(history(vec![1.0, 0.0, 2.0, 0.5]).unwrap().row(1), [2.0, 0.5]);
    }

    #[test]
    fn members_are_summed_up_after_every_step() {
        // two members, two steps
        let summary = |rows: &[f32]| RssmSummary::of_rows(2, 2, rows, &[0.0, 0.0]).unwrap().remove(0);
        let predicted = Predicted::new(summary(&[1.0, 2.0, 3.0, 1.0, 2.0, 5.0]), None);
        assert_eq!(predicted.mean, [1.0, 2.0, 4.0]);
        assert_eq!(predicted.bounds[..2], [[1.0, 1.0], [2.0, 2.0]]);
        let [low, high] = predicted.bounds[2];
        assert!(low < 2.0 && high > 6.0);
        assert_eq!(predicted.error(&[1.0, 2.0, 1.0]), Some((9.0f64 / 2.0).sqrt()));
        assert_eq!(predicted.error(&[1.0]), None);
        assert_eq!((predicted.within(&[1.0, 2.0, 4.0]), predicted.within(&[1.0, 2.5])), (2, 0));
        let held_out = HeldOut::compare(&[0], &[vec![1.0, 2.0, 1.0]], &[1.0, 1.0, 1.0]);
        let tested = Predicted::new(summary(&[1.0, 2.0, 3.0, 1.0, 2.0, 5.0]), held_out);
        assert!((tested.bounds[2][0] - 2.0).abs() < 1e-12 && (tested.bounds[2][1] - 8.0).abs() < 1e-12);
        assert_eq!(predicted.table(7, &[1.0]).rows[0], ["7", "1.0000", "1.0000", "1.0000", "1.0000"]);
    }
}
