//! The loop on a real network: a perceptron on the handwritten digits that ship.

use hybrid_accel::{HybridConfig, HybridLoop, HybridModel as _, LabelledRows, MlpModel};
use nn_ops::{Feedback, OptimizerConfig, io::read_npy};

use crate::common::cpu;

const IMAGES: &[u8] = include_bytes!("../../digits/images.npy");
const LABELS: &[u8] = include_bytes!("../../digits/labels.npy");
const PIXELS: usize = 64;
const STEPS: usize = 400;

/// Rows to train, and every fifth row to test with.
fn digits() -> [LabelledRows; 2] {
    let (images, labels) = (read_npy::<u8>(IMAGES).unwrap().data, read_npy::<u8>(LABELS).unwrap().data);
    let mut sets = [LabelledRows::default(), LabelledRows::default()];
    for (row, (image, &label)) in images.chunks(PIXELS).zip(&labels).enumerate() {
        let set = &mut sets[usize::from(row % 5 == 0)];
        set.inputs.extend(image.iter().map(|&pixel| f32::from(pixel) / 16.0));
        set.labels.push(label.into());
    }
    sets
}

#[test]
fn a_network_keeps_its_accuracy_and_saves_steps() {
    let ([train, test], accelerator) = (digits(), cpu(Feedback::State));
    assert_eq!((train.labels.len(), test.labels.len()), (1437, 360));
    let model = || {
        let optimizer = OptimizerConfig::sgd(0.02, 0.9);
        MlpModel::new(accelerator.queue(), &[PIXELS, 32, 10], train.clone(), 64, optimizer, 1).unwrap()
    };
    let mut plain = model();
    for _ in 0..STEPS {
        plain.full_step().unwrap();
    }
    let without = plain.accuracy(&test).unwrap();

    let config = HybridConfig {
        warmup_steps: 60,
        full_steps: 20,
        max_predict_steps: 20,
        correct_steps: 5,
        confidence_threshold: 0.5,
        ..HybridConfig::default()
    };
    let mut training = HybridLoop::new(cpu(Feedback::State), model(), config).unwrap();
    let report = training.run(STEPS).unwrap();
    let with = training.model().accuracy(&test).unwrap();
    assert!(without > 0.9 && with > without - 0.03, "{with} with predictions, {without} without; {report}");
    assert_eq!(report.full_steps + report.steps_saved, STEPS);
    assert!(report.steps_saved > 0 && !report.checks.is_empty(), "{report}");
    // Forecasts that a constant loss beats are named as such.
    assert_eq!(report.to_string().contains(": worse than a constant loss"), report.is_worse_than_constant());
}
