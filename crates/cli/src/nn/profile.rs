//! `trefoil nn profile`.

use std::{fmt::Write as _, path::PathBuf};

use anyhow::{Context as _, Result, ensure};
use backend_api::{BackendKind, Queue as _};
use clap::Args;
use nn_ops::{Mlp, MlpTraining, OptimizerConfig, Tensor, fill};
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng as _};
use runtime::{AnyQueue, Choice, Domain, MarkedCall, mark_calls};
use serde::Serialize;

use super::model;
use crate::{
    exit::UsageError,
    files::NamedFile,
    output::print,
    profile::{self, CallLog, ProfileSummary, ProfiledCall, aligned, giga, millions},
    queue::open,
};

const HEAD: [&str; 11] =
    ["layer", "call", "type", "sizes", "host us", "device us", "share", "MB", "GB/s", "MFLOP", "GFLOP/s"];

/// Measure a forward pass or a training step of a perceptron, layer by layer and op by op.
///
/// After a first run, which is not measured, the pass runs `--repeat` times. Times are medians over
/// these runs. Each call has the host's time. On a GPU it also has the device's time, from
/// `--repeat` further runs. Rates are of the device's time, or on the CPU of the host's. Inputs are
/// 0.5 and classes 0: the values do not change the work.
#[derive(Args, Debug)]
pub(crate) struct ProfileArgs {
    /// The network: safetensors with `NAME.weight` and `NAME.bias` for each layer.
    #[arg(value_name = "FILE", required_unless_present = "mlp")]
    network: Option<PathBuf>,
    /// A network with random weights in its place: the inputs, then the units of each layer.
    #[arg(long, value_name = "N,...", value_delimiter = ',', conflicts_with = "network", value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    mlp: Vec<u32>,
    /// The names of its layers, from the first [default: layers.0,layers.1,...].
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', conflicts_with = "mlp")]
    layers: Vec<String>,
    /// Whether weights are [inputs, outputs] or [outputs, inputs].
    ///
    /// [default: implied by the shapes of the biases, or in-out in files that Trefoil wrote].
    #[arg(long, value_name = "LAYOUT", conflicts_with = "mlp")]
    layout: Option<model::WeightLayout>,
    /// Rows of a pass.
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    batch: u32,
    /// Measure a training step (AdamW on the cross-entropy) in place of a forward pass.
    #[arg(long)]
    train: bool,
    /// Measured runs.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    repeat: u32,
    /// Measure the device's time on the CPU, too, where it is the host's.
    #[arg(long)]
    device_time: bool,
    /// Print one JSON object instead of a table.
    #[arg(long)]
    json: bool,
    /// Backend: cpu, gpu (= cuda), auto or sim [default: TREFOIL_BACKEND, or else cpu].
    #[arg(long, value_name = "NAME")]
    backend: Option<Choice>,
}

impl ProfileArgs {
    /// The files that it reads.
    pub(super) fn files(&self) -> Vec<NamedFile<'_>> {
        self.network.iter().map(|path| NamedFile::read("FILE", path)).collect()
    }

    fn network(&self, q: &AnyQueue) -> Result<Mlp<AnyQueue>> {
        if let Some(path) = &self.network {
            return model::read(q, path, &self.layers, self.layout);
        }
        if self.mlp.len() < 2 {
            let message = "`--mlp` expects the inputs and the units of 1 layer or more, such as 784,10; got 1 number";
            return Err(UsageError(message.to_owned()).into());
        }
        let sizes: Vec<usize> = self.mlp.iter().map(|&size| size as usize).collect();
        Ok(Mlp::new(q, &sizes, &mut ChaCha8Rng::seed_from_u64(7))?)
    }
}

/// A pass of a network that can run many times.
struct RepeatedPass {
    network: Mlp<AnyQueue>,
    /// For a training step.
    training: Option<MlpTraining<AnyQueue>>,
    inputs: Tensor<AnyQueue, f32>,
    classes: Tensor<AnyQueue, u32>,
    logits: Tensor<AnyQueue, f32>,
}

