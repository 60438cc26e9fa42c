//! The layers of a transformer: attention and a feed-forward network, with layer norms.
//!
//! Source: Vaswani et al., arXiv 1706.03762; pre-norm and GeLU as in GPT-2 (Radford et al., 2019),
//! post-norm and GeLU as in BERT (Devlin et al., arXiv 1810.04805).

use pfss::{MatrixShape, SignedRange, softmax::RowLayout};

use super::{
    layers::LayerBuilder,
    norm::layer_norm,
    rounding::{Rounding, UnshiftedProduct, product_range},
    shape::{NormPlacement, TransformerBlock, TransformerShape},
};
use crate::{
    InferenceError, Parameter, Tensor,
    fixed_point::{FRACTION_BITS, ONE},
};

/// The weights of layer `index`, in the order of a file.
pub(super) fn layer_parameters(shape: &TransformerShape, index: u32) -> Vec<Parameter> {
    let prefix = prefix(shape, index);
    let dense = |name: &str, inputs: u32, outputs: u32| {
        Parameter::dense(&format!("{prefix}{name}"), inputs as usize, outputs as usize)
    };
    let TransformerShape { width, hidden, .. } = *shape;
    let mut parameters = Vec::new();
    parameters.extend(dense("attention.qkv", width, 3 * width));
    parameters.extend(dense("attention.out", width, width));
    parameters.extend(dense("feed.hidden", width, hidden));
    parameters.extend(dense("feed.out", hidden, width));
    if shape.has_norm_factors() {
        for name in ["attention.norm.weight", "attention.norm.bias", "feed.norm.weight", "feed.norm.bias"] {
            parameters.push(Parameter::stored(&format!("{prefix}{name}"), vec![width as usize]));
        }
    }
    parameters
}

/// The first part of the names in layer `index`, empty if there is one layer.
fn prefix(shape: &TransformerShape, index: u32) -> String {
    if shape.layers == 1 { String::new() } else { format!("layer{index}.") }
}

/// Layer `index` on hidden states `[count][sequence][width]`.
pub(crate) fn layer(
    layers: &mut LayerBuilder<'_>,
    block: &TransformerBlock,
    index: u32,
    x: &Tensor,
) -> Result<Tensor, InferenceError> {
    let prefix = prefix(&block.shape, index);
    let attention_name = format!("{prefix}attention");
    let (attention_norm, feed_norm) = (format!("{prefix}attention.norm"), format!("{prefix}feed.norm"));
    let residual = |sum: Tensor| block.vouched(sum, |limits| limits.residual);
    match block.shape.norm {
        NormPlacement::Pre => {
            let normed = layer_norm(layers, &attention_norm, x, block)?;
            let x = residual(x.add(&attention(layers, &attention_name, &normed, block)?)?)?;
            let normed = layer_norm(layers, &feed_norm, &x, block)?;
            residual(x.add(&feed_forward(layers, &prefix, &normed, block)?)?)
        }
        NormPlacement::Post => {
            let sum = residual(x.add(&attention(layers, &attention_name, x, block)?)?)?;
            let x = layer_norm(layers, &attention_norm, &sum, block)?;
            let sum = residual(x.add(&feed_forward(layers, &prefix, &x, block)?)?)?;
            layer_norm(layers, &feed_norm, &sum, block)
        }
    }
}

