//! A block of a transformer with its gradients, and MiniLM from its file, against a model in f64.

use std::{collections::BTreeMap, error::Error};

use trefoil::CpuQueue;
use trefoil::nn_ops::{
    Activation, AttentionOptions, Functional, Init, NnError, Tensor,
    io::{Tensor as Saved, Tensors, write_safetensors},
};

type Device = Tensor<CpuQueue, f32>;

/// Batch, time, heads, and features of a head.
const SIZES: [usize; 4] = [2, 5, 2, 3];
const BATCH: usize = SIZES[0];
const TIME: usize = SIZES[1];
const HEADS: usize = SIZES[2];
const SIZE: usize = SIZES[3];
const WIDTH: usize = HEADS * SIZE;

/// Tokens of each sentence; the others are padding.
const LENS: [usize; BATCH] = [5, 3];

/// Of the norms of a block, and of MiniLM.
const EPS: f32 = 1e-5;
const BERT_EPS: f32 = 1e-12;

/// Of central differences in f64.
const STEP: f64 = 1e-5;

/// The input and the weights of a block, with their shapes, in the order of its gradients.
const BLOCK: [(&str, &[usize]); 13] = [
    ("x", &[BATCH, TIME, WIDTH]),
    ("gamma_1", &[WIDTH]),
    ("beta_1", &[WIDTH]),
    ("qkv", &[WIDTH, 3 * WIDTH]),
    ("qkv_bias", &[3 * WIDTH]),
    ("out", &[WIDTH, WIDTH]),
    ("out_bias", &[WIDTH]),
    ("gamma_2", &[WIDTH]),
    ("beta_2", &[WIDTH]),
    ("up", &[WIDTH, 8]),
    ("up_bias", &[8]),
    ("down", &[8, WIDTH]),
    ("down_bias", &[WIDTH]),
];

/// The output of a block, and the gradients of its input and weights for the gradient `g` of the output.
fn block(q: &CpuQueue, w: &BTreeMap<&str, Device>, g: &Device) -> Result<(Device, [Device; 13]), NnError> {
    // Forward.
    let (x, at) = (&w["x"], |name: &str| Some(w[name].at()));
    let causal = AttentionOptions { causal: Some(0), ..AttentionOptions::default() };
    let (n, n_stats) = q.layer_norm(x, at("gamma_1"), at("beta_1"), EPS)?;
    let packed = q.linear(&n, &w["qkv"], at("qkv_bias"), Activation::Identity)?;
    let heads = packed.reshaped(&[BATCH, TIME, 3, HEADS, SIZE])?;
    let (query, key, value) = (heads.indexed(2, 0)?, heads.indexed(2, 1)?, heads.indexed(2, 2)?);
    let attended = q.attention(&query, &key, &value, causal)?;
    let mixed = attended.0.reshaped(&[BATCH, TIME, WIDTH])?;
    let h = q.add(x, &q.linear(&mixed, &w["out"], at("out_bias"), Activation::Identity)?)?;
    let (m, m_stats) = q.layer_norm(&h, at("gamma_2"), at("beta_2"), EPS)?;
    let up = q.linear(&m, &w["up"], at("up_bias"), Activation::Identity)?;
    let active = q.activate(Activation::GeluErf, &up)?;
    let y = q.add(&h, &q.linear(&active, &w["down"], at("down_bias"), Activation::Identity)?)?;

    // Backward.
    let [of_active, down, down_bias] = q.linear_backward(&active, &w["down"], g)?;
    let of_up = q.activate_backward(Activation::GeluErf, &up, &of_active)?;
    let [of_m, up, up_bias] = q.linear_backward(&m, &w["up"], &of_up)?;
    let [of_h, gamma_2, beta_2] = q.layer_norm_backward(&h, at("gamma_2"), &m_stats, &of_m)?;
    let of_h = q.add(g, &of_h)?;
    let [of_mixed, out, out_bias] = q.linear_backward(&mixed, &w["out"], &of_h)?;
    let parts = q.attention_backward(&query, &key, &value, causal, &attended, &of_mixed.reshaped(&SIZES)?)?;
    let of_packed = q.concat(2, &parts.each_ref().map(Tensor::at))?.into_shape(&[BATCH, TIME, 3 * WIDTH])?;
    let [of_n, qkv, qkv_bias] = q.linear_backward(&n, &w["qkv"], &of_packed)?;
    let [of_x, gamma, beta] = q.layer_norm_backward(x, at("gamma_1"), &n_stats, &of_n)?;
    let x = q.add(&of_h, &of_x)?;
    Ok((y, [x, gamma, beta, qkv, qkv_bias, out, out_bias, gamma_2, beta_2, up, up_bias, down, down_bias]))
}