impl RepeatedPass {
    fn new(q: &AnyQueue, network: Mlp<AnyQueue>, args: &ProfileArgs) -> Result<Self> {
        let (rows, sizes) = (args.batch as usize, network.sizes());
        let (features, outputs) = (sizes[0], sizes[sizes.len() - 1]); // a network has a layer
        let mut inputs: Tensor<_, f32> = Tensor::alloc(q, &[rows, features])?;
        fill(q, 0.5, inputs.at_mut())?;
        let config = OptimizerConfig::adam_w(1e-3);
        Ok(Self {
            training: args.train.then(|| network.training(q, rows, config)).transpose()?,
            inputs,
            classes: Tensor::from_values(q, &[rows], &vec![0; rows])?,
            logits: Tensor::alloc(q, &[rows, outputs])?,
            network,
        })
    }

    /// Runs the pass, and waits for it.
    fn run(&mut self, q: &AnyQueue) -> Result<()> {
        match &mut self.training {
            Some(training) => self.network.train_step(q, training, self.inputs.at(), self.classes.at())?,
            None => self.network.forward(q, self.inputs.at(), self.logits.at_mut())?,
        }
        Ok(q.finish()?)
    }

    /// The calls of each of `count` runs.
    fn calls(&mut self, q: &AnyQueue, log: &CallLog, count: u32) -> Result<Vec<Vec<ProfiledCall>>> {
        let run = |_| -> Result<Vec<ProfiledCall>> {
            let (done, calls) = log.during(|| self.run(q));
            done.map(|()| calls)
        };
        (0..count).map(run).collect()
    }

    /// The device's nanoseconds of the calls of each of `count` runs.
    fn device_times(&mut self, q: &AnyQueue, count: u32) -> Result<Vec<Vec<i64>>> {
        let run = |_| -> Result<Vec<i64>> {
            let (done, calls) = mark_calls(|| self.run(q));
            done?;
            Ok(calls.iter().map(MarkedCall::elapsed_ns).collect::<Result<Vec<_>, _>>()?)
        };
        (0..count).map(run).collect()
    }
}

/// A profile of one pass of a network.
#[derive(Debug, Serialize)]
struct NetworkProfile {
    /// The inputs, then the units of each layer.
    network: Vec<usize>,
    batch: u32,
    pass: &'static str,
    runs: u32,
    device: String,
    path: String,
    calls: Vec<ProfileLine>,
    /// Of the whole process.
    summary: ProfileSummary,
}

/// A call of a pass, with medians over the runs.
#[derive(Debug, Serialize)]
struct ProfileLine {
    /// The layer or the part of the step, if the call is an op.
    layer: String,
    call: &'static str,
    element: String,
    sizes: String,
    host_us: f64,
    /// If it was measured.
    device_us: Option<f64>,
    /// In per cent of the device's time, or of the host's if that was not measured.
    share: f64,
    bytes: u64,
    bytes_per_s: Option<f64>,
    flop: Option<u64>,
    flop_per_s: Option<f64>,
}

impl ProfileLine {
    fn new(call: &ProfiledCall, layer: String, host_us: f64, device_us: Option<f64>) -> Self {
        let on_host = (call.fields.backend == "cpu").then_some(host_us);
        let seconds = device_us.or(on_host).map(|us| us / 1e6).filter(|&seconds| seconds > 0.0);
        let rate = |amount: u64| seconds.filter(|_| amount > 0).map(|seconds| amount as f64 / seconds);
        let (bytes, flop) = (call.fields.bytes, call.fields.flop);
        Self {
            layer,
            call: call.name,
            element: call.fields.element.clone(),
            sizes: call.fields.params.clone(),
            host_us,
            device_us,
            share: 0.0,
            bytes,
            bytes_per_s: rate(bytes),
            flop,
            flop_per_s: flop.and_then(rate),
        }
    }

    /// The time that shares are of.
    fn time(&self) -> f64 {
        self.device_us.unwrap_or(self.host_us)
    }

