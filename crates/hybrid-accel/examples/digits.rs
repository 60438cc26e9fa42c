//! The predict-and-correct loop on a perceptron and the handwritten digits that ship.
//!
//! ```sh
//! cargo run --release -p hybrid-accel --example digits -- 400
//! ```
//!
//! Trains one network with gradients alone and one by the loop, from the same weights on the same batches, and prints both
//! accuracies and the report of the loop.

use std::{
    error::Error,
    io::{self, Write as _},
};

use hybrid_accel::{GpuAccelerator, HybridConfig, HybridLoop, HybridModel as _, LabelledRows, MlpModel, TrefoilCpu};
use nn_ops::{OptimizerConfig, io::read_npy};
use runtime::Settings;

const IMAGES: &[u8] = include_bytes!("../digits/images.npy");
const LABELS: &[u8] = include_bytes!("../digits/labels.npy");
const PIXELS: usize = 64;
const SEEDS: u64 = 4;

/// Rows to train, and every fifth row to test with.
fn digits() -> Result<[LabelledRows; 2], Box<dyn Error>> {
    let (images, labels) = (read_npy::<u8>(IMAGES)?.data, read_npy::<u8>(LABELS)?.data);
    let mut sets = [LabelledRows::default(), LabelledRows::default()];
    for (row, (image, &label)) in images.chunks(PIXELS).zip(&labels).enumerate() {
        let set = &mut sets[usize::from(row % 5 == 0)];
        set.inputs.extend(image.iter().map(|&pixel| f32::from(pixel) / 16.0));
        set.labels.push(label.into());
    }
    Ok(sets)
}

fn main() -> Result<(), Box<dyn Error>> {
    let steps: usize = std::env::args().nth(1).map_or(Ok(400), |text| text.parse())?;
    let (settings, [train, test]) = (Settings::from_env()?, digits()?);
    let config =
        HybridConfig { warmup_steps: 60, max_predict_steps: 20, confidence_threshold: 0.5, ..HybridConfig::default() };
    let mut out = io::stdout().lock();
    for seed in 0..SEEDS {
        let accelerator = GpuAccelerator::new(TrefoilCpu::new(settings.clone()))?;
        let optimizer = OptimizerConfig::sgd(0.02, 0.9);
        let model = || MlpModel::new(accelerator.queue(), &[PIXELS, 32, 10], train.clone(), 64, optimizer, seed);
        let mut plain = model()?;
        for _ in 0..steps {
            plain.full_step()?;
        }
        let predicted = model()?;
        let mut training = HybridLoop::new(accelerator, predicted, config.clone())?;
        let report = training.run(steps)?;
        let [without, with] = [plain.accuracy(&test)?, training.model().accuracy(&test)?].map(|share| share * 1e2);
        writeln!(out, "seed {seed}: accuracy {without:.1} % without predictions, {with:.1} % with them")?;
        writeln!(out, "{report}\n")?;
    }
    Ok(())
}
