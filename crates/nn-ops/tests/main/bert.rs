//! Sentence embeddings by a BERT against a model in f64, and a file with the names, shapes and types of MiniLM's tensors.

use std::collections::BTreeMap;

use backend_api::Queue as _;
use nn_ops::{
    BertEncoder, Init, NnError,
    io::{self, Tensors, read_safetensors},
};
use runtime::AnyQueue;
use safetensors::{Dtype, tensor::TensorView};

use crate::common::on_each_device;

/// The eps of MiniLM.
const EPS: f32 = 1e-12;

/// The sizes of an encoder.
#[derive(Clone, Copy)]
struct Sizes {
    words: usize,
    positions: usize,
    width: usize,
    heads: usize,
    inner: usize,
    layers: usize,
}

const TINY: Sizes = Sizes { words: 7, positions: 9, width: 6, heads: 2, inner: 8, layers: 2 };

/// all-MiniLM-L6-v2.
const MINI_LM: Sizes = Sizes { words: 30_522, positions: 512, width: 384, heads: 12, inner: 1536, layers: 6 };

/// The names and shapes of the tensors of floats, pooler included.
fn shapes(sizes: Sizes) -> Vec<(String, Vec<usize>)> {
    let Sizes { words, positions, width, inner, layers, .. } = sizes;
    let dense = |name: &str, [outputs, inputs]: [usize; 2]| {
        [(format!("{name}.weight"), vec![outputs, inputs]), (format!("{name}.bias"), vec![outputs])]
    };
    let norm = |name: &str| ["weight", "bias"].map(|part| (format!("{name}.LayerNorm.{part}"), vec![width]));
    let table = |(name, rows): (&str, usize)| (format!("embeddings.{name}_embeddings.weight"), vec![rows, width]);
    let mut shapes = Vec::from([("word", words), ("position", positions), ("token_type", 2)].map(table));
    shapes.extend(norm("embeddings"));
    for layer in (0..layers).map(|layer| format!("encoder.layer.{layer}")) {
        for part in ["self.query", "self.key", "self.value", "output.dense"] {
            shapes.extend(dense(&format!("{layer}.attention.{part}"), [width; 2]));
        }
        shapes.extend(norm(&format!("{layer}.attention.output")));
        shapes.extend(dense(&format!("{layer}.intermediate.dense"), [inner, width]));
        shapes.extend(dense(&format!("{layer}.output.dense"), [width, inner]));
        shapes.extend(norm(&format!("{layer}.output")));
    }
    shapes.extend(dense("pooler.dense", [width; 2]));
    shapes
}

/// A file of seeded weights in `-scale..scale`, with the factors of norms around 1.
///
/// It has the position numbers as integers, as the published files.
fn file(sizes: Sizes, scale: f32) -> Vec<u8> {
    let mut tensors = BTreeMap::new();
    for (site, (name, shape)) in (0..).zip(shapes(sizes)) {
        // Large tensors repeat their first values, with a period that is no number of rows: drawing all takes seconds.
        let count: usize = shape.iter().product();
        let mut values = Init::Uniform { low: -scale, high: scale }.values(&[count.min(65_521)], 5, site).unwrap();
        if name.ends_with("LayerNorm.weight") {
            values.iter_mut().for_each(|value| *value += 1.0);
        }
        let period: Vec<u8> = values.into_iter().flat_map(f32::to_le_bytes).collect();
        let mut bytes = period.repeat((4 * count).div_ceil(period.len()));
        bytes.truncate(4 * count);
        tensors.insert(name, (Dtype::F32, shape, bytes));
    }
    let positions = (0..sizes.positions as i64).flat_map(i64::to_le_bytes).collect();
    tensors.insert("embeddings.position_ids".to_owned(), (Dtype::I64, vec![1, sizes.positions], positions));
    let views = tensors
        .iter()
        .map(|(name, (dtype, shape, bytes))| (name, TensorView::new(*dtype, shape.clone(), bytes).unwrap()));
    safetensors::serialize(views, None).unwrap()
}

/// The states and the embeddings of the sequences in f64, with the kept tokens alone.
struct ReferenceModel<'a> {
    file: &'a Tensors,
    sizes: Sizes,
}

