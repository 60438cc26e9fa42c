//! The perceptron's steps against the ops that they are made of, bit for bit.

use backend_api::ops::linalg::{
    ActivateBackward, CrossEntropy, ElementwiseOps as _, Gemm, GemmOps as _, LossOps as _, SumAxis,
};
use core_types::params::{
    elementwise::{Activation, SumParams},
    gemm::{BATCH_AXES, GemmParams, MatrixStrides},
};
use nn_ops::{Mlp, OptimizerConfig, WeightDecay};
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

use crate::common::{batch, batch_on};

const SIZES: [usize; 3] = [5, 7, 3];
const RATE: f32 = 0.1;
const MOMENTUM: f32 = 0.9;
/// What decay takes from a weight.
const FADE: f32 = 0.001;
const SGD: OptimizerConfig = OptimizerConfig { decay: WeightDecay::Decoupled(0.01), ..OptimizerConfig::sgd(0.1, 0.9) };

/// A factor of a product: strides, and elements.
type Factor<'a> = (MatrixStrides, &'a [f32]);

fn row_major(cols: usize, elements: &[f32]) -> Factor<'_> {
    (MatrixStrides { batch: [0; BATCH_AXES], row: cols as u64, col: 1 }, elements)
}

/// The transpose of a row-major matrix with `cols` columns.
fn transposed(cols: usize, elements: &[f32]) -> Factor<'_> {
    (MatrixStrides { batch: [0; BATCH_AXES], row: 1, col: cols as u64 }, elements)
}

/// A layer's value and running sum of gradients.
struct TrainedParameter {
    value: Vec<f32>,
    velocity: Vec<f32>,
}

impl TrainedParameter {
    fn new(value: &[f32]) -> Self {
        Self { value: value.to_vec(), velocity: vec![0.0; value.len()] }
    }

    /// Weights decay, biases do not.
    fn descend(&mut self, gradient: &[f32], fade: f32) {
        for ((w, v), g) in self.value.iter_mut().zip(&mut self.velocity).zip(gradient) {
            *v = MOMENTUM * *v + g;
            *w -= fade * *w + RATE * *v;
        }
    }
}

/// `f(A B + bias)`, row-major `m x n`.
fn product(
    [m, n, k]: [usize; 3],
    (a, a_elements): Factor<'_>,
    (b, b_elements): Factor<'_>,
    bias: Option<&[f32]>,
    activation: Activation,
) -> Vec<f32> {
    let (mut result, (c, _)) = (vec![0.0; m * n], row_major(n, &[]));
    let (m, n, k, batch) = (m as u64, n as u64, k as u64, [1; BATCH_AXES]);
    let params = GemmParams { batch, m, n, k, a, b, c, accumulate: 0, activation, alpha: 1.0, reserved: 0 };
    let op = Gemm { params: &params, a: a_elements, b: b_elements, bias, c: &mut result[..] };
    runtime::cpu().expect("a processor").gemm(op).expect("views that fit");
    result
}

/// A step of a network's layers, weights and biases, that gives the losses.
fn step([first, second]: &mut [[TrainedParameter; 2]; 2], x: &[f32], y: &[u32]) -> Vec<f32> {
    let q = runtime::cpu().expect("a processor");
    let (rows, [inputs, hidden, classes]) = (y.len(), SIZES);
    let weights = row_major(hidden, &first[0].value);
    let activated =
        product([rows, hidden, inputs], row_major(inputs, x), weights, Some(&first[1].value), Activation::Relu);
    let weights = row_major(classes, &second[0].value);
    let bias = Some(&second[1].value[..]);
    let logits = product([rows, classes, hidden], row_major(hidden, &activated), weights, bias, Activation::Identity);

    let (mut losses, mut d) = (vec![0.0; rows], vec![0.0; rows * classes]);
    let scale = 1.0 / rows as f32;
    q.cross_entropy(CrossEntropy {
        classes,
        scale,
        logits: &logits[..],
        targets: y,
        losses: &mut losses[..],
        dlogits: &mut d[..],
    })
    .expect("views that fit");

    let weights = transposed(classes, &second[0].value);
    let g = product([rows, hidden, classes], row_major(classes, &d), weights, None, Activation::Identity);
    let mut below = vec![0.0; rows * hidden];
    q.activate_backward(ActivateBackward { f: Activation::Relu, saved: &activated[..], g: &g[..], dx: &mut below[..] })
        .expect("views that fit");
    for (layer, [inputs, outputs], x, d) in
        [(second, [hidden, classes], &activated[..], &d), (first, [inputs, hidden], x, &below)]
    {
        let of_weights =
            product([inputs, outputs, rows], transposed(inputs, x), row_major(outputs, d), None, Activation::Identity);
        let mut of_biases = vec![0.0; outputs];
        let params = SumParams { outer: 1, len: rows as u64, inner: outputs as u64, accumulate: 0 };
        q.sum_axis(SumAxis { params: &params, x: &d[..], y: &mut of_biases[..] }).expect("views that fit");
        layer[0].descend(&of_weights, FADE);
        layer[1].descend(&of_biases, 0.0);
    }
    losses
}

#[test]
fn a_step_is_bit_for_bit_what_its_ops_make() {
    let q = runtime::cpu().unwrap();
    let (x, y) = batch(11);
    let (xs, ys) = batch_on::<_, f32>(&q, 11);
    let mut network = Mlp::new(&q, &SIZES, &mut ChaCha8Rng::seed_from_u64(6)).unwrap();
    let start = network.tensors(&q, &["a", "b"]).unwrap();
    let mut layers = ["a", "b"]
        .map(|name| ["weight", "bias"].map(|part| TrainedParameter::new(&start[&format!("{name}.{part}")].data)));
    let mut training = network.training(&q, 11, SGD).unwrap();
    for rows in [11, 4, 11, 11] {
        let (xs, ys) = (xs.at().narrowed(0, 0..rows).unwrap(), ys.at().narrowed(0, 0..rows).unwrap());
        network.train_step(&q, &mut training, xs, ys).unwrap();
        let losses = step(&mut layers, &x[..rows * SIZES[0]], &y[..rows]);
        let mean = losses.into_iter().map(f64::from).sum::<f64>() / rows as f64;
        assert_eq!(training.loss(&q).unwrap().to_bits(), (mean as f32).to_bits());
    }
    let trained = network.tensors(&q, &["a", "b"]).unwrap();
    for (name, layer) in ["a", "b"].into_iter().zip(&layers) {
        for (part, expected) in ["weight", "bias"].into_iter().zip(layer) {
            let bits = |values: &[f32]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&trained[&format!("{name}.{part}")].data), bits(&expected.value), "{name}.{part}");
        }
    }
}
