//! `trefoil pfss infer`: the client of private inference.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use inference::{
    InferenceError, Model, Parameters, digits,
    party::{self, Role},
    plain,
};
use nn_ops::io::{NpyArray, read_npy, write_npy};
use pfss::Party;
use runtime::{Choice, Domain};

use super::{
    LimitArgs,
    kind::Kind,
    report::{Difference, Report},
};
use crate::{files::Named, output::Output};

/// Run the client: hold the images, learn their classes.
///
/// Without `--images` it takes the first of the test digits that ship with the program, and prints the accuracy.
/// Nothing is written unless the whole run succeeds.
#[derive(Args, Debug)]
pub(crate) struct InferArgs {
    /// The folder `party0` of a deal; used up by the run.
    #[arg(long, value_name = "DIR")]
    keys: PathBuf,
    /// Address of the server.
    #[arg(long, value_name = "ADDRESS")]
    connect: String,
    /// Images, `.npy` of bytes in 0..=16, 64 for each image; as many images as the keys are for.
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
    Kind::Model.expect(&args.keys)?;
    let folder = super::open(&args.keys, Party::Zero)?;
    let (model, key_bytes) = (folder.model().clone(), folder.key_bytes());
    let (images, truth) = input(args, &model)?;
    let weights = args.compare.as_deref().map(|path| parameters(&model, path)).transpose()?;
    let plan = model.plan()?;
    let out = args.out.as_deref().map(Output::begin).transpose()?;

    let endpoint = folder.endpoint(args.limits.limits());
    let channel = endpoint.connect(&args.connect).map_err(InferenceError::from)?;
    let keys = folder.consume()?;
    let bar = super::bar(&plan, 1, "infer")?;
    let done = party::run(&q, &model, keys, channel, Role::Client(&images), |step| super::advance(&bar, step))?;
    bar.finish_and_clear();

    let logits = done.logits.as_deref().unwrap_or_default();
    let classes = digits::labels(logits);
    let mut report = Report::new(&model, &plan, Party::Zero, key_bytes, &done);
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
    report.print(args.json.as_deref())
}

/// Images in fixed point, and their digits where they are known.
fn input(args: &InferArgs, model: &Model) -> Result<(Vec<u64>, Option<Vec<u8>>)> {
    let bytes = |path: &Path| -> Result<Vec<u8>> {
        let file = fs::read(path).with_context(|| format!("reading {}", path.display()))?;
        Ok(read_npy::<u8>(&file).with_context(|| format!("parsing {}", path.display()))?.data)
    };
    let Some(path) = &args.images else {
        let test = digits::load()?.1;
        ensure!(model.count() <= test.count(), "the shipped test set has {} images; give --images", test.count());
        let test = test.take(model.count());
        return Ok((test.fixed_point(), Some(test.labels)));
    };
    let truth = args.labels.as_deref().map(bytes).transpose()?;
    let wrong = truth.as_ref().is_some_and(|truth| truth.len() != model.count());
    ensure!(!wrong, "expected {} labels, as many as images were dealt for", model.count());
    Ok((digits::fixed_point(&bytes(path)?), truth))
}

fn parameters(model: &Model, path: &Path) -> Result<Parameters> {
    let bytes = fs::read(path).with_context(|| format!("reading {}", path.display()))?;
    Ok(Parameters::read(model, &bytes)?)
}
