//! `trefoil nn train`.

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use backend_api::{Buffer as _, Queue as _};
use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use nn_ops::{Annealing, Mlp, MlpTraining, OptimizerConfig, Schedule, TensorRef, WeightDecay, io::write_safetensors};
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng as _, SeedableRng as _},
};
use runtime::{AnyQueue, Choice, Domain};

use super::{
    data::{DataArgs, DatasetRows},
    history::TrainingHistory,
    model,
    saved::{SEPARATOR, TrainingFile},
};
use crate::{
    exit::{UsageError, note},
    files::NamedFile,
    output::{OutputFile, print},
    queue::open,
    report::{self, Series},
};

/// The most classes that a network is made for: a label beyond is rather a mistake.
const MOST_CLASSES: usize = 1 << 16;

/// Fit a perceptron to labelled rows, test it, and write it as safetensors.
///
/// The layers have ReLU between them; the loss is the cross-entropy of the softmax. The rate falls
/// to zero in a straight line over the epochs. The same arguments give the same network on every
/// run of one backend, also if the training is interrupted: with `--checkpoint` its state is saved
/// after every epoch, and the same command resumes it.
#[derive(Args, Debug)]
pub(crate) struct TrainArgs {
    #[command(flatten)]
    data: DataArgs,
    /// Units of each hidden layer.
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "64", value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    hidden: Vec<u32>,
    /// Passes over all rows.
    #[arg(long, value_name = "N", default_value_t = 80, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    epochs: u32,
    /// Rows per step.
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    batch: u32,
    /// The optimizer.
    #[arg(long, value_enum, default_value_t = OptimizerName::Sgd)]
    optimizer: OptimizerName,
    /// Initial learning rate [default: 0.05 for sgd, 0.002 for adam-w].
    #[arg(long, value_name = "X")]
    rate: Option<f64>,
    /// Momentum of sgd, in 0..1 [default: 0.9].
    #[arg(long, value_name = "X")]
    momentum: Option<f64>,
    /// Decay of weights, in units of the rate [default: 0 for sgd, 0.01 for adam-w].
    ///
    /// Biases do not decay.
    #[arg(long, value_name = "X")]
    decay: Option<f64>,
    /// Largest norm of the gradients; larger ones are scaled down [default: no limit].
    #[arg(long, value_name = "X")]
    clip: Option<f64>,
    /// Seed of the initial weights and of the order of the rows.
    #[arg(long, value_name = "N", default_value_t = 7)]
    seed: u64,
    /// Write the network to FILE.
    ///
    /// It has `layers.N.weight`, `[inputs, outputs]`, and `layers.N.bias` of each layer, f32.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Save the training to FILE after every epoch, and resume from FILE if it exists.
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,
    /// Write the loss history to FILE, for `trefoil nn rollout`.
    ///
    /// A NumPy file with a row of mean loss and rate for every ten steps.
    #[arg(long, value_name = "FILE")]
    history: Option<PathBuf>,
    /// Write a report with the curves of loss and accuracy to FILE.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Backend: cpu, gpu (= cuda), auto or sim [default: TREFOIL_BACKEND, or else cpu].
    #[arg(long, value_name = "NAME")]
    backend: Option<Choice>,
}

impl TrainArgs {
    /// The files that it reads and writes.
    pub(super) fn files(&self) -> Vec<NamedFile<'_>> {
        let others = [("--checkpoint", &self.checkpoint), ("--history", &self.history), ("--html", &self.html)];
        let others = others.into_iter().filter_map(|(by, path)| Some(NamedFile::written(by, path.as_deref()?)));
        self.data.files().into_iter().chain([NamedFile::written("--out", &self.out)]).chain(others).collect()
    }

    /// The optimizer's configuration for a training of this many steps.
    fn config(&self, steps: u64) -> Result<OptimizerConfig, UsageError> {
        let (rate, plain, decay) = match self.optimizer {
            OptimizerName::Sgd => {
                let (rate, momentum) = (self.rate.unwrap_or(0.05), self.momentum.unwrap_or(0.9));
                (rate, OptimizerConfig::sgd(rate, momentum), 0.0)
            }
            OptimizerName::AdamW if self.momentum.is_some() => {
                return Err(UsageError("`--momentum` requires `--optimizer sgd`".to_owned()));
            }
            OptimizerName::AdamW => {
                let rate = self.rate.unwrap_or(0.002);
                (rate, OptimizerConfig::adam_w(rate), 0.01)
            }
        };
        let decay = match self.decay.unwrap_or(decay) {
            0.0 => WeightDecay::None,
            decay => WeightDecay::Decoupled(decay),
        };
        let schedule = Schedule { rate, warmup: 0, annealing: Annealing::Linear { steps, least: 0.0 } };
        let config = OptimizerConfig { schedule, decay, clip: self.clip, ..plain };
        config.check().map_err(|error| UsageError(error.to_string()))?;
        Ok(config)
    }
}