mod program {
    use trefoil::nn_ops::{BertEncoder, io::read_safetensors};

    /// Embeddings of padded sentences of tokens `[batch, rows]` by the file of a MiniLM or of another BERT.
    pub(super) fn embed(
        (file, heads, eps): (&[u8], usize, f32),
        (tokens, shape, keep): (&[u32], [usize; 2], &[bool]),
    ) -> Result<Vec<f32>, Box<dyn std::error::Error>> {
        let q = trefoil::cpu()?;
        let encoder = BertEncoder::new(&q, &read_safetensors(file)?, heads, eps)?;
        Ok(encoder.embed(&q, tokens, shape, Some(keep))?.values(&q)?)
    }
}

/// The formulas of the layers in f64, on row-major values.
mod model {
    use super::{BATCH, HEADS, SIZE, TIME, WIDTH};

    pub(super) fn sum(a: &[f64], b: &[f64]) -> Vec<f64> {
        a.iter().zip(b).map(|(a, b)| a + b).collect()
    }

    /// `x w + bias`, w `[inputs, outputs]`.
    pub(super) fn linear(x: &[f64], w: &[f64], bias: &[f64]) -> Vec<f64> {
        let (inputs, outputs) = (w.len() / bias.len(), bias.len());
        let of_row = |row: &[f64]| -> Vec<f64> {
            let product = |c: usize| row.iter().enumerate().map(|(k, x)| x * w[k * outputs + c]).sum::<f64>();
            (0..outputs).map(|c| bias[c] + product(c)).collect()
        };
        x.chunks_exact(inputs).flat_map(of_row).collect()
    }

    pub(super) fn norm(x: &[f64], [gamma, beta]: [&[f64]; 2], eps: f32) -> Vec<f64> {
        let of_row = |row: &[f64]| -> Vec<f64> {
            let mean = row.iter().sum::<f64>() / row.len() as f64;
            let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / row.len() as f64;
            let root = (variance + f64::from(eps)).sqrt();
            (0..row.len()).map(|c| (row[c] - mean) / root * gamma[c] + beta[c]).collect()
        };
        x.chunks_exact(WIDTH).flat_map(of_row).collect()
    }

    /// Attention of queries, keys and values `[batch, time, width]`, of the keys before `end(batch, time)`.
    pub(super) fn attention([query, key, value]: [&[f64]; 3], end: impl Fn(usize, usize) -> usize) -> Vec<f64> {
        let mut mixed = vec![0.0; query.len()];
        for (batch, head) in (0..BATCH).flat_map(|batch| (0..HEADS).map(move |head| (batch, head))) {
            let place = |time: usize| (batch * TIME + time) * WIDTH + head * SIZE;
            for time in 0..TIME {
                let end = end(batch, time);
                let dot = |other: usize| (0..SIZE).map(|d| query[place(time) + d] * key[place(other) + d]).sum::<f64>();
                let weights: Vec<f64> = (0..end).map(|other| (dot(other) / (SIZE as f64).sqrt()).exp()).collect();
                let total = weights.iter().sum::<f64>();
                for (other, weight) in weights.iter().enumerate() {
                    (0..SIZE).for_each(|d| mixed[place(time) + d] += weight / total * value[place(other) + d]);
                }
            }
        }
        mixed
    }

    /// x Phi(x), with the series of the error function.
    pub(super) fn gelu(x: &f64) -> f64 {
        let z = x / 2f64.sqrt();
        let (mut term, mut erf) = (z, z);
        for n in 1..80 {
            term *= -z * z / f64::from(n);
            erf += term / f64::from(2 * n + 1);
        }
        x * (0.5 + erf / std::f64::consts::PI.sqrt())
    }
}

/// Values of a tensor that nothing has trained; `site` distinguishes tensors.
fn values(shape: &[usize], site: usize) -> Vec<f32> {
    Init::Uniform { low: -1.0, high: 1.0 }.values(shape, 11, site as u32).expect("a small shape")
}

fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().copied().map(f64::from).collect()
}

fn assert_close(name: &str, got: &[f32], expected: &[f64]) {
    assert_eq!(got.len(), expected.len(), "{name}");
    for (at, (&got, &expected)) in got.iter().zip(expected).enumerate() {
        let error = (f64::from(got) - expected).abs();
        assert!(error < 5e-5 * (1.0 + expected.abs()), "{name}, element {at}: {got} instead of {expected}");
    }
}

/// The output of a block in f64.
fn block_model(w: &BTreeMap<&str, Vec<f64>>) -> Vec<f64> {
    let packed = model::linear(&model::norm(&w["x"], [&w["gamma_1"], &w["beta_1"]], EPS), &w["qkv"], &w["qkv_bias"]);
    let part =
        |part: usize| -> Vec<f64> { packed.chunks_exact(WIDTH).skip(part).step_by(3).flatten().copied().collect() };
    let mixed = model::attention([&part(0), &part(1), &part(2)], |_, time| time + 1);
    let h = model::sum(&w["x"], &model::linear(&mixed, &w["out"], &w["out_bias"]));
    let up = model::linear(&model::norm(&h, [&w["gamma_2"], &w["beta_2"]], EPS), &w["up"], &w["up_bias"]);
    let active: Vec<f64> = up.iter().map(model::gelu).collect();
    model::sum(&h, &model::linear(&active, &w["down"], &w["down_bias"]))
}

#[test]
fn a_block_and_its_gradients_match_the_model() -> Result<(), Box<dyn Error>> {
    let q = trefoil::cpu()?;
    let (mut w, mut exact) = (BTreeMap::new(), BTreeMap::new());
    for (site, (name, shape)) in BLOCK.into_iter().enumerate() {
        let values = values(shape, site);
        w.insert(name, Tensor::from_values(&q, shape, &values)?);
        exact.insert(name, wide(&values));
    }
    let upstream = values(&[BATCH, TIME, WIDTH], BLOCK.len());
    let (y, gradients) = block(&q, &w, &Tensor::from_values(&q, &[BATCH, TIME, WIDTH], &upstream)?)?;
    assert_close("y", &y.values(&q)?, &block_model(&exact));

    // Central differences of the sum of the outputs times their gradients.
    let loss = |w: &BTreeMap<&str, Vec<f64>>| -> f64 {
        block_model(w).iter().zip(&upstream).map(|(y, &g)| y * f64::from(g)).sum()
    };
    for ((name, shape), gradient) in BLOCK.into_iter().zip(&gradients) {
        assert_eq!(gradient.layout().shape(), shape, "{name}");
        let mut slope = |at: usize| {
            let value = exact[name][at];
            let [above, below] = [value + STEP, value - STEP].map(|moved| {
                exact.get_mut(name).expect("a tensor of the block")[at] = moved;
                loss(&exact)
            });
            exact.get_mut(name).expect("a tensor of the block")[at] = value;
            (above - below) / (2.0 * STEP)
        };
        let expected: Vec<f64> = (0..shape.iter().product::<usize>()).map(&mut slope).collect();
        assert_close(name, &gradient.values(&q)?, &expected);
    }
    Ok(())
}

/// A file with the names of MiniLM's tensors, of a vocabulary of 7 and a hidden width of 8.
fn bert(layers: usize) -> Tensors {
    let dense = |name: &str, [outputs, inputs]: [usize; 2]| {
        [(format!("{name}.weight"), vec![outputs, inputs]), (format!("{name}.bias"), vec![outputs])]
    };
    let norm = |name: &str| ["weight", "bias"].map(|part| (format!("{name}.{part}"), vec![WIDTH]));
    let table = |(name, rows): (&str, usize)| (format!("embeddings.{name}_embeddings.weight"), vec![rows, WIDTH]);
    let mut shapes = Vec::from([("word", 7), ("position", 9), ("token_type", 2)].map(table));
    shapes.extend(norm("embeddings.LayerNorm"));
    for layer in (0..layers).map(|layer| format!("encoder.layer.{layer}")) {
        for part in ["self.query", "self.key", "self.value", "output.dense"] {
            shapes.extend(dense(&format!("{layer}.attention.{part}"), [WIDTH; 2]));
        }
        shapes.extend(norm(&format!("{layer}.attention.output.LayerNorm")));
        shapes.extend(dense(&format!("{layer}.intermediate.dense"), [8, WIDTH]));
        shapes.extend(dense(&format!("{layer}.output.dense"), [WIDTH, 8]));
        shapes.extend(norm(&format!("{layer}.output.LayerNorm")));
    }
    let saved = |(site, (name, shape)): (usize, (String, Vec<usize>))| {
        let data = values(&shape, site);
        (name, Saved { shape, data })
    };
    shapes.into_iter().enumerate().map(saved).collect()
}

