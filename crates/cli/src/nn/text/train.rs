//! `trefoil nn text train`.

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use backend_api::Queue as _;
use clap::{Args, ValueEnum};
use half::{bf16, f16};
use indicatif::{ProgressBar, ProgressStyle};
use nn_ops::{Annealing, LossScale, OptimizerConfig, Precision, Rule, Schedule, StepState, WeightDecay};
use runtime::{AnyQueue, Choice, Domain};

use super::{corpus::Corpus, model::TextShape, training::TextTraining};
use crate::{
    exit::{UsageError, note},
    files::NamedFile,
    nn::{
        history::TrainingHistory,
        saved::{SEPARATOR, TrainingFile},
    },
    output::{OutputFile, print},
    queue::open,
    report,
};

/// Steps between two states that are saved, and between two losses that are shown.
const EVERY: u64 = 20;

/// The most steps over which the rate rises; a short training takes a tenth of its steps.
const MOST_WARMUP: u64 = 100;

/// Train a transformer on the bytes of text files, test it, and write it as safetensors.
///
/// The model is a decoder of GPT-2's form with a vocabulary of 256 bytes; AdamW steps along the
/// mean cross-entropy of random windows. The last tenth of the text is held out, and the loss on it
/// is printed in nats and in bits per byte. The same arguments give the same model on every run of
/// one backend, also if the training is interrupted: with `--checkpoint` its state is saved every
/// 20 steps, and the same command resumes it.
#[derive(Args, Debug)]
pub(super) struct TextTrainArgs {
    /// UTF-8 text, one file after the other, such as the documentation that ships (docs/*.md).
    #[arg(value_name = "FILE", required = true)]
    texts: Vec<PathBuf>,
    /// Features of a place.
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=1 << 14))]
    width: u32,
    /// Heads of attention: a divisor of the width, with at most 128 features each.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1 << 10))]
    heads: u32,
    /// Blocks of attention and perceptron.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1 << 10))]
    layers: u32,
    /// Bytes in a window: the most that the model reads at once.
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = clap::value_parser!(u32).range(1..=1 << 16))]
    context: u32,
    /// Windows per step.
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=1 << 16))]
    batch: u32,
    /// Steps.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    steps: u32,
    /// Greatest learning rate, after a short rise; it falls to a tenth along a cosine.
    #[arg(long, value_name = "X", default_value_t = 0.001)]
    rate: f64,
    /// Decay of weights, in units of the rate; biases and factors of norms do not decay.
    #[arg(long, value_name = "X", default_value_t = 0.1)]
    decay: f64,
    /// Type of activations and their gradients.
    ///
    /// Weights and optimizer state are f32 in any case, and so are the model in the file and the
    /// held-out loss. f16 has a dynamic loss scale: a step whose gradients overflow is left out,
    /// and the scale is halved. It counts as one of `--steps`, and the rate does not advance. bf16
    /// needs no scale.
    #[arg(long, value_enum, default_value_t = TextPrecision::F32)]
    precision: TextPrecision,
    /// Seed of the initial weights and of the windows.
    #[arg(long, value_name = "N", default_value_t = 7)]
    seed: u64,
    /// Write the model to FILE, for `trefoil nn sample`.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Save the training to FILE every 20 steps, and resume from FILE if it exists.
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,
    /// Write the loss history to FILE, for `trefoil nn rollout`.
    ///
    /// A NumPy file with a row of mean loss and rate for every ten steps.
    #[arg(long, value_name = "FILE")]
    history: Option<PathBuf>,
    /// Backend: cpu, gpu (= cuda), auto or sim [default: TREFOIL_BACKEND, or else cpu].
    #[arg(long, value_name = "NAME")]
    backend: Option<Choice>,
}

impl TextTrainArgs {
    /// The files that it reads and writes.
    pub(super) fn files(&self) -> Vec<NamedFile<'_>> {
        let texts = self.texts.iter().map(|path| NamedFile::read("FILE", path));
        let others = [("--checkpoint", &self.checkpoint), ("--history", &self.history)];
        let others = others.into_iter().filter_map(|(by, path)| Some(NamedFile::written(by, path.as_deref()?)));
        texts.chain([NamedFile::written("--out", &self.out)]).chain(others).collect()
    }

    fn shape(&self) -> Result<TextShape, UsageError> {
        let [width, heads, layers, context] =
            [self.width, self.heads, self.layers, self.context].map(|size| size as usize);
        let shape = TextShape { width, heads, layers, context };
        shape.check().map_err(UsageError)?;
        Ok(shape)
    }

    /// AdamW for this many steps, with the shares of its moments that suit small batches.
    fn config(&self) -> Result<OptimizerConfig, UsageError> {
        let steps = u64::from(self.steps);
        let warmup = (steps / 10).min(MOST_WARMUP);
        let annealing = Annealing::Cosine { steps: (steps - warmup).max(1), least: self.rate / 10.0 };
        let config = OptimizerConfig {
            rule: Rule::Adam { beta1: 0.9, beta2: 0.99, eps: 1e-8 },
            schedule: Schedule { rate: self.rate, warmup, annealing },
            decay: WeightDecay::Decoupled(self.decay),
            clip: Some(1.0),
            loss_scale: (self.precision == TextPrecision::F16).then(LossScale::default),
        };
        config.check().map_err(|error| UsageError(error.to_string()))?;
        Ok(config)
    }
}

