//! Steps of optimisers, and of a perceptron.

use nn_ops::{
    AdamW, Mlp, Parameter, Sgd, Tensor, copy,
    io::{Tensor as HostTensor, Tensors},
};

use super::Goldens;

/// Relative and absolute error after twenty steps.
const STEPS: (f64, f64) = (1e-5, 2e-6);

pub(super) fn hold(g: &Goldens) {
    descent(g, "sgd", Sgd { rate: 0.1, momentum: 0.0, decay: 0.0 });
    descent(g, "sgd.momentum", Sgd { rate: 0.05, momentum: 0.9, decay: 0.0 });
    adam(g, "adam_w", AdamW { rate: 0.01, decay: 0.0625, ..AdamW::default() });
    adam(g, "adam_w.other", AdamW { rate: 0.02, beta1: 0.5, beta2: 0.75, eps: 1e-3, decay: 0.0 });
    perceptron(g);
}

/// The gradients of all steps, in their order.
fn gradients(g: &Goldens) -> std::slice::ChunksExact<'_, f32> {
    g.values("steps/gradients").chunks_exact(7)
}

fn descent(g: &Goldens, name: &str, sgd: Sgd) {
    let (q, mut after) = (&g.q, Vec::new());
    let mut weights = Parameter::from_values(q, &[7], g.values("steps/start")).unwrap();
    for step in gradients(g) {
        let step = Tensor::from_values(q, &[7], step).unwrap();
        let (_, gradient) = weights.value_and_gradient().unwrap();
        copy(q, step.at(), gradient).unwrap();
        weights.descend(q, sgd).unwrap();
        after.extend(weights.tensor(q).unwrap().data);
    }
    g.hold_values(&format!("{name}/weights"), &after, STEPS);
}

fn adam(g: &Goldens, name: &str, adam: AdamW) {
    let (q, mut weights, mut after) = (&g.q, g.input("steps/start"), Vec::new());
    let zeros = || Tensor::from_values(q, &[7], &[0.0; 7]).unwrap();
    let (mut m, mut v) = (zeros(), zeros());
    for (t, step) in (1..).zip(gradients(g)) {
        let step = Tensor::from_values(q, &[7], step).unwrap();
        adam.step(q, t, step.at(), [m.at_mut(), v.at_mut()], weights.at_mut()).unwrap();
        after.extend(weights.values(q).unwrap());
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
    let (mut workspace, mut losses) = (network.workspace(q, 8).unwrap(), Vec::new());
    for _ in 0..6 {
        let sgd = Sgd { rate: 0.2, momentum: 0.75, decay: 0.0 };
        network.train_step(q, &mut workspace, x.at(), targets.at(), sgd).unwrap();
        losses.push(workspace.loss(q).unwrap());
    }
    g.hold_values("mlp/losses", &losses, STEPS);
    for (name, tensor) in network.tensors(q, &["a", "b"]).unwrap() {
        g.hold_values(&format!("mlp.trained/{name}"), &tensor.data, STEPS);
    }
}