impl ReferenceModel<'_> {
    fn values(&self, name: &str) -> Vec<f64> {
        self.file[name].data.iter().copied().map(f64::from).collect()
    }

    /// Rows times the transposed weights, plus the bias.
    fn dense(&self, name: &str, x: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let (weight, bias) = (self.values(&format!("{name}.weight")), self.values(&format!("{name}.bias")));
        let output = |row: &[f64]| -> Vec<f64> {
            let dot = |weights: &[f64]| row.iter().zip(weights).map(|(x, w)| x * w).sum::<f64>();
            weight.chunks_exact(row.len()).zip(&bias).map(|(weights, bias)| dot(weights) + bias).collect()
        };
        x.iter().map(|row| output(row)).collect()
    }

    /// The norm of the sums of two lists of rows.
    fn norm(&self, name: &str, a: &[Vec<f64>], b: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let [gamma, beta] = ["weight", "bias"].map(|part| self.values(&format!("{name}.LayerNorm.{part}")));
        let normed = |(a, b): (&Vec<f64>, &Vec<f64>)| -> Vec<f64> {
            let sum: Vec<f64> = a.iter().zip(b).map(|(a, b)| a + b).collect();
            let mean = sum.iter().sum::<f64>() / sum.len() as f64;
            let variance = sum.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / sum.len() as f64;
            let root = (variance + f64::from(EPS)).sqrt();
            (0..sum.len()).map(|c| (sum[c] - mean) / root * gamma[c] + beta[c]).collect()
        };
        a.iter().zip(b).map(normed).collect()
    }

    /// Attention of all rows to all rows.
    fn attention(&self, name: &str, x: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let [query, key, value] = ["query", "key", "value"].map(|part| self.dense(&format!("{name}.{part}"), x));
        let size = self.sizes.width / self.sizes.heads;
        let mut mixed = vec![vec![0.0; self.sizes.width]; x.len()];
        for (row, head) in (0..x.len()).flat_map(|row| (0..self.sizes.heads).map(move |head| (row, head))) {
            let at = head * size..(head + 1) * size;
            let dot =
                |key: &Vec<f64>| query[row][at.clone()].iter().zip(&key[at.clone()]).map(|(q, k)| q * k).sum::<f64>();
            let weights: Vec<f64> = key.iter().map(|key| (dot(key) / (size as f64).sqrt()).exp()).collect();
            let total: f64 = weights.iter().sum();
            for (weight, value) in weights.iter().zip(&value) {
                at.clone().for_each(|c| mixed[row][c] += weight / total * value[c]);
            }
        }
        mixed
    }

    /// The states of one sequence.
    fn states(&self, tokens: &[u32]) -> Vec<Vec<f64>> {
        let row = |table: &str, row: usize| -> Vec<f64> {
            let io::Tensor { shape, data } = &self.file[&format!("embeddings.{table}_embeddings.weight")];
            data.chunks_exact(shape[1]).nth(row).unwrap().iter().copied().map(f64::from).collect()
        };
        let of_words: Vec<_> = tokens.iter().map(|&token| row("word", token as usize)).collect();
        let of_type = row("token_type", 0);
        let of_places = |place| row("position", place).iter().zip(&of_type).map(|(a, b)| a + b).collect();
        let of_places: Vec<Vec<f64>> = (0..tokens.len()).map(of_places).collect();
        let mut x = self.norm("embeddings", &of_words, &of_places);
        for layer in (0..self.sizes.layers).map(|layer| format!("encoder.layer.{layer}")) {
            let mixed = self.attention(&format!("{layer}.attention.self"), &x);
            let mixed = self.dense(&format!("{layer}.attention.output.dense"), &mixed);
            x = self.norm(&format!("{layer}.attention.output"), &mixed, &x);
            let mut up = self.dense(&format!("{layer}.intermediate.dense"), &x);
            up.iter_mut().flatten().for_each(|x| *x = gelu(*x));
            x = self.norm(&format!("{layer}.output"), &self.dense(&format!("{layer}.output.dense"), &up), &x);
        }
        x
    }

    /// The mean of the states of one sequence.
    fn embedding(&self, tokens: &[u32]) -> Vec<f64> {
        let states = self.states(tokens);
        (0..self.sizes.width).map(|c| states.iter().map(|row| row[c]).sum::<f64>() / states.len() as f64).collect()
    }
}

/// x Phi(x), with the series of the error function.
fn gelu(x: f64) -> f64 {
    let z = x / 2f64.sqrt();
    let (mut term, mut erf) = (z, z);
    for n in 1..80 {
        term *= -z * z / f64::from(n);
        erf += term / f64::from(2 * n + 1);
    }
    x * (0.5 + erf / std::f64::consts::PI.sqrt())
}