    fn row(&self) -> Vec<String> {
        vec![
            self.layer.clone(),
            self.call.to_owned(),
            self.element.clone(),
            self.sizes.clone(),
            microseconds(self.host_us),
            self.device_us.map_or_else(String::new, microseconds),
            format!("{:.1} %", self.share),
            if self.bytes > 0 { millions(self.bytes) } else { String::new() },
            giga(self.bytes_per_s),
            self.flop.map_or_else(String::new, millions),
            giga(self.flop_per_s),
        ]
    }
}

/// Runs the command.
pub(crate) fn run(args: &ProfileArgs) -> Result<()> {
    let log = profile::calls();
    let q = open(Domain::Nn, args.backend)?;
    let network = args.network(&q)?;
    let sizes = network.sizes();
    let mut pass = RepeatedPass::new(&q, network, args).context("setting up the pass")?;
    pass.run(&q).context("the first run")?;
    let runs = pass.calls(&q, &log, args.repeat)?;
    let of_device = args.device_time || q.caps().kind == BackendKind::Cuda;
    let device_runs = if of_device { pass.device_times(&q, args.repeat)? } else { Vec::new() };
    let profile = NetworkProfile {
        calls: lines(&runs, &device_runs, sizes.len() - 1)?,
        network: sizes,
        batch: args.batch,
        pass: if args.train { "training step" } else { "forward pass" },
        runs: args.repeat,
        device: q.caps().device.clone(),
        path: q.caps().path.clone(),
        summary: ProfileSummary::of(&log),
    };
    print(&if args.json { serde_json::to_string(&profile)? + "\n" } else { text(&profile)? })
}

/// The calls of a pass with their medians, for a network of `depth` layers.
fn lines(runs: &[Vec<ProfiledCall>], device_runs: &[Vec<i64>], depth: usize) -> Result<Vec<ProfileLine>> {
    let first = runs.first().context("expected at least one run, got none")?;
    let names = |run: &[ProfiledCall]| run.iter().map(|call| call.name).collect::<Vec<_>>();
    for (i, run) in runs.iter().enumerate() {
        ensure!(names(run) == names(first), "expected the calls of the first run in run {i}, got {:?}", names(run));
    }
    for run in device_runs {
        ensure!(run.len() == first.len(), "expected marks around {} calls, got {}", first.len(), run.len());
    }
    let mut lines = Vec::new();
    for (i, (call, layer)) in first.iter().zip(places(first, depth)).enumerate() {
        let host_us = median(runs.iter().map(|run| run[i].time.as_secs_f64() * 1e6));
        let device_us = median(device_runs.iter().map(|run| run[i] as f64 / 1e3));
        lines.push(ProfileLine::new(call, layer, host_us.unwrap_or(0.0), device_us));
    }
    let all: f64 = lines.iter().map(ProfileLine::time).sum();
    for line in &mut lines {
        line.share = if all > 0.0 { 1e2 * line.time() / all } else { 0.0 };
    }
    Ok(lines)
}

/// The middle one of the values, the greater of two; none of no values.
fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// The part of a training step that an op is of.
#[derive(Clone, Copy)]
enum StepPart {
    Forward,
    Loss,
    Backward,
    Optimizer,
}

/// The layer or the part of a training step of each call, from the order of the ops.
///
/// A layer has one product in a forward pass. The backward pass goes from the last layer to the
/// first, and the gradient of an activation is the first op of the layer before it. Calls that are
/// no ops have no place.
fn places(calls: &[ProfiledCall], depth: usize) -> Vec<String> {
    let (mut part, mut layers) = (StepPart::Forward, 0usize);
    let mut places = Vec::new();
    for call in calls {
        match (part, call.name) {
            (StepPart::Forward, "gemm") => layers += 1,
            (StepPart::Forward, "cross_entropy") => part = StepPart::Loss,
            (StepPart::Loss, "gemm") => (part, layers) = (StepPart::Backward, depth),
            (StepPart::Backward, "activate_backward") => layers = layers.saturating_sub(1),
            (StepPart::Backward, "square_sums" | "advance_step") => part = StepPart::Optimizer,
            _ => {}
        }
        let layer = layers.saturating_sub(1);
        places.push(match part {
            _ if !call.is_op() => String::new(),
            StepPart::Forward => format!("layers.{layer}"),
            StepPart::Loss => "loss".to_owned(),
            StepPart::Backward => format!("layers.{layer} backward"),
            StepPart::Optimizer => "optimizer".to_owned(),
        });
    }
    places
}