/// A type of activations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum TextPrecision {
    F32,
    Bf16,
    F16,
}

/// A training in `T`, its history, and the file that it is saved to.
struct TextRun<'a, T: Precision> {
    q: &'a AnyQueue,
    args: &'a TextTrainArgs,
    shape: TextShape,
    corpus: Corpus,
    training: TextTraining<T>,
    /// Only the steps.
    history: TrainingHistory,
    /// The parameters of the training, which a resumed training must share.
    described: String,
    saved: Option<TrainingFile>,
}

impl<'a, T: Precision> TextRun<'a, T> {
    fn new(
        q: &'a AnyQueue,
        args: &'a TextTrainArgs,
        shape: TextShape,
        config: OptimizerConfig,
        corpus: Corpus,
    ) -> Result<Self> {
        let TextShape { width, heads, layers, context } = shape;
        let described = [
            format!("text {}", corpus.digest()),
            format!("width {width}"),
            format!("heads {heads}"),
            format!("layers {layers}"),
            format!("context {context}"),
            format!("batch {}", args.batch),
            format!("steps {}", args.steps),
            format!("seed {}", args.seed),
            format!("precision {}", T::DTYPE),
            // The precision determines the loss scale.
            format!("optimizer {:?}", OptimizerConfig { loss_scale: None, ..config }),
        ]
        .join(SEPARATOR);
        let opened = args.checkpoint.as_deref().map(|path| TrainingFile::open(path, &described)).transpose()?;
        let (saved, found) = opened.unzip();
        let found = found.flatten();
        let resumes = found.is_some();
        let (training, history) = match found {
            Some((checkpoint, history)) => (TextTraining::resume(q, shape, &checkpoint)?, history),
            None => (TextTraining::new(q, shape, config, args.seed)?, TrainingHistory::default()),
        };
        let mut new = Self { q, args, shape, corpus, training, history, described, saved };
        if !resumes {
            // Whether the file can be written, and whether another training writes it, is known before any work.
            new.keep()?;
        }
        Ok(new)
    }

    /// Steps that are done.
    fn done(&self) -> u64 {
        self.history.steps.len() as u64
    }

    /// Keeps the state, if there is a file for it.
    fn keep(&mut self) -> Result<()> {
        let Some(saved) = &mut self.saved else { return Ok(()) };
        saved.write(self.training.save(self.q)?, &self.described, &self.history)
    }

    /// The windows of a batch, and their length.
    fn batch(&self) -> [usize; 2] {
        [self.args.batch as usize, self.shape.context]
    }

    /// Takes the next step.
    fn step(&mut self) -> Result<()> {
        let number = self.done() + 1;
        let batch = self.corpus.batch(self.args.seed, number, self.batch());
        let [loss, rate] = self.training.step(self.q, &batch)?;
        ensure!(loss.is_finite(), "the loss is {loss} in step {number}: try a smaller `--rate`");
        self.history.steps.push([loss, rate]);
        Ok(())
    }

    /// The mean loss of the last steps.
    fn loss(&self) -> f64 {
        let steps = &self.history.steps;
        let last = &steps[steps.len().saturating_sub(EVERY as usize)..];
        last.iter().map(|&[loss, _]| f64::from(loss)).sum::<f64>() / last.len() as f64
    }
}

/// Runs the command.
pub(super) fn run(args: &TextTrainArgs) -> Result<()> {
    // What can be refused is refused before any work.
    let (shape, config) = (args.shape()?, args.config()?);
    let out = OutputFile::begin_public(&args.out)?;
    let history = args.history.as_deref().map(OutputFile::begin_public).transpose()?;
    let files = [Some(&out), history.as_ref()];
    let tell = if files.into_iter().flatten().any(OutputFile::is_stdout) { note } else { print };
    let corpus = Corpus::read(&args.texts, shape.context)?;
    let q = open(Domain::Nn, args.backend)?;
    let trained = match args.precision {
        TextPrecision::F32 => trained::<f32>,
        TextPrecision::Bf16 => trained::<bf16>,
        TextPrecision::F16 => trained::<f16>,
    };
    let Trained { model, history: losses, facts } = trained(&q, args, shape, config, corpus)?;
    out.finish(&model)?;
    history.map_or(Ok(()), |file| file.finish(&losses.npy()?))?;
    tell(&facts)
}

/// The results of a training.
struct Trained {
    /// The bytes of its file.
    model: Vec<u8>,
    history: TrainingHistory,
    /// The lines that are printed.
    facts: String,
}