fn expect_close(name: &str, got: &[f32], expected: &[f64]) {
    assert_eq!(got.len(), expected.len(), "{name}");
    for (at, (&got, &expected)) in got.iter().zip(expected).enumerate() {
        assert!(
            (f64::from(got) - expected).abs() < 5e-5 * (1.0 + expected.abs()),
            "{name} {at}: {got}, not {expected}"
        );
    }
}

fn encoder(q: &AnyQueue, file: &Tensors) -> BertEncoder<AnyQueue> {
    BertEncoder::new(q, file, TINY.heads, EPS).unwrap()
}

/// Two sequences of five tokens; the second has three and padding.
const TOKENS: [u32; 10] = [1, 6, 2, 5, 3, 4, 1, 6, 0, 0];
const KEEP: [bool; 10] = [true, true, true, true, true, true, true, true, false, false];

#[test]
fn embeddings_of_padded_sequences_match_the_model_of_their_tokens() {
    let file = read_safetensors(&file(TINY, 1.0)).unwrap();
    let model = ReferenceModel { file: &file, sizes: TINY };
    let (first, second) = TOKENS.split_at(5);
    let expected = [model.embedding(first), model.embedding(&second[..3])].concat();
    on_each_device(|q| {
        let encoder = encoder(q, &file);
        assert_eq!(encoder.width(), TINY.width);
        let padded = encoder.embed(q, &TOKENS, [2, 5], Some(&KEEP)).unwrap();
        assert_eq!(padded.layout().shape(), [2, TINY.width]);
        expect_close("padded", &padded.values(q).unwrap(), &expected);

        // Without padding, and the states.
        let whole = encoder.embed(q, first, [1, 5], None).unwrap();
        expect_close("whole", &whole.values(q).unwrap(), &expected[..TINY.width]);
        let states = encoder.states(q, &TOKENS, [2, 5], Some(&KEEP)).unwrap().values(q).unwrap();
        let expected = [model.states(first), model.states(&second[..3])].concat().concat();
        expect_close("states", &states[..8 * TINY.width], &expected);

        // Left out in the middle: its position counts, its word does not.
        let (gap, keep) = ([4, 2, 1], [true, false, true]);
        let embedding = |tokens: &[u32; 3]| encoder.embed(q, tokens, [1, 3], Some(&keep)).unwrap().values(q).unwrap();
        assert_eq!(embedding(&gap), embedding(&[4, 5, 1]));
    });
}

#[test]
fn values_of_padding_do_not_spread() {
    let file = read_safetensors(&file(TINY, 1.0)).unwrap();
    let model = ReferenceModel { file: &file, sizes: TINY };
    let expected = [model.embedding(&TOKENS[..5]), model.embedding(&TOKENS[5..8])].concat();
    let mut spoilt = file.clone();
    spoilt.get_mut("embeddings.word_embeddings.weight").unwrap().data[..TINY.width].fill(f32::NAN);
    on_each_device(|q| {
        let embedding = encoder(q, &spoilt).embed(q, &TOKENS, [2, 5], Some(&KEEP)).unwrap();
        expect_close("NaN in the padding", &embedding.values(q).unwrap(), &expected);
    });
}

/// The first norm divides by the root of a variance of the size of eps.
#[test]
fn embeddings_of_small_tables_depend_on_eps_as_in_the_model() {
    let mut file = read_safetensors(&file(TINY, 1.0)).unwrap();
    for (name, scale) in [("word", 1e-6), ("position", 0.0), ("token_type", 0.0)] {
        let table = file.get_mut(&format!("embeddings.{name}_embeddings.weight")).unwrap();
        table.data.iter_mut().for_each(|value| *value *= scale);
    }
    let expected = ReferenceModel { file: &file, sizes: TINY }.embedding(&[1, 2]);
    on_each_device(|q| {
        let embedding = |eps| {
            let encoder = BertEncoder::new(q, &file, TINY.heads, eps).unwrap();
            encoder.embed(q, &[1, 2], [1, 2], None).unwrap().values(q).unwrap()
        };
        expect_close("eps", &embedding(EPS), &expected);
        assert!(embedding(1e-5).iter().zip(&expected).any(|(&got, expected)| (f64::from(got) - expected).abs() > 1e-2));
    });
}

