//! A two-layer network in fixed point over Z_2^64: what the two parties compute on shares, and its plaintext model.

use std::{fs, path::Path};

use anyhow::{Context as _, Result, ensure};
use inference::{
    FRACTION_BITS,
    digits::{CLASSES, PIXELS},
};
use nn_ops::io::{Tensor, Tensors, read_safetensors};

/// A dense layer `y = x W + b` over ring words (two's complement, wrapping).
pub(crate) struct Layer {
    inputs: usize,
    outputs: usize,
    /// `W`, row-major `[inputs][outputs]`, scale `2^FRACTION_BITS`.
    weights: Vec<u64>,
    /// `b`, scale `2^(2 FRACTION_BITS)`.
    bias: Vec<u64>,
}

impl Layer {
    /// Rounds f32 weights `[inputs][outputs]` and biases to fixed point.
    pub(crate) fn from_f32(inputs: usize, outputs: usize, weights: &[f32], bias: &[f32]) -> Result<Self> {
        ensure!(weights.len() == inputs * outputs, "expected {inputs} x {outputs} weights, got {}", weights.len());
        ensure!(bias.len() == outputs, "expected {outputs} biases, got {}", bias.len());
        let round = |values: &[f32], bits: u32| -> Result<Vec<u64>> {
            let scale = f64::from(1u32 << bits);
            let word = |&value: &f32| {
                let scaled = (f64::from(value) * scale).round();
                ensure!(scaled.abs() < f64::from(1 << 30) * scale, "weight {value} does not fit");
                Ok((scaled as i64).cast_unsigned())
            };
            values.iter().map(word).collect()
        };
        Ok(Self { inputs, outputs, weights: round(weights, FRACTION_BITS)?, bias: round(bias, 2 * FRACTION_BITS)? })
    }

    /// Outputs per row.
    pub(crate) fn outputs(&self) -> usize {
        self.outputs
    }

    /// `x W`, and `+ b` where `with_bias`: a linear map, so it applies to additive shares as it does to values; one
    /// party adds the bias.
    pub(crate) fn apply(&self, x: &[u64], with_bias: bool) -> Vec<u64> {
        let mut y = Vec::with_capacity(x.len() / self.inputs * self.outputs);
        for row in x.chunks_exact(self.inputs) {
            let start = y.len();
            if with_bias {
                y.extend_from_slice(&self.bias);
            } else {
                y.resize(start + self.outputs, 0);
            }
            for (&value, weights) in row.iter().zip(self.weights.chunks_exact(self.outputs)) {
                for (sum, &weight) in y[start..].iter_mut().zip(weights) {
                    *sum = sum.wrapping_add(value.wrapping_mul(weight));
                }
            }
        }
        y
    }

    /// The largest `|x W + b|` over all inputs with `|x| <= bound`, a proof from the public weights.
    pub(crate) fn output_bound(&self, bound: u64) -> u128 {
        let magnitude = |word: u64| u128::from(word.cast_signed().unsigned_abs());
        let column = |j: usize| {
            let weights = self.weights.iter().skip(j).step_by(self.outputs);
            weights.map(|&w| magnitude(w) * u128::from(bound)).sum::<u128>() + magnitude(self.bias[j])
        };
        (0..self.outputs).map(column).max().unwrap_or(0)
    }
}

/// Dense layer, truncation, ReLU, dense layer.
pub(crate) struct Network {
    pub(crate) hidden: Layer,
    pub(crate) output: Layer,
}

/// Every intermediate value of a batch, in ring words.
pub(crate) struct Trace {
    pub(crate) linear: Vec<u64>,
    pub(crate) truncated: Vec<u64>,
    pub(crate) activated: Vec<u64>,
    pub(crate) logits: Vec<u64>,
}

impl Network {
    /// Reads `hidden.weight`, `hidden.bias`, `output.weight`, `output.bias` (f32, weights `[inputs][outputs]`) and
    /// rounds them to fixed point.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let bytes = fs::read(path).with_context(|| format!("reading {}", path.display()))?;
        let tensors = read_safetensors(&bytes).with_context(|| format!("parsing {}", path.display()))?;
        Self::from_tensors(&tensors).with_context(|| format!("network in {}", path.display()))
    }

    fn from_tensors(tensors: &Tensors) -> Result<Self> {
        let tensor = |name: &str| -> Result<&Tensor> { tensors.get(name).with_context(|| format!("no `{name}`")) };
        let layer = |name: &str, inputs: usize| -> Result<Layer> {
            let (weight, bias) = (tensor(&format!("{name}.weight"))?, tensor(&format!("{name}.bias"))?);
            Layer::from_f32(inputs, bias.data.len(), &weight.data, &bias.data)
        };
        let hidden = layer("hidden", PIXELS)?;
        let output = layer("output", hidden.outputs)?;
        ensure!(output.outputs == CLASSES, "expected {CLASSES} outputs, got {}", output.outputs);
        Ok(Self { hidden, output })
    }

    /// The largest magnitude that the hidden layer can reach for any image.
    pub(crate) fn linear_bound(&self) -> u128 {
        self.hidden.output_bound(1 << FRACTION_BITS)
    }

    /// The plaintext model: floor division and ReLU on signed readings.
    pub(crate) fn evaluate(&self, x: &[u64]) -> Trace {
        let linear = self.hidden.apply(x, true);
        let floor = |&word: &u64| (word.cast_signed() >> FRACTION_BITS).cast_unsigned();
        let truncated: Vec<u64> = linear.iter().map(floor).collect();
        let relu = |&word: &u64| word.cast_signed().max(0).cast_unsigned();
        let activated: Vec<u64> = truncated.iter().map(relu).collect();
        let logits = self.output.apply(&activated, true);
        Trace { linear, truncated, activated, logits }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layer_is_linear_over_shares_and_bounded_by_its_bound() {
        let layer = Layer::from_f32(2, 2, &[1.0, -0.5, 0.25, 2.0], &[0.5, -1.0]).unwrap();
        let x = [3u64 << FRACTION_BITS, (-2i64 << FRACTION_BITS).cast_unsigned()];
        let share = [0x1234_5678_9abc_def0u64, 42];
        let other = [x[0].wrapping_sub(share[0]), x[1].wrapping_sub(share[1])];
        let sum: Vec<u64> =
            layer.apply(&share, true).iter().zip(layer.apply(&other, false)).map(|(a, b)| a.wrapping_add(b)).collect();
        assert_eq!(sum, layer.apply(&x, true));
        let one = f64::from(1u32 << (2 * FRACTION_BITS));
        let real: Vec<f64> = sum.iter().map(|w| w.cast_signed() as f64 / one).collect();
        assert_eq!(real, [3.0 - 0.5 + 0.5, -1.5 - 4.0 - 1.0]);
        let bound = layer.output_bound(3 << FRACTION_BITS);
        assert!(sum.iter().all(|w| u128::from(w.cast_signed().unsigned_abs()) <= bound));
    }

    #[test]
    fn the_model_floors_and_clips() {
        let hidden = Layer::from_f32(1, 2, &[1.0, -1.0], &[0.0, 0.0]).unwrap();
        let output = Layer::from_f32(2, 1, &[1.0, 1.0], &[0.0]).unwrap();
        let trace = Network { hidden, output }.evaluate(&[1]);
        assert_eq!(trace.linear, [1 << FRACTION_BITS, (-1i64 << FRACTION_BITS).cast_unsigned()]);
        assert_eq!(trace.truncated, [1, u64::MAX]);
        assert_eq!(trace.activated, [1, 0]);
        assert_eq!(trace.logits, [1 << FRACTION_BITS]);
    }
}