/// A kind of step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum OptimizerName {
    /// Stochastic gradient descent with momentum.
    Sgd,
    /// Adam with decoupled weight decay.
    AdamW,
}

/// A network in training.
struct TrainingRun<'a> {
    q: &'a AnyQueue,
    args: &'a TrainArgs,
    train: DatasetRows,
    test: DatasetRows,
    network: Mlp<AnyQueue>,
    training: MlpTraining<AnyQueue>,
    history: TrainingHistory,
    /// The parameters of the training, which a resumed training must share.
    described: String,
    saved: Option<TrainingFile>,
}

impl<'a> TrainingRun<'a> {
    fn new(q: &'a AnyQueue, args: &'a TrainArgs, [train, test]: [DatasetRows; 2]) -> Result<Self> {
        let classes = train.classes().max(test.classes());
        ensure!(classes <= MOST_CLASSES, "expected labels below {MOST_CLASSES}, got {}", classes - 1);
        let hidden = args.hidden.iter().map(|&units| units as usize);
        let sizes: Vec<usize> = [train.features].into_iter().chain(hidden).chain([classes]).collect();
        let batch = args.batch as usize;
        let steps = u64::from(args.epochs) * train.count().div_ceil(batch) as u64;
        let (config, rows) = (args.config(steps)?, train.count().min(batch));
        let rows_of = [&train, &test].map(DatasetRows::digest);
        let described = [
            format!("layers {sizes:?}"),
            format!("rows {rows_of:?}"),
            format!("seed {}", args.seed),
            format!("epochs {}", args.epochs),
            format!("batch {}", args.batch),
            format!("optimizer {config:?}"),
        ]
        .join(SEPARATOR);
        let opened = args.checkpoint.as_deref().map(|path| TrainingFile::open(path, &described)).transpose()?;
        let (saved, found) = opened.unzip();
        let found = found.flatten();
        let resumes = found.is_some();
        let (network, training, history) = match found {
            Some((checkpoint, history)) => {
                let network = Mlp::resume(q, &checkpoint)?;
                let training = network.resume_training(q, rows, &checkpoint)?;
                (network, training, history)
            }
            None => {
                let network = Mlp::new(q, &sizes, &mut ChaCha8Rng::seed_from_u64(args.seed))?;
                let training = network.training(q, rows, config)?;
                (network, training, TrainingHistory::default())
            }
        };
        let mut new = Self { q, args, train, test, network, training, history, described, saved };
        if !resumes {
            // Whether the file can be written, and whether another training writes it, is known before any work.
            new.keep()?;
        }
        Ok(new)
    }

    /// Epochs that are done.
    fn done(&self) -> u32 {
        self.history.losses.len() as u32 // at most the number of epochs in the arguments
    }

    /// Keeps the state, if there is a file for it.
    fn keep(&mut self) -> Result<()> {
        let Some(saved) = &mut self.saved else { return Ok(()) };
        let checkpoint = self.network.save(self.q, &self.training)?;
        saved.write(checkpoint, &self.described, &self.history)
    }

    /// Sees every row once, and tests.
    fn epoch(&mut self, epoch: u32) -> Result<()> {
        let q = self.q;
        let mut random = ChaCha8Rng::seed_from_u64(self.args.seed);
        random.set_stream(1 + u64::from(epoch)); // 0 is the stream of the weights
        let rows = self.train.select(&shuffled(self.train.count(), &mut random));
        let batch = self.args.batch as usize;
        let loss = train_on(q, &mut self.network, &mut self.training, &rows, batch, |training, loss| {
            self.history.steps.push([loss, training.optimizer().state(q)?.rate as f32]);
            Ok(())
        })?;
        ensure!(loss.is_finite(), "the loss is {loss} in epoch {}: try a smaller `--rate`", epoch + 1);
        let predicted = model::classify(q, &self.network, &self.test)?;
        self.history.losses.push(loss);
        self.history.accuracies.push(model::accuracy(&predicted, &self.test.labels));
        Ok(())
    }
}

/// Takes a step for each batch of the rows in turn, and returns the mean loss.
///
/// `stepped` gets the loss of each batch after its step.
pub(crate) fn train_on(
    q: &AnyQueue,
    network: &mut Mlp<AnyQueue>,
    training: &mut MlpTraining<AnyQueue>,
    rows: &DatasetRows,
    batch: usize,
    mut stepped: impl FnMut(&MlpTraining<AnyQueue>, f32) -> Result<()>,
) -> Result<f64> {
    let (x, targets) = (q.upload(&rows.inputs)?, q.upload(&rows.labels)?);
    let (features, mut sum) = (rows.features, 0.0);
    for start in (0..rows.count()).step_by(batch) {
        let end = (start + batch).min(rows.count());
        let count = end - start;
        let x = TensorRef::contiguous(x.slice(start * features..end * features)?, &[count, features])?;
        let targets = TensorRef::contiguous(targets.slice(start..end)?, &[count])?;
        network.train_step(q, training, x, targets)?;
        let loss = training.loss(q)?;
        stepped(training, loss)?;
        sum += f64::from(loss) * count as f64;
    }
    Ok(sum / rows.count() as f64)
}