/// Attention of every position to its sequence, or to the positions up to its own.
///
/// Of the shape, the width, the heads, the positions and whether it is causal count.
pub(super) fn attention(
    layers: &mut LayerBuilder<'_>,
    name: &str,
    x: &Tensor,
    block: &TransformerBlock,
) -> Result<Tensor, InferenceError> {
    let shape = &block.shape;
    let [positions, width, heads] = [shape.sequence, shape.width, shape.heads].map(|len| len as usize);
    let (head_width, count) = (shape.head_width(), x.words.len() / (positions * width));

    // Queries, keys and values of each head.
    let projected = layers.dense(&format!("{name}.qkv"), x, [shape.width, 3 * shape.width])?;
    let projected = layers.limited(&format!("{name}.qkv"), projected, block.limits.map(|limits| limits.projections))?;
    // [count][position][part][head][unit], brought to [part][count][head][position][unit]
    let parts = projected.permuted([count, positions, 3, heads, head_width], [2, 0, 3, 1, 4]);
    let len = x.words.len();
    let [queries, keys, values] = [0, 1, 2].map(|part| parts.slice(part * len..(part + 1) * len));

    // Weights of attention.
    let batch = count * heads;
    let keys = keys.permuted([batch, positions, head_width], [0, 2, 1]);
    let product = MatrixShape { batch, rows: positions, inner: head_width, cols: positions };
    let range = product_range(head_width, [&queries, &keys])?;
    let rounding = Rounding::new(range, FRACTION_BITS + shape.log_scale())?;
    let scores = layers.matmul(&format!("{name}.scores"), product, [&queries, &keys], rounding)?;
    let weights = attention_weights(layers, name, scores, block)?;

    // Sums of values by these weights, and the layer after them.
    let product = MatrixShape { batch, rows: positions, inner: positions, cols: head_width };
    // A row of weights sums to one within a unit for each, and none is below -2: their magnitudes sum to little more.
    let sum = ONE + 5 * positions as i64;
    let rounding = Rounding::new(values.range.checked_mul(SignedRange::new(-sum, sum)?)?, FRACTION_BITS)?;
    let mixed = layers.matmul(&format!("{name}.mix"), product, [&weights, &values], rounding)?;
    let mixed = layers.round(&format!("{name}.mix.rescale"), mixed)?;
    let mixed = mixed.permuted([count, heads, positions, head_width], [0, 2, 1, 3]);
    layers.dense(&format!("{name}.out"), &mixed, [shape.width, shape.width])
}

/// The softmax of scores `[row][position]`, divided by the root of a head's width.
///
/// In causal attention only the positions up to a row's own are rescaled and enter the softmax; the
/// weights of the others are zero.
fn attention_weights(
    layers: &mut LayerBuilder<'_>,
    name: &str,
    scores: UnshiftedProduct,
    block: &TransformerBlock,
) -> Result<Tensor, InferenceError> {
    let (shape, positions) = (&block.shape, block.shape.sequence as usize);
    let (rescale, softmax) = (format!("{name}.scores.rescale"), format!("{name}.softmax"));
    let limit = block.limits.map(|limits| limits.scores);
    if !shape.causal {
        let scores = layers.round(&rescale, scores)?;
        let scores = layers.limited(&format!("{name}.scores"), scores, limit)?;
        return layers.softmax(&softmax, &scores, positions);
    }
    let lengths: Vec<usize> = (0..scores.words.len() / positions).map(|row| row % positions + 1).collect();
    let layout = RowLayout::ragged(positions, &lengths)?;
    let [pack, spread] = causal_places(positions);
    let words = scores.words.gathered(positions * positions, pack.len(), pack.iter().copied());
    let packed = UnshiftedProduct { words, ..scores };
    let packed = layers.round(&rescale, packed)?;
    let packed = layers.limited(&format!("{name}.scores"), packed, limit)?;
    let weights = layers.softmax_packed(&softmax, &packed, layout)?;
    // the range holds the zeros of the others
    let words = weights.words.gathered(pack.len(), spread.len(), spread.iter().copied());
    Ok(Tensor { words, range: weights.range })
}

/// The places of causal scores in one head's square, and of the square in them.
fn causal_places(positions: usize) -> [Vec<Option<u32>>; 2] {
    let (mut pack, mut spread) = (Vec::new(), Vec::with_capacity(positions * positions));
    for (row, col) in (0..positions).flat_map(|row| (0..positions).map(move |col| (row, col))) {
        let is_active = col <= row;
        // a sequence has at most 1024 positions
        spread.push(is_active.then_some(pack.len() as u32));
        if is_active {
            pack.push(Some((row * positions + col) as u32));
        }
    }
    [pack, spread]
}

