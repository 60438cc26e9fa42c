//! The calls in f64, written from the plan: `relu(f W + b)`, and gated recurrent units that reset before the product.

use hybrid_accel::AcceleratorWeights;
use nn_ops::{Feedback, GruMember};

use crate::common::{HIDDEN, OUTPUT, STOCHASTIC};

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// `x W` for row-major weights of `columns` columns: `width` of them from `first` on.
fn linear(x: &[f64], w: &[f32], columns: usize, first: usize, width: usize) -> Vec<f64> {
    let sum = |column: usize| {
        x.iter().enumerate().map(|(row, x)| x * f64::from(w[row * columns + first + column])).sum::<f64>()
    };
    (0..width).map(sum).collect()
}

pub(crate) fn encode(weights: &AcceleratorWeights, features: &[f32]) -> Vec<f64> {
    let features: Vec<f64> = features.iter().map(|&x| x.into()).collect();
    let sums = linear(&features, &weights.encoder, OUTPUT, 0, OUTPUT);
    sums.into_iter().zip(&weights.encoder_bias).map(|(sum, &b)| (sum + f64::from(b)).max(0.0)).collect()
}

/// The state after one step: `h + z (c - h)`.
fn step(unit: &GruMember, x: &[f64], h: &[f64]) -> Vec<f64> {
    let of_input = |gate: usize| {
        let sums = linear(x, unit.w(), 3 * HIDDEN, gate * HIDDEN, HIDDEN);
        sums.into_iter().zip(&unit.b()[gate * HIDDEN..]).map(|(sum, &b)| sum + f64::from(b)).collect::<Vec<_>>()
    };
    let gate = |gate: usize, h: &[f64], f: fn(f64) -> f64| {
        let sums = linear(h, unit.u(), 3 * HIDDEN, gate * HIDDEN, HIDDEN);
        of_input(gate).into_iter().zip(sums).map(|(of_input, of_state)| f(of_input + of_state)).collect::<Vec<_>>()
    };
    let (z, r) = (gate(0, h, sigmoid), gate(1, h, sigmoid));
    let reset: Vec<f64> = r.iter().zip(h).map(|(r, h)| r * h).collect();
    let c = gate(2, &reset, f64::tanh);
    (0..HIDDEN).map(|i| h[i] + z[i] * (c[i] - h[i])).collect()
}

/// The loss that a state predicts: `exp(clamp(w . [h, softmax of strided h], -10, 10))`.
fn loss(weights: &AcceleratorWeights, h: &[f64]) -> f64 {
    let logits: Vec<f64> = (0..STOCHASTIC).map(|i| h[i * HIDDEN / STOCHASTIC]).collect();
    let sum: f64 = logits.iter().map(|x| x.exp()).sum();
    let combined = h.iter().copied().chain(logits.iter().map(|x| x.exp() / sum));
    let product: f64 = combined.zip(&weights.loss_head).map(|(x, &w)| x * f64::from(w)).sum();
    product.clamp(-10.0, 10.0).exp()
}

/// The results of a prediction from one code.
pub(crate) struct Predicted {
    /// `[steps][output]`.
    pub(crate) codes: Vec<Vec<f64>>,
    /// `[members][hidden]`.
    pub(crate) last: Vec<Vec<f64>>,
    /// `[steps]`: the mean of the members' losses.
    pub(crate) losses: Vec<f64>,
}

pub(crate) fn predict(weights: &AcceleratorWeights, feedback: Feedback, code: &[f64], steps: usize) -> Predicted {
    let read = |h: &[f64]| {
        let sums = linear(h, &weights.state_head, OUTPUT, 0, OUTPUT);
        sums.into_iter().zip(&weights.state_bias).map(|(sum, &b)| sum + f64::from(b)).collect::<Vec<_>>()
    };
    let mean = |rows: &[Vec<f64>]| {
        (0..rows[0].len()).map(|i| rows.iter().map(|row| row[i]).sum::<f64>() / rows.len() as f64).collect::<Vec<_>>()
    };
    let members = weights.members.len();
    let (mut inputs, mut last) = (vec![code.to_vec(); members], vec![vec![0.0; HIDDEN]; members]);
    let (mut codes, mut losses) = (Vec::new(), Vec::new());
    for _ in 0..steps {
        last = (0..members).map(|i| step(&weights.members[i], &inputs[i], &last[i])).collect();
        let of_members: Vec<f64> = last.iter().map(|h| loss(weights, h)).collect();
        codes.push(read(&mean(&last)));
        losses.push(of_members.iter().sum::<f64>() / members as f64);
        for (i, input) in inputs.iter_mut().enumerate() {
            match feedback {
                Feedback::State => *input = read(&last[i]),
                Feedback::PerMember => input[0] = of_members[i],
                Feedback::EnsembleMean => input[0] = of_members.iter().sum::<f64>() / members as f64,
                Feedback::None => {}
            }
        }
    }
    Predicted { codes, last, losses }
}
