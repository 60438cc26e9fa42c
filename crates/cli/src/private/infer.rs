//! `trefoil pfss infer`: the client of private inference.

use std::{
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};
use clap::Args;
use inference::{
    InferenceError, Model, Parameters,
    digits::{self, MAX_PIXEL},
    party::Role,
    plain,
};
use nn_ops::io::{NpyArray, read_npy, write_npy};
use pfss::Party;
use runtime::{Choice, Domain};

use super::{
    LimitArgs,
    keys::RunKeys,
    report::{Difference, PartyReport},
};
use crate::{
    exit::UsageError,
    files::{self, Named},
    output::OutputFile,
};

/// Run the client: hold the images, learn their classes.
///
/// Without `--images` it takes the first of the test digits that ship with the program, and prints
/// the accuracy. Nothing is written unless the whole run succeeds.
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
    /// Their digits, `.npy` of bytes, to print the accuracy.
    #[arg(long, value_name = "FILE", requires = "images")]
    labels: Option<PathBuf>,
    /// Weights to compare with in the clear, logit by logit. For tests: a client has no weights.
    #[arg(long, value_name = "FILE")]
    compare: Option<PathBuf>,
    /// Where to write the classes, `.npy` of bytes.
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
    pub(crate) fn files(&self) -> Vec<Named<'_>> {
        let images = self.images.as_deref().map(|path| Named::read("--images", path));
        let labels = self.labels.as_deref().map(|path| Named::read("--labels", path));
        let compare = self.compare.as_deref().map(|path| Named::read("--compare", path));
        let out = self.out.as_deref().map(|path| Named::written("--out", path));
        let json = self.json.as_deref().map(|path| Named::written("--json", path));
        [images, labels, compare, out, json].into_iter().flatten().collect()
    }
}

/// Runs the command.
pub(super) fn run(args: &InferArgs) -> Result<()> {
    let (q, _) = runtime::open_for(Domain::Pfss, args.backend)?;
    let keys = RunKeys::open(&args.keys, Party::Zero)?;
    let (model, key_bytes, planned) = (keys.model().clone(), keys.key_bytes(), keys.traffic());
    let (images, truth) = input(args, &model)?;
    let weights = args.compare.as_deref().map(|path| parameters(&model, path)).transpose()?;
    let role = Role::Client(&images);
    keys.check(role)?;
    let out = args.out.as_deref().map(OutputFile::begin).transpose()?;
    let json = args.json.as_deref().map(OutputFile::begin).transpose()?;

    let endpoint = keys.endpoint(args.limits.limits());
    let channel = endpoint.connect(&args.connect).map_err(InferenceError::from)?;
    let done = keys.run(&q, channel, role, "infer")?;

    let logits = done.logits.as_deref().unwrap_or_default();
    let classes = digits::labels(logits);
    let mut report = PartyReport::new(&model, Party::Zero, planned, key_bytes, &done);
    if let Some(truth) = truth {
        report.correct = Some(classes.iter().zip(&truth).filter(|(a, b)| a == b).count());
    } else {
        let mut out = io::stdout().lock();
        classes.iter().try_for_each(|class| writeln!(out, "{class}"))?;
    }
    if let Some(weights) = weights {
        report.difference = Some(Difference::between(logits, &plain::logits(&model, &weights, &images)?));
    }
    if let Some(out) = out {
        out.finish(&write_npy(&NpyArray { shape: vec![classes.len()], data: classes })?)?;
    }
    report.print(json)
}

/// Images in fixed point, and their digits where they are known.
fn input(args: &InferArgs, model: &Model) -> Result<(Vec<u64>, Option<Vec<u8>>)> {
    let array = |path: &Path| -> Result<NpyArray<u8>> {
        let file = files::read(path).with_context(|| format!("reading {}", path.display()))?;
        read_npy(&file).with_context(|| format!("parsing {}", path.display()))
    };
    let Some(path) = &args.images else {
        let test = digits::load()?.1;
        if model.count() > test.count() {
            return Err(UsageError(format!("the shipped test set has {} images; give --images", test.count())).into());
        }
        let test = test.take(model.count());
        return Ok((test.fixed_point(), Some(test.labels)));
    };
    let (images, count, features) = (array(path)?, model.count(), model.input_len());
    let unusable = |path: &Path, reason: String| UsageError(format!("{}: {reason}", path.display()));
    let fits = images.shape.first() == Some(&count) && images.data.len() == count * features;
    if !fits {
        let got = &images.shape;
        let reason = format!("expected the shape [{count}, {features}] (from the keys), got {got:?}");
        return Err(unusable(path, reason).into());
    }
    if let Some(at) = images.data.iter().position(|&pixel| pixel > MAX_PIXEL) {
        let (image, got) = (at / features, images.data[at]);
        return Err(unusable(path, format!("expected pixels of 0 to {MAX_PIXEL}, image {image} has {got}")).into());
    }
    let Some(labels) = &args.labels else { return Ok((digits::fixed_point(&images.data), None)) };
    let truth = array(labels)?;
    if truth.shape != [count] {
        let reason = format!("expected {count} labels, one for each image, got the shape {:?}", truth.shape);
        return Err(unusable(labels, reason).into());
    }
    Ok((digits::fixed_point(&images.data), Some(truth.data)))
}

fn parameters(model: &Model, path: &Path) -> Result<Parameters> {
    let bytes = files::read(path).with_context(|| format!("reading {}", path.display()))?;
    Ok(Parameters::read(model, &bytes)?)
}
