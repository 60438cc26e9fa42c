//! Steps of optimizers, and of a perceptron.

use nn_ops::{
    Mlp, Optimizer, OptimizerConfig, ParameterArena, ParameterSpec, ParameterTable, Rule, Tensor, WeightDecay,
    io::{Tensor as HostTensor, Tensors},
};

use super::Goldens;

/// Relative and absolute error after twenty steps.
const STEPS: (f64, f64) = (1e-5, 2e-6);

pub(super) fn hold(g: &Goldens) {
    let adam = OptimizerConfig::adam(0.01);
    let other = Rule::Adam { beta1: 0.5, beta2: 0.75, eps: 1e-3 };
    steps(g, "sgd", OptimizerConfig::sgd(0.1, 0.0));
    steps(g, "sgd.momentum", OptimizerConfig::sgd(0.05, 0.9));
    steps(g, "adam_w", OptimizerConfig { decay: WeightDecay::Decoupled(0.0625), ..adam });
    steps(g, "adam_w.other", OptimizerConfig { rule: other, ..OptimizerConfig::adam(0.02) });
    perceptron(g);
}

/// The weights after each step.
fn steps(g: &Goldens, name: &str, config: OptimizerConfig) {
    let (q, mut after) = (&g.q, Vec::new());
    let table = ParameterTable::new(&[ParameterSpec::new("w", &[7])]).unwrap();
    let w = table.id("w").unwrap();
    let mut optimizer = Optimizer::new(q, config, &table).unwrap();
    let [mut weights, mut gradients] = [(); 2].map(|()| ParameterArena::zeros(q, &table).unwrap());
    weights.write(q, w, g.values("steps/start")).unwrap();
    for step in g.values("steps/gradients").chunks_exact(7) {
        gradients.write(q, w, step).unwrap();
        optimizer.step(q, gradients.view(), weights.view_mut(), None).unwrap();
        after.extend(weights.values(q, w).unwrap());
    }
    g.hold_values(&format!("{name}/weights"), &after, STEPS);
}

fn perceptron(g: &Goldens) {
    let (q, x) = (&g.q, g.input("mlp/x"));
    let targets = Tensor::from_values(q, &[8], &g.indices("mlp/targets")).unwrap();
    let names = ["a.weight", "a.bias", "b.weight", "b.bias"];
    let tensor = |name: &str| {
        let (shape, data) = g.inputs[&format!("mlp/{name}")].clone();
        (name.to_owned(), HostTensor { shape, data })
    };
    let start: Tensors = names.into_iter().map(tensor).collect();
    let mut network = Mlp::import(q, &["a", "b"], &start).unwrap();
    let mut training = network.training(q, 8, OptimizerConfig::sgd(0.2, 0.75)).unwrap();
    let mut losses = Vec::new();
    for _ in 0..6 {
        network.train_step(q, &mut training, x.at(), targets.at()).unwrap();
        losses.push(training.loss(q).unwrap());
    }
    g.hold_values("mlp/losses", &losses, STEPS);
    for (name, tensor) in network.tensors(q, &["a", "b"]).unwrap() {
        g.hold_values(&format!("mlp.trained/{name}"), &tensor.data, STEPS);
    }
}