#[test]
fn a_file_of_the_form_of_mini_lm_loads_and_embeds_a_sentence() {
    let bytes = file(MINI_LM, 0.05);
    let file = read_safetensors(&bytes).unwrap();
    drop(bytes);
    assert_eq!(file.len(), 104);
    assert_eq!(file.values().map(|tensor| tensor.data.len()).sum::<usize>(), 22_713_216 + 512);
    assert_eq!(file["embeddings.position_ids"].data[511], 511.0);
    let q = runtime::cpu().unwrap();
    let encoder = BertEncoder::new(&q, &file, MINI_LM.heads, EPS).unwrap();
    // "[CLS] hello world [SEP]" by the published vocabulary, and padding.
    let tokens = [101, 7592, 2088, 102, 0, 0];
    let embedding = encoder.embed(&q, &tokens, [1, 6], Some(&[true, true, true, true, false, false])).unwrap();
    let expected = ReferenceModel { file: &file, sizes: MINI_LM }.embedding(&tokens[..4]);
    expect_close("embedding", &embedding.values(&q).unwrap(), &expected);
}

#[test]
fn files_tokens_and_flags_that_do_not_fit_are_refused_by_name() {
    let q = runtime::cpu().unwrap();
    let file = read_safetensors(&file(TINY, 1.0)).unwrap();
    let opened = |file: &Tensors, heads, eps| BertEncoder::new(&q, file, heads, eps).map(drop).unwrap_err().to_string();
    let changed = |change: &dyn Fn(&mut Tensors)| {
        let mut file = file.clone();
        change(&mut file);
        opened(&file, 2, EPS)
    };
    for name in ["embeddings.token_type_embeddings.weight", "encoder.layer.1.output.LayerNorm.bias"] {
        assert_eq!(changed(&|file| drop(file.remove(name))), format!("there is no tensor `{name}`"));
    }
    let none = changed(&|file| file.retain(|name, _| !name.starts_with("encoder")));
    assert_eq!(none, "there is no tensor `encoder.layer.0.intermediate.dense.weight`");
    let wide = changed(&|file| {
        file.insert(
            "encoder.layer.0.attention.self.key.bias".into(),
            io::Tensor { shape: vec![7], data: vec![0.0; 7] },
        );
    });
    let expected = "`bert_encoder` expected a tensor of shape [6], got [7]";
    assert_eq!(wide, format!("tensor `encoder.layer.0.attention.self.key.bias`: {expected}"));
    let row = changed(&|file| file.get_mut("embeddings.word_embeddings.weight").unwrap().shape = vec![42]);
    assert!(row.ends_with("`bert_encoder` expected a matrix with 2 axes, got 1"), "{row}");
    for heads in [0, 4] {
        let refused = opened(&file, heads, EPS);
        assert_eq!(refused, format!("`bert_encoder`: number of heads must be a divisor of the width, got {heads}"));
    }
    assert!(opened(&file, 2, -1.0).contains("eps"));

    let encoder = BertEncoder::new(&q, &file, 2, EPS).unwrap();
    let live = q.budget().live_bytes();
    let embed = |tokens: &[u32], shape, keep: Option<&[bool]>| encoder.embed(&q, tokens, shape, keep).map(drop);
    let length = |tensor, expected, got| Err(NnError::Length { op: "bert_encoder", tensor, expected, got });
    assert_eq!(embed(&[1, 2, 3], [2, 2], None), length("tokens", 4, 3));
    assert_eq!(embed(&[1, 2, 3, 4], [2, 2], Some(&[true; 5])), length("flags", 4, 5));
    assert!(matches!(embed(&[1, 7], [1, 2], None), Err(NnError::Index { place: 1, rows: 7, got: 7, .. })));
    assert!(matches!(embed(&[1; 10], [1, 10], None), Err(NnError::Slice { len: 9, end: 10, .. })));
    assert_eq!(embed(&[], [usize::MAX, 2], None), Err(NnError::Overflow { op: "bert_encoder" }));
    let empty = Err(NnError::EmptyReduction { op: "bert_encoder" });
    assert_eq!(embed(&[1, 2, 3, 4], [2, 2], Some(&[true, true, false, false])), empty);
    assert!(matches!(embed(&[], [2, 0], None), Err(NnError::EmptyReduction { .. })));
    assert_eq!(q.budget().live_bytes(), live);
}
