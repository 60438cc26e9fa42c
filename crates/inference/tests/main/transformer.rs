//! The transformer block with its trained weights, against the same block in double precision.

use inference::{
    Architecture, Model, Parameters, Preference,
    digits::{self, Digits},
    plain,
};
use nn_ops::io::{Tensors, read_safetensors};
use serde_json::{Value, json};

use crate::{
    common::{images, keys, run},
    model_files::real,
};

const FILE: &[u8] = include_bytes!("../../../../data/models/transformer.safetensors");

fn model(count: usize) -> Model {
    Model::new(Architecture::Transformer, count).unwrap()
}

/// The layers of the transformer as a model file lists them; biases of `embed` are `positions`.
fn content() -> Value {
    json!({"input": {"shape": [8, 8]}, "layers": [
        {"name": "embed", "kind": {"dense": {}}},
        {"name": "positions", "kind": "position_embedding"},
        {"name": "mixed", "kind": {"residual": {"layers": [
            {"name": "attention.norm", "kind": {"layer_norm": {}}},
            {"name": "attention", "kind": {"attention": {"heads": 4, "causal": false}}}
        ]}}},
        {"name": "fed", "kind": {"residual": {"layers": [
            {"name": "feed.norm", "kind": {"layer_norm": {}}},
            {"name": "feed.hidden", "kind": {"dense": {}}},
            {"name": "gelu", "kind": {"activation": "gelu"}},
            {"name": "feed.out", "kind": {"dense": {}}}
        ]}}},
        {"name": "mean", "kind": "mean_pool"},
        {"name": "head", "kind": {"dense": {}}}
    ]})
}

/// Tensors with the outputs of each matrix first, as that oracle reads them.
fn outputs_first(mut tensors: Tensors) -> Tensors {
    let positions = tensors.remove("embed.bias").unwrap();
    for tensor in tensors.values_mut() {
        if let [inputs, outputs] = tensor.shape[..] {
            tensor.data = (0..inputs * outputs).map(|at| tensor.data[at % inputs * outputs + at / inputs]).collect();
            tensor.shape = vec![outputs, inputs];
        }
    }
    tensors.insert("positions.weight".to_owned(), positions);
    tensors
}

#[test]
fn the_transformer_in_fixed_point_is_the_transformer_in_double_precision_up_to_rounding() {
    let (_, test) = digits::load().unwrap();
    let tensors = outputs_first(read_safetensors(FILE).unwrap());
    for preference in Preference::ALL {
        let model = model(test.count()).preferring(preference);
        let weights = Parameters::read(&model, FILE).unwrap();
        let got = plain::logits(&model, &weights, &test.fixed_point()).unwrap();
        check(&tensors, &test, &got);
    }
}

/// Checks the logits of test images, and the classes.
fn check(tensors: &Tensors, test: &Digits, got: &[u64]) {
    let (mut worst, mut sum, content) = (0f64, 0.0, content());
    for (image, got) in test.normalised().chunks(digits::PIXELS).zip(got.chunks(digits::CLASSES)) {
        for (exact, &word) in real::results(&content, tensors, image).iter().zip(got) {
            let error = (word.cast_signed() as f64 / f64::from(1 << 24) - exact).abs();
            (worst, sum) = (worst.max(error), sum + error);
        }
    }
    // logits are about 10; each of a dozen roundings by 2^-12 passes a few matrices with columns of length about 2
    assert!(worst < 0.05, "{worst}");
    assert!(sum / (got.len() as f64) < 0.005, "{}", sum / got.len() as f64);

    let classes = digits::labels(got);
    let correct = classes.iter().zip(&test.labels).filter(|(a, b)| a == b).count();
    assert!(correct >= 346, "{correct} of {}", test.count()); // 96 %
}

#[test]
fn the_trained_transformer_on_shares_is_that_in_the_clear() {
    for preference in Preference::ALL {
        let model = model(2).preferring(preference);
        let weights = Parameters::read(&model, FILE).unwrap();
        let [client, _] = run(&model, keys(&model), &weights).map(Result::unwrap);
        assert_eq!(client.logits, Some(plain::logits(&model, &weights, &images(&model)).unwrap()));
    }
}
