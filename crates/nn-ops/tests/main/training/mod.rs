//! Networks that learn: layers, the tape, whole models, and trainings that are resumed.

mod cleared;
mod ensemble;
mod failed;
mod layers;
mod mixed;
mod mlp;
mod precision;
mod resume;
mod tape;

use std::sync::Arc;

use nn_ops::{Init, ParameterArena, ParameterTable, Tensor};
use runtime::AnyQueue;

type Arena = ParameterArena<AnyQueue, f32>;
type Values = Tensor<AnyQueue, f32>;

/// Half the distance of two arguments of a central difference.
const STEP: f32 = 1e-2;

fn drawn(seed: u64, shape: &[usize], site: u32) -> Vec<f32> {
    Init::Uniform { low: -1.0, high: 1.0 }.values(shape, seed, site).unwrap()
}

fn tensor(q: &AnyQueue, shape: &[usize], values: &[f32]) -> Values {
    Tensor::from_values(q, shape, values).unwrap()
}

/// Random values for all parameters, biases and factors too.
fn random(seed: u64, q: &AnyQueue, table: &Arc<ParameterTable>) -> Arena {
    let mut values = ParameterArena::zeros(q, table).unwrap();
    for (site, id) in (100..).zip(table.ids()) {
        values.write(q, id, &drawn(seed, table.layout(id).unwrap().shape(), site)).unwrap();
    }
    values
}

/// Gradients of ones for all parameters.
fn ones(q: &AnyQueue, table: &Arc<ParameterTable>) -> Arena {
    let mut gradients = ParameterArena::zeros(q, table).unwrap();
    for id in table.ids() {
        gradients.write(q, id, &vec![1.0; table.layout(id).unwrap().numel()]).unwrap();
    }
    gradients
}

/// The central difference of `at` along element `i` of `x`.
fn difference(x: &[f32], i: usize, mut at: impl FnMut(&[f32]) -> f64) -> f64 {
    let mut moved = |by: f32| {
        let mut x = x.to_vec();
        x[i] += by;
        (f64::from(x[i]), at(&x))
    };
    let ((high, above), (low, below)) = (moved(STEP), moved(-STEP));
    (above - below) / (high - low)
}

fn expect_close(name: &str, got: f32, expected: f64) {
    assert!((f64::from(got) - expected).abs() < 2e-3 * (1.0 + expected.abs()), "{name}: {got} instead of {expected}");
}