/// The embeddings of sentences of [`LENS`] tokens in f64.
fn embed_model(file: &Tensors, tokens: &[u32], layers: usize) -> Vec<f64> {
    let w = |name: &str| wide(&file[name].data);
    let dense = |name: &str, x: &[f64]| -> Vec<f64> {
        let &[outputs, inputs] = &file[&format!("{name}.weight")].shape[..] else { panic!("{name} is no matrix") };
        let w = w(&format!("{name}.weight"));
        let turned: Vec<f64> = (0..w.len()).map(|at| w[at % outputs * inputs + at / outputs]).collect();
        model::linear(x, &turned, &wide(&file[&format!("{name}.bias")].data))
    };
    let norm =
        |name: &str, x: &[f64]| model::norm(x, [&w(&format!("{name}.weight")), &w(&format!("{name}.bias"))], BERT_EPS);
    let [words, places, kinds] =
        ["word", "position", "token_type"].map(|name| w(&format!("embeddings.{name}_embeddings.weight")));
    let first = (0..BATCH * TIME * WIDTH).map(|at| {
        let (row, c) = (at / WIDTH, at % WIDTH);
        words[tokens[row] as usize * WIDTH + c] + places[row % TIME * WIDTH + c] + kinds[c]
    });
    let mut x = norm("embeddings.LayerNorm", &first.collect::<Vec<_>>());
    for name in (0..layers).map(|layer| format!("encoder.layer.{layer}")) {
        let [query, key, value] =
            ["query", "key", "value"].map(|part| dense(&format!("{name}.attention.self.{part}"), &x));
        let mixed = model::attention([&query, &key, &value], |batch, _| LENS[batch]);
        let mixed = dense(&format!("{name}.attention.output.dense"), &mixed);
        x = norm(&format!("{name}.attention.output.LayerNorm"), &model::sum(&x, &mixed));
        let up = dense(&format!("{name}.intermediate.dense"), &x);
        let active: Vec<f64> = up.iter().map(model::gelu).collect();
        x = norm(
            &format!("{name}.output.LayerNorm"),
            &model::sum(&x, &dense(&format!("{name}.output.dense"), &active)),
        );
    }
    let mean = |batch: usize, c: usize| {
        let (len, state) = (LENS[batch], |time: usize| x[(batch * TIME + time) * WIDTH + c]);
        (0..len).map(state).sum::<f64>() / len as f64
    };
    (0..BATCH * WIDTH).map(|at| mean(at / WIDTH, at % WIDTH)).collect()
}

#[test]
fn a_sentence_encoder_runs_from_its_file() -> Result<(), Box<dyn Error>> {
    let file = bert(2);
    let tokens: Vec<u32> = (0..BATCH * TIME).map(|place| (place * 5 % 7) as u32).collect();
    let keep: Vec<bool> = LENS.iter().flat_map(|&len| (0..TIME).map(move |time| time < len)).collect();
    let bytes = write_safetensors(&file)?;
    let embeddings = program::embed((&bytes, HEADS, BERT_EPS), (&tokens, [BATCH, TIME], &keep))?;
    assert_close("embeddings", &embeddings, &embed_model(&file, &tokens, 2));
    Ok(())
}

/// The programs take no more lines than these: a function's body, and a whole module with its imports.
#[test]
fn the_programs_are_short() {
    for (name, most) in [("fn block(", 27), ("mod program {", 12)] {
        let (_, program) = include_str!("transformer.rs").split_once(name).expect("the program");
        let (body, _) = program.split_once("\n}\n").expect("its end");
        let is_code = |line: &&str| !line.is_empty() && !line.trim_start().starts_with("///");
        let lines = body.lines().skip(1).filter(is_code).count();
        assert!(lines <= most, "{name}: {lines} lines");
    }
}