/// Takes the steps that are left, with activations in `T`, and tests.
fn trained<T: Precision>(
    q: &AnyQueue,
    args: &TextTrainArgs,
    shape: TextShape,
    config: OptimizerConfig,
    corpus: Corpus,
) -> Result<Trained> {
    let mut run = TextRun::<T>::new(q, args, shape, config, corpus).context("setting up the model")?;

    // The steps.
    let style = ProgressStyle::with_template("{prefix:8} {bar:32} {pos}/{len} {msg}")?;
    let bar = ProgressBar::new(args.steps.into()).with_style(style).with_prefix("steps");
    let (start, first) = (Instant::now(), run.done());
    bar.set_position(first);
    while run.done() < u64::from(args.steps) {
        run.step()?;
        bar.inc(1);
        if run.done().is_multiple_of(EVERY) || run.done() == u64::from(args.steps) {
            run.keep()?;
            bar.set_message(format!("loss {:.4}", run.loss()));
        }
    }
    bar.finish_and_clear();
    let (steps, time) = (run.done() - first, start.elapsed());

    // The held-out part.
    let held_out = run.training.loss(q, &run.corpus.tests(run.batch()))?;
    // The loss of a step is from before it: the last step shows here.
    ensure!(held_out.is_finite(), "the held-out loss is {held_out} after the last step: try a smaller `--rate`");
    let facts = facts(&run, held_out, steps, time)?;
    Ok(Trained { model: run.training.model.to_bytes(q)?, history: run.history, facts })
}

/// The lines that are printed at the end.
fn facts<T: Precision>(run: &TextRun<'_, T>, held_out: f64, steps: u64, time: Duration) -> Result<String> {
    let TextRun { q, args, shape, corpus, training, .. } = run;
    let TextShape { width, heads, layers, context } = shape;
    let nats = |loss: f64| format!("{loss:.4} nats, {:.4} bits per byte", loss / core::f64::consts::LN_2);
    let seconds = time.as_secs_f64();
    let rate = steps as f64 * run.batch().iter().product::<usize>() as f64 / seconds;
    let caps = q.caps();
    let facts = [
        ("text", format!("{} bytes to train, {} held out", corpus.train.len(), corpus.held_out.len())),
        ("model", format!("width {width}, {heads} heads, {layers} layers, context {context}, seed {}", args.seed)),
        ("weights", training.model.count()?.to_string()),
        ("precision", precision::<T>(&training.state(q)?, args.precision == TextPrecision::F16)),
        ("loss", nats(run.loss())),
        ("held-out loss", nats(held_out)),
        ("time", format!("{seconds:.2} s for {steps} steps, {rate:.0} bytes per second")),
        ("device", format!("{} ({}, {} threads)", caps.device, caps.path, caps.threads)),
    ];
    Ok(report::listed(&facts.map(|(name, value)| (name.to_owned(), value)), 14))
}

/// The type of the activations, and the steps that were left out.
fn precision<T: Precision>(state: &StepState, is_scaled: bool) -> String {
    let StepState { step, skipped, loss_scale, .. } = state;
    let left_out = format!("{}, {skipped} of {} steps left out", T::DTYPE, step + skipped);
    match (is_scaled, skipped) {
        (true, _) => format!("{left_out}, loss scale {loss_scale}"),
        (false, 0) => T::DTYPE.to_string(),
        (false, _) => left_out,
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct TextTrainCommand {
        #[command(flatten)]
        args: TextTrainArgs,
    }

    fn parsed(more: &[&str]) -> TextTrainArgs {
        let line = ["trefoil", "text", "--out", "model"];
        TextTrainCommand::parse_from(line.iter().chain(more)).args
    }

    #[test]
    fn the_rate_rises_over_a_tenth_of_the_steps_and_falls_to_a_tenth() {
        for (steps, warmup) in [("10000", 100), ("50", 5), ("1", 0)] {
            let args = parsed(&["--steps", steps, "--rate", "0.5"]);
            let schedule = args.config().unwrap().schedule;
            assert_eq!(schedule.warmup, warmup);
            let last = schedule.rate(args.steps.into());
            assert!(args.steps == 1 || (last - 0.05).abs() < 1e-12, "{steps}: {last}");
            assert!((schedule.rate(warmup.max(1)) - 0.5).abs() < 1e-12, "{steps}");
        }
    }

    #[test]
    fn sizes_and_rates_that_cannot_be_used_are_refused() {
        let width = parsed(&["--width", "30"]).shape().unwrap_err();
        assert!(width.to_string().contains("a multiple of 4 heads, got 30"), "{width}");
        let dim = parsed(&["--heads", "1"]).shape().unwrap_err();
        assert!(dim.to_string().contains("at most 128") && dim.to_string().ends_with("got 256"), "{dim}");
        assert!(parsed(&["--rate", "nan"]).config().unwrap_err().to_string().contains("rate"));
        assert!(parsed(&["--decay=-1"]).config().is_err());
    }
}