/// The numbers of rows in a random order (Fisher-Yates).
pub(crate) fn shuffled(count: usize, random: &mut ChaCha8Rng) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for i in (1..count).rev() {
        order.swap(i, (random.next_u64() % (i as u64 + 1)) as usize);
    }
    order
}

/// Runs the command.
pub(crate) fn run(args: &TrainArgs) -> Result<()> {
    let out = OutputFile::begin_public(&args.out)?;
    let begin = |path: &Option<PathBuf>| path.as_deref().map(OutputFile::begin_public).transpose();
    let (history, html) = (begin(&args.history)?, begin(&args.html)?);
    let tell = if [Some(&out), history.as_ref(), html.as_ref()].into_iter().flatten().any(OutputFile::is_stdout) {
        note
    } else {
        print
    };
    let q = open(Domain::Nn, args.backend)?;
    let mut training = TrainingRun::new(&q, args, args.data.load()?).context("setting up the network")?;

    let style = ProgressStyle::with_template("{prefix:8} {bar:32} {pos}/{len} {msg}")?;
    let bar = ProgressBar::new(args.epochs.into()).with_style(style).with_prefix("epochs");
    let start = Instant::now();
    bar.set_position(training.done().into());
    for epoch in training.done()..args.epochs {
        training.epoch(epoch)?;
        training.keep()?;
        bar.inc(1);
        let TrainingHistory { losses, accuracies, .. } = &training.history;
        if let (Some(loss), Some(accuracy)) = (losses.last(), accuracies.last()) {
            bar.set_message(format!("loss {loss:.4}, test accuracy {:.1} %", accuracy * 1e2));
        }
    }
    bar.finish_and_clear();
    let facts = facts(&training, start.elapsed());

    let names = model::names(args.hidden.len() + 1);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    out.finish(&write_safetensors(&training.network.tensors(&q, &names)?)?)?;
    history.map_or(Ok(()), |file| file.finish(&training.history.npy()?))?;
    tell(&report::listed(&facts, 14))?;
    html.map_or(Ok(()), |html| html.finish(page(&training.history, facts)?.to_html().as_bytes()))
}

fn facts(training: &TrainingRun<'_>, time: Duration) -> Vec<(String, String)> {
    let TrainingRun { q, args, train, test, network, history, .. } = training;
    let caps = q.caps();
    let fact = |name: &str, value: String| (name.to_owned(), value);
    let last = |values: &[f64]| values.last().copied().unwrap_or(f64::NAN);
    let sizes: Vec<String> = network.sizes().iter().map(ToString::to_string).collect();
    vec![
        fact("rows", format!("{} to train, {} to test", train.count(), test.count())),
        fact("network", format!("{}, seed {}", sizes.join("-"), args.seed)),
        fact("loss", format!("{:.4}", last(&history.losses))),
        fact("test accuracy", format!("{:.2} %", last(&history.accuracies) * 1e2)),
        fact("time", format!("{:.2} s", time.as_secs_f64())),
        fact("device", format!("{} ({}, {} threads)", caps.device, caps.path, caps.threads)),
    ]
}

fn page(history: &TrainingHistory, facts: Vec<(String, String)>) -> Result<report::Page> {
    let series = |name: &str, values: &[f64], scale: f64| {
        let points = values.iter().enumerate().map(|(epoch, value)| (epoch as f64 + 1.0, value * scale));
        [Series { name: name.to_owned(), points: points.collect() }]
    };
    let losses = series("rows to train", &history.losses, 1.0);
    let accuracies = series("rows to test", &history.accuracies, 1e2);
    let pictures = vec![
        report::lines("loss while training", "epoch", "cross-entropy", &losses)?,
        report::lines("accuracy while training", "epoch", "%", &accuracies)?,
    ];
    Ok(report::Page {
        title: "Trefoil: a network in training".to_owned(),
        lead: "The loss is the mean over each epoch, from before its steps; the accuracy is of rows that no step saw."
            .to_owned(),
        sections: vec![report::ReportSection { heading: "Training".to_owned(), facts, pictures, table: None }],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_in_an_order_once() {
        let mut order = shuffled(100, &mut ChaCha8Rng::seed_from_u64(1));
        assert_ne!(order, (0..100).collect::<Vec<_>>());
        order.sort_unstable();
        assert_eq!(order, (0..100).collect::<Vec<_>>());
    }
}
