//! `trefoil pfss infer`: the client of private inference.

use core::fmt::Write as _;
use std::{
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};
use clap::Args;
use inference::{InferenceError, Model, Parameters, digits, party::Role, plain};
use nn_ops::io::{NpyArray, write_npy};
use pfss::Party;
use runtime::{Choice, Domain};

use super::{
    GREETING, LimitArgs,
    input::{self, LabeledInputs},
    keys::RunKeys,
    report::{Difference, PartyReport},
};
use crate::{
    files::{self, NamedFile},
    interrupt,
    output::OutputFile,
};

/// Run the client: hold the inputs, learn their classes or the results of a model file.
///
/// Without `--images` and `--input` it takes the first of the test digits that ship with the
/// program, and prints the accuracy. Nothing is written unless the whole run succeeds.
#[derive(Args, Debug)]
pub(crate) struct InferArgs {
    /// The folder `party0` of a deal; the run uses it up, or its next run of many.
    #[arg(long, value_name = "DIR")]
    keys: PathBuf,
    /// Address of the server.
    #[arg(long, value_name = "ADDRESS", value_parser = super::address)]
    connect: String,
    /// Images, `.npy` of bytes in 0..=16, 64 for each image.
    ///
    /// The number of images must match the keys.
    #[arg(long, value_name = "FILE")]
    images: Option<PathBuf>,
    /// Inputs of any model: `.npy`, or 32-bit floats, little-endian.
    ///
    /// The shape must match the keys: the number of inputs, then the shape of one. For a model that
    /// begins with an embedding, the tokens will do: a number for each position.
    #[arg(long, value_name = "FILE", conflicts_with = "images")]
    input: Option<PathBuf>,
    /// Their digits, `.npy` of bytes, to print the accuracy.
    #[arg(long, value_name = "FILE", requires = "images")]
    labels: Option<PathBuf>,
    /// Weights to compare with in the clear, logit by logit. For tests: a client has no weights.
    #[arg(long, value_name = "FILE")]
    compare: Option<PathBuf>,
    /// Where to write the classes, `.npy` of bytes.
    ///
    /// The results of a model file are floats: `.npy` if the name ends so, and else as `--input`
    /// without a header.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    limits: LimitArgs,
    /// Also write rounds, bytes and times as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Backend: cpu, gpu (= cuda), auto or sim.
    #[arg(long, value_name = "NAME")]
    backend: Option<Choice>,
}

impl InferArgs {
    /// The files that it reads and writes.
    pub(crate) fn files(&self) -> Vec<NamedFile<'_>> {
        let images = self.images.as_deref().map(|path| NamedFile::read("--images", path));
        let input = self.input.as_deref().map(|path| NamedFile::read("--input", path));
        let labels = self.labels.as_deref().map(|path| NamedFile::read("--labels", path));
        let compare = self.compare.as_deref().map(|path| NamedFile::read("--compare", path));
        let out = self.out.as_deref().map(|path| NamedFile::written("--out", path));
        let json = self.json.as_deref().map(|path| NamedFile::written("--json", path));
        [images, input, labels, compare, out, json].into_iter().flatten().collect()
    }
}

/// Runs the command.
pub(super) fn run(args: &InferArgs) -> Result<()> {
    let (q, _) = runtime::open_for(Domain::Pfss, args.backend)?;
    let keys = RunKeys::open(&args.keys, Party::Zero)?;
    if matches!(keys, RunKeys::Many(_)) {
        // The run may write opened weights, which are secret.
        interrupt::watch()?;
    }
    let (model, key_bytes, planned) = (keys.model().clone(), keys.key_bytes(), keys.traffic());
    let (inputs, truth) = inputs(args, &model)?;
    let weights = args.compare.as_deref().map(|path| parameters(&model, path)).transpose()?;
    let role = Role::Client(&inputs);
    keys.check(role)?;
    // A value beyond a declared limit is refused before the keys are spent.
    let expected = weights.map(|weights| plain::logits(&model, &weights, &inputs)).transpose()?;
    let out = args.out.as_deref().map(OutputFile::begin).transpose()?;
    let json = args.json.as_deref().map(OutputFile::begin).transpose()?;

    let endpoint = keys.endpoint(args.limits.limits());
    let connection = endpoint.connection();
    let channel = endpoint.connect(&args.connect);
    let channel =
        channel.map_err(|error| InferenceError::from(error).in_step(Party::One, GREETING).over(&connection))?;
    let done = keys.run(&q, channel, &connection, role, "infer")?;

    let logits = done.logits.as_deref().unwrap_or_default();
    let mut report = PartyReport::new(&model, Party::Zero, planned, key_bytes, &done);
    let (bytes, correct, text) = result(&model, logits, truth.as_deref(), args.out.as_deref())?;
    report.correct = correct;
    if let Some(expected) = expected {
        report.difference = Some(Difference::between(logits, &expected));
    }
    if let Some(out) = out {
        out.finish(&bytes)?;
    }
    io::stdout().lock().write_all(text.as_bytes())?;
    report.print(json)
}

/// The inputs that the options name.
fn inputs(args: &InferArgs, model: &Model) -> Result<LabeledInputs> {
    match (&args.images, &args.input) {
        (Some(path), _) => input::images(model, path, args.labels.as_deref()),
        (None, Some(path)) => input::numbers(model, path),
        (None, None) => input::shipped(model),
    }
}

/// The classes of images, or the results of a model file: as a file, and as text to print.
///
/// Images with labels have the number of right classes in place of the text.
fn result(
    model: &Model,
    logits: &[u64],
    labels: Option<&[u8]>,
    out: Option<&Path>,
) -> Result<(Vec<u8>, Option<usize>, String)> {
    let mut text = String::new();
    if model.architecture().file().is_some() {
        let values = model.decode(logits);
        for row in values.chunks(model.classes()) {
            let row: Vec<String> = row.iter().map(|value| format!("{value:.6}")).collect();
            writeln!(text, "{}", row.join(" "))?;
        }
        let is_npy = out.is_some_and(|path| path.extension().is_some_and(|extension| extension == "npy"));
        let bytes = match is_npy {
            true => write_npy(&NpyArray { shape: model.output_shape(), data: values })?,
            false => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        };
        return Ok((bytes, None, text));
    }
    let classes = digits::labels(logits);
    let correct = labels.map(|labels| classes.iter().zip(labels).filter(|(a, b)| a == b).count());
    if correct.is_none() {
        classes.iter().try_for_each(|class| writeln!(text, "{class}"))?;
    }
    Ok((write_npy(&NpyArray { shape: vec![classes.len()], data: classes })?, correct, text))
}

fn parameters(model: &Model, path: &Path) -> Result<Parameters> {
    let bytes = files::read(path).with_context(|| format!("reading {}", path.display()))?;
    Ok(Parameters::read(model, &bytes)?)
}