fn text(profile: &NetworkProfile) -> Result<String> {
    let NetworkProfile { network, batch, pass, runs, device, path, calls, summary } = profile;
    let sizes: Vec<String> = network.iter().map(ToString::to_string).collect();
    let mut text = String::new();
    writeln!(text, "network      {}, {batch} rows", sizes.join("-"))?;
    writeln!(text, "pass         {pass}, medians of {runs} runs")?;
    writeln!(text, "device       {device} ({path})\n")?;
    let host: f64 = calls.iter().map(|line| line.host_us).sum();
    let of_device: Option<f64> = calls.iter().map(|line| line.device_us).sum();
    let mut all = ["all", "", "", ""].map(str::to_owned).to_vec();
    all.extend([microseconds(host), of_device.map_or_else(String::new, microseconds), "100.0 %".to_owned()]);
    writeln!(text, "{}\n", aligned(&HEAD, 4, calls.iter().map(ProfileLine::row).chain([all])))?;
    text.push_str("of the whole process:\n");
    text.push_str(&summary.notes());
    Ok(text)
}

fn microseconds(us: f64) -> String {
    format!("{us:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The calls of a pass on the processor, and their places.
    fn places_of(train: bool) -> Vec<(&'static str, String)> {
        let log = CallLog::default();
        let q = open(Domain::Nn, Some(Choice::Cpu)).unwrap();
        let network = Mlp::new(&q, &[6, 5, 4, 3], &mut ChaCha8Rng::seed_from_u64(1)).unwrap();
        let args = ProfileArgs {
            network: None,
            mlp: Vec::new(),
            layers: Vec::new(),
            layout: None,
            batch: 2,
            train,
            repeat: 1,
            device_time: false,
            json: false,
            backend: None,
        };
        let mut pass = RepeatedPass::new(&q, network, &args).unwrap();
        let record = || pass.calls(&q, &log, 1);
        let calls = tracing::subscriber::with_default(profile::subscriber(log.clone()), record).unwrap();
        let ops = calls[0].iter().zip(places(&calls[0], 3)).filter(|(call, _)| call.is_op());
        ops.map(|(call, place)| (call.name, place)).collect()
    }

    #[test]
    fn a_forward_pass_has_a_product_for_each_layer() {
        let expected = [("gemm", "layers.0"), ("gemm", "layers.1"), ("gemm", "layers.2")];
        assert_eq!(places_of(false), expected.map(|(op, place)| (op, place.to_owned())));
    }

    #[test]
    fn a_training_step_goes_forward_and_back_and_to_the_optimizer() {
        let calls = places_of(true);
        let mut parts: Vec<&str> = calls.iter().map(|(_, place)| &place[..]).collect();
        parts.dedup();
        let backward = ["layers.2 backward", "layers.1 backward", "layers.0 backward"];
        let expected = [&["layers.0", "layers.1", "layers.2", "loss"][..], &backward, &["optimizer"]].concat();
        assert_eq!(parts, expected);
        let products = |of: &str| calls.iter().filter(|(op, place)| *op == "gemm" && place == of).count();
        assert_eq!(backward.map(products), [2, 2, 1]);
        assert!(calls.iter().any(|(op, place)| *op == "adam_step" && place == "optimizer"));
    }

    #[test]
    fn medians_are_middle_values() {
        assert_eq!(median([3.0, 1.0, 2.0].into_iter()), Some(2.0));
        assert_eq!(median([4.0, 1.0].into_iter()), Some(4.0));
        assert_eq!(median(core::iter::empty()), None);
    }
}
