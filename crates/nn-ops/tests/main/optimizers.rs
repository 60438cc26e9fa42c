//! Optimizers against PyTorch's in float64: `tests/reference/optimizers.py` has the same configurations, in this order.

use nn_ops::{
    Annealing, Optimizer, OptimizerConfig, ParameterArena, ParameterSpec, ParameterTable, Rule, Schedule, WeightDecay,
    io::read_npy,
};

const STEPS: usize = 20;
const COUNT: usize = 6;

fn configurations() -> [OptimizerConfig; 11] {
    let sgd = |momentum, nesterov| OptimizerConfig {
        rule: Rule::Sgd { momentum, nesterov },
        ..OptimizerConfig::sgd(0.1, 0.0)
    };
    let adam = OptimizerConfig::adam(0.02);
    let decay = WeightDecay::Coupled(0.05);
    let falling = Annealing::Steps { every: 6, factor: 0.5 };
    let cosine = Annealing::Cosine { steps: 15, least: 0.001 };
    [
        sgd(0.0, false),
        sgd(0.9, false),
        sgd(0.9, true),
        OptimizerConfig { decay, ..sgd(0.9, false) },
        OptimizerConfig { decay, clip: Some(0.7), ..sgd(0.9, true) },
        adam,
        OptimizerConfig { decay, ..adam },
        OptimizerConfig { decay: WeightDecay::Decoupled(0.05), ..adam },
        OptimizerConfig {
            rule: Rule::Adam { beta1: 0.8, beta2: 0.95, eps: 1e-3 },
            clip: Some(0.7),
            ..OptimizerConfig::adam_w(0.02)
        },
        OptimizerConfig { schedule: Schedule { rate: 0.1, warmup: 0, annealing: falling }, ..sgd(0.0, false) },
        OptimizerConfig {
            schedule: Schedule { rate: 0.02, warmup: 5, annealing: cosine },
            ..OptimizerConfig::adam_w(0.02)
        },
    ]
}

#[test]
fn weights_are_those_of_pytorch_in_float64() {
    let goldens = read_npy::<f64>(include_bytes!("../golden/optimizers.npy")).unwrap();
    assert_eq!(goldens.shape, [configurations().len(), STEPS, COUNT]);
    let q = runtime::cpu().unwrap();
    let table = ParameterTable::new(&[ParameterSpec::new("w", &[COUNT])]).unwrap();
    let w = table.id("w").unwrap();
    for (config, golden) in configurations().into_iter().zip(goldens.data.chunks(STEPS * COUNT)) {
        let start: Vec<f32> = (0..COUNT).map(|i| ((i * 29 % 37) as f64 / 9.0 - 2.0) as f32).collect();
        let mut values = ParameterArena::zeros(&q, &table).unwrap();
        values.write(&q, w, &start).unwrap();
        let mut gradients = ParameterArena::zeros(&q, &table).unwrap();
        let mut optimizer = Optimizer::new(&q, config, &table).unwrap();
        for (step, golden) in golden.chunks(COUNT).enumerate() {
            let gradient: Vec<f32> =
                (0..COUNT).map(|i| (((i * 11 + step * 7) % 23) as f64 / 20.0 - 0.5) as f32).collect();
            gradients.write(&q, w, &gradient).unwrap();
            optimizer.step(&q, gradients.view(), values.view_mut(), None).unwrap();
            for (got, &golden) in values.values(&q, w).unwrap().into_iter().zip(golden) {
                let error = (f64::from(got) - golden).abs();
                assert!(error <= 1e-6 * golden.abs().max(1.0), "{config:?}, step {step}: {got}, expected {golden}");
            }
        }
    }
}