/// Dense layer, GeLU, dense layer.
fn feed_forward(
    layers: &mut LayerBuilder<'_>,
    prefix: &str,
    x: &Tensor,
    block: &TransformerBlock,
) -> Result<Tensor, InferenceError> {
    let TransformerShape { width, hidden: units, .. } = block.shape;
    let hidden = layers.dense(&format!("{prefix}feed.hidden"), x, [width, units])?;
    let hidden = block.vouched(hidden, |limits| limits.hidden)?;
    let activated = layers.gelu(&format!("{prefix}feed.gelu"), &hidden)?;
    layers.dense(&format!("{prefix}feed.out"), &activated, [units, width])
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::{Call, Engine, Preference, Words, model::shape::DeclaredLimits};

    const POSITIONS: usize = 5;
    const WIDTH: usize = 12;
    const HEADS: usize = 3;
    const LIMITS: DeclaredLimits =
        DeclaredLimits { weights: 2, residual: 64, deviation: 32, projections: 64, scores: 32, hidden: 64 };

    /// An engine in the clear with weights that fixed point holds exactly.
    struct Clear(HashMap<String, Vec<f64>>);

    impl Engine for Clear {
        fn constant(&self, word: u64) -> u64 {
            word
        }

        fn parameter(&self, name: &str, len: usize) -> Result<Words, InferenceError> {
            let products = name.ends_with(".bias") && !name.contains("norm");
            let one = if products { ONE * ONE } else { ONE };
            let words: Vec<u64> = self.0[name].iter().map(|w| ((w * one as f64) as i64).cast_unsigned()).collect();
            assert_eq!(words.len(), len, "{name}");
            Ok(words.into())
        }

        fn call(&mut self, _: &str, call: &Call<'_>) -> Result<Words, InferenceError> {
            Ok(call.plain()?.into())
        }
    }

    /// Multiples of `2^-12` of magnitude at most 1/2; factors of norms are around 1.
    fn weights(shape: &TransformerShape) -> HashMap<String, Vec<f64>> {
        let mut rng = fastrand::Rng::with_seed(7);
        let parameters = (0..shape.layers).flat_map(|index| layer_parameters(shape, index));
        let values = |parameter: Parameter| {
            let around = f64::from(u8::from(parameter.name.ends_with("norm.weight")));
            let data = (0..parameter.len()).map(|_| around + f64::from(rng.i32(-2048..=2048)) / ONE as f64).collect();
            (parameter.name, data)
        };
        parameters.map(values).collect()
    }

    /// One sequence in double precision, `[position][unit]`.
    struct Real<'a> {
        shape: &'a TransformerShape,
        weights: &'a HashMap<String, Vec<f64>>,
        prefix: String,
    }

    type Rows = Vec<Vec<f64>>;

    impl Real<'_> {
        fn weight(&self, name: &str) -> &[f64] {
            &self.weights[&format!("{}{name}", self.prefix)]
        }

        fn dense(&self, name: &str, x: &[Vec<f64>]) -> Rows {
            let (w, b) = (self.weight(&format!("{name}.weight")), self.weight(&format!("{name}.bias")));
            let unit = |row: &[f64], j: usize| row.iter().enumerate().map(|(i, x)| x * w[i * b.len() + j]).sum::<f64>();
            x.iter().map(|row| (0..b.len()).map(|j| unit(row, j) + b[j]).collect()).collect()
        }

        fn norm(&self, name: &str, x: &[Vec<f64>]) -> Rows {
            let norm = |row: &Vec<f64>| -> Vec<f64> {
                let mean = row.iter().sum::<f64>() / row.len() as f64;
                let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / row.len() as f64;
                let normed = row.iter().map(|x| (x - mean) / (variance + 1.0 / 16.0).sqrt());
                if self.shape.norm == NormPlacement::Pre {
                    return normed.collect();
                }
                let (w, b) = (self.weight(&format!("{name}.weight")), self.weight(&format!("{name}.bias")));
                normed.zip(w.iter().zip(b)).map(|(x, (w, b))| x * w + b).collect()
            };
            x.iter().map(norm).collect()
        }

        fn attention(&self, x: &[Vec<f64>]) -> Rows {
            let (projected, units) = (self.dense("attention.qkv", x), WIDTH / HEADS);
            let part = |row: usize, part: usize, head: usize| &projected[row][part * WIDTH + head * units..][..units];
            let mut mixed = vec![Vec::new(); POSITIONS];
            for (row, mixed) in mixed.iter_mut().enumerate() {
                let seen = if self.shape.causal { row + 1 } else { POSITIONS };
                for head in 0..HEADS {
                    let score = |other: usize| {
                        part(row, 0, head).iter().zip(part(other, 1, head)).map(|(q, k)| q * k).sum::<f64>() / 2.0
                    };
                    let exps: Vec<f64> = (0..seen).map(|other| score(other).exp()).collect();
                    let sum: f64 = exps.iter().sum();
                    for unit in 0..units {
                        mixed.push((0..seen).map(|other| exps[other] / sum * part(other, 2, head)[unit]).sum());
                    }
                }
            }
            self.dense("attention.out", &mixed)
        }

        fn feed_forward(&self, x: &[Vec<f64>]) -> Rows {
            let mut hidden = self.dense("feed.hidden", x);
            hidden.iter_mut().flatten().for_each(|x| *x = real_gelu(*x));
            self.dense("feed.out", &hidden)
        }

        fn layer(&self, x: Rows) -> Rows {
            let add = |mut x: Rows, y: Rows| {
                x.iter_mut().flatten().zip(y.iter().flatten()).for_each(|(x, y)| *x += y);
                x
            };
            if self.shape.norm == NormPlacement::Pre {
                let y = self.attention(&self.norm("attention.norm", &x));
                let x = add(x, y);
                let y = self.feed_forward(&self.norm("feed.norm", &x));
                return add(x, y);
            }
            let y = self.attention(&x);
            let x = self.norm("attention.norm", &add(x, y));
            let y = self.feed_forward(&x);
            self.norm("feed.norm", &add(x, y))
        }
    }

    /// `x Φ(x)`, by the series of the error function (Abramowitz and Stegun, 7.1.6).
    fn real_gelu(x: f64) -> f64 {
        let z = x.abs() / 2f64.sqrt();
        let (mut term, mut sum) = (z, z);
        for n in 1..200 {
            term *= 2.0 * z * z / f64::from(2 * n + 1);
            sum += term;
        }
        let erf = 2.0 / std::f64::consts::PI.sqrt() * (-z * z).exp() * sum;
        x * 0.5 * (1.0 + erf.copysign(x))
    }

    #[test]
    fn layers_of_any_shape_are_those_in_double_precision_up_to_rounding() {
        let shapes = [
            (NormPlacement::Pre, false),
            (NormPlacement::Pre, true),
            (NormPlacement::Post, false),
            (NormPlacement::Post, true),
        ];
        for ((norm, causal), preference) in
            shapes.into_iter().flat_map(|shape| Preference::ALL.map(|preference| (shape, preference)))
        {
            let (layers, width, heads) = (2, WIDTH as u32, HEADS as u32);
            let shape = TransformerShape { layers, width, heads, hidden: 20, sequence: POSITIONS as u32, causal, norm };
            let block = TransformerBlock { shape, limits: Some(LIMITS) };
            let mut rng = fastrand::Rng::with_seed(3);
            let values: Vec<i64> = (0..2 * POSITIONS * WIDTH).map(|_| rng.i64(-2 * ONE..=2 * ONE)).collect();
            let words: Vec<u64> = values.iter().map(|value| value.cast_unsigned()).collect();
            let mut x = Tensor { words: words.into(), range: SignedRange::new(-2 * ONE, 2 * ONE).unwrap() };

            let mut clear = Clear(weights(&shape));
            let mut builder = LayerBuilder { engine: &mut clear, weight_limit: LIMITS.weights, preference };
            for index in 0..layers {
                x = layer(&mut builder, &block, index, &x).unwrap();
            }
            let weights = &clear.0;
            let results = x.words.on_host().unwrap().chunks(POSITIONS * WIDTH);
            for (values, words) in values.chunks(POSITIONS * WIDTH).zip(results) {
                let row = |row: &[i64]| row.iter().map(|&value| value as f64 / ONE as f64).collect();
                let mut exact: Rows = values.chunks(WIDTH).map(row).collect();
                for index in 0..layers {
                    exact = Real { shape: &shape, weights, prefix: prefix(&shape, index) }.layer(exact);
                }
                let error = |(exact, word): (&f64, &u64)| (exact - word.cast_signed() as f64 / ONE as f64).abs();
                let worst = exact.iter().flatten().zip(words).map(error).fold(0.0, f64::max);
                // results are up to 8; dozens of roundings by 2^-13 pass a few matrices with columns of length about 1
                assert!(worst < 0.02, "{norm:?}, causal {causal}, fewest {preference}: {worst}");
                assert!(words.iter().all(|word| {
                    let value = word.cast_signed();
                    x.range.min() <= value && value <= x.range.max()
                }));
            }
        }
    }
}
