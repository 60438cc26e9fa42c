//! Models described by files: on shares, in the clear and in double precision, and refusals.

mod folders;
pub(crate) mod real;
mod refusals;

use inference::{
    InferenceError, Model, ModelFile, Parameters, Preference,
    cost::{ModelCost, key_bytes},
    plain,
};
use nn_ops::io::{Tensor, Tensors};
use pfss::{Party, memory_pair};
use serde_json::Value;

use crate::common::{PATIENCE, keys, run_on};

/// Sequences of 5 one-hot vectors, with every kind of layer on sequences.
const SEQUENCES: &str = r#"{
    "version": 1, "name": "sequences", "weight_limit": 1,
    "input": {"shape": [5, 7], "fraction_bits": 12, "min": 0, "max": 1},
    "layers": [
        {"name": "tokens", "kind": {"embedding": {"outputs": 16}}},
        {"name": "positions", "kind": "position_embedding"},
        {"name": "block.0", "kind": {"residual": {"limit": 16, "layers": [
            {"name": "block.0.norm", "kind": {"layer_norm": {"eps": 0.0625}}},
            {"name": "block.0.attention", "kind": {"attention": {
                "heads": 4, "causal": true, "limits": {"projections": 16, "scores": 64}, "limit": 16}}}
        ]}}},
        {"name": "block.1", "kind": {"residual": {"layers": [
            {"name": "block.1.norm", "kind": {"layer_norm": {"eps": 0.0625, "affine": false, "deviation_limit": 16}}},
            {"name": "block.1.up", "kind": {"dense": {"outputs": 24}}},
            {"name": "block.1.gelu", "kind": {"activation": "gelu"}},
            {"name": "block.1.down", "kind": {"dense": {"outputs": 16, "bias": false, "limit": 16}}}
        ]}}},
        {"name": "attention", "kind": {"attention": {"heads": 1, "causal": false}}},
        {"name": "pool", "kind": "mean_pool"},
        {"name": "last.0", "kind": {"dense": {"outputs": 12, "limit": 32}}},
        {"name": "last.1", "kind": {"activation": "silu"}},
        {"name": "last.2", "kind": {"dense": {"outputs": 3}}}
    ]
}"#;

/// Images of two channels, with both pools of a convolution and a last layer that is not dense.
const IMAGES: &str = r#"{
    "version": 1, "name": "images", "weight_limit": 1,
    "input": {"shape": [2, 6, 5], "fraction_bits": 12, "min": -1, "max": 2},
    "layers": [
        {"name": "0", "kind": {"conv2d": {"outputs": 3, "kernel": [3, 2], "stride": [2, 1], "padding": [1, 0]}}},
        {"name": "1", "kind": {"activation": "relu"}},
        {"name": "2", "kind": {"conv2d": {
            "outputs": 4, "kernel": [1, 3], "padding": [0, 2], "bias": false, "limit": 64}}},
        {"name": "3", "kind": "mean_pool"},
        {"name": "4", "kind": {"dense": {"outputs": 2}}},
        {"name": "5", "kind": {"activation": "relu"}}
    ]
}"#;

/// Pixels on one axis.
const FLAT: &str = r#"{
    "version": 1, "name": "flat", "weight_limit": 2,
    "input": {"shape": [1, 3, 3], "fraction_bits": 12, "min": 0, "max": 1},
    "layers": [
        {"name": "convolution", "kind": {"conv2d": {"outputs": 2, "kernel": [2, 2]}}},
        {"name": "flatten", "kind": "flatten"},
        {"name": "output", "kind": {"dense": {"outputs": 4, "bias": false}}}
    ]
}"#;

/// Images of one pixel, a kernel as high as its image, a mean over three pixels, limited results.
const PIXEL: &str = r#"{
    "version": 1, "name": "pixel", "weight_limit": 1,
    "input": {"shape": [2, 1, 1], "fraction_bits": 12, "min": -1, "max": 1},
    "layers": [
        {"name": "0", "kind": {"conv2d": {"outputs": 2, "kernel": [1, 1], "padding": [1, 1]}}},
        {"name": "1", "kind": {"conv2d": {"outputs": 3, "kernel": [3, 1], "stride": [64, 1]}}},
        {"name": "2", "kind": "mean_pool"},
        {"name": "3", "kind": {"dense": {"outputs": 2, "limit": 8}}}
    ]
}"#;

/// One position, heads of one element, norms of three elements and of one, a mean over one row.
const POSITION: &str = r#"{
    "version": 1, "name": "position", "weight_limit": 1,
    "input": {"shape": [1, 3], "fraction_bits": 12, "min": -2, "max": 2},
    "layers": [
        {"name": "attention", "kind": {"attention": {"heads": 3, "causal": true}}},
        {"name": "norm", "kind": {"layer_norm": {"eps": 0.0625}}},
        {"name": "pool", "kind": "mean_pool"},
        {"name": "dense", "kind": {"dense": {"outputs": 1}}},
        {"name": "residual", "kind": {"residual": {"layers": [
            {"name": "single", "kind": {"layer_norm": {"eps": 0.0625, "affine": false}}}
        ]}}},
        {"name": "silu", "kind": {"activation": "silu"}}
    ]
}"#;

pub(crate) const FILES: [&str; 5] = [SEQUENCES, IMAGES, FLAT, PIXEL, POSITION];

pub(crate) fn model(file: &str, count: usize) -> Model {
    Model::new(ModelFile::read(file.as_bytes()).unwrap().into(), count).unwrap()
}

/// Weights that 12 fraction bits hold exactly, of magnitude at most 1/2; factors of norms are around 1/2.
fn tensors(model: &Model) -> Tensors {
    let mut rng = fastrand::Rng::with_seed(11);
    let tensor = |parameter: inference::Parameter| {
        let around = if parameter.name.ends_with("norm.weight") { 0.5 } else { 0.0 };
        let data = (0..parameter.len()).map(|_| around + rng.i32(-2048..=2048) as f32 / 4096.0).collect();
        (parameter.name, Tensor { shape: parameter.shape, data })
    };
    model.parameters().into_iter().map(tensor).collect()
}

/// Inputs between the limits of the file that 12 fraction bits hold exactly; tokens for an embedding.
pub(crate) fn inputs(model: &Model) -> (Vec<usize>, Vec<f32>) {
    let mut rng = fastrand::Rng::with_seed(12);
    let (file, shapes) = (model.architecture().file().unwrap(), model.input_shapes());
    let ([min, max], shape) = (file.input_limits(), shapes.last().unwrap().clone());
    let len = shape.iter().product::<usize>();
    let values = if shapes.len() == 2 {
        (0..len).map(|_| f32::from(rng.u8(0..7))).collect()
    } else {
        (0..len).map(|_| rng.i32(min * 4096..=max * 4096) as f32 / 4096.0).collect()
    };
    (shape, values)
}

#[test]
fn described_models_on_shares_are_the_models_in_the_clear_and_send_what_was_planned() {
    for (file, preference) in FILES.into_iter().flat_map(|file| Preference::ALL.map(|preference| (file, preference))) {
        let model = model(file, 2).preferring(preference);
        let weights = Parameters::from_tensors(&model, &tensors(&model)).unwrap();
        let (shape, values) = inputs(&model);
        let words = model.encode(&shape, &values).unwrap();
        let plan = model.plan().unwrap();
        let run = run_on(&model, keys(&model), memory_pair(PATIENCE).into(), &weights, &words);
        let [client, server] = run.map(Result::unwrap);
        assert_eq!(client.logits, Some(plain::logits(&model, &weights, &words).unwrap()));
        assert_eq!(server.logits, None);
        let work = ModelCost::of_model(&model).unwrap().total();
        for (party, inferred) in [(Party::Zero, &client), (Party::One, &server)] {
            assert_eq!(inferred.traffic, plan.traffic(party));
            assert_eq!(
                (work.sent_bytes[party.index()], work.rounds),
                (inferred.traffic.sent_bytes, inferred.traffic.rounds)
            );
            assert_eq!(work.key_bytes[party.index()], plan.deals().map(|deal| key_bytes(deal, party)).sum::<u64>());
        }
        assert_eq!(work.weight_products, model.opened_plan().unwrap().products().len() as u64);
    }
}

#[test]
fn described_models_are_those_in_double_precision_up_to_rounding() {
    for (file, preference) in FILES.into_iter().flat_map(|file| Preference::ALL.map(|preference| (file, preference))) {
        let model = model(file, 6).preferring(preference);
        let tensors = tensors(&model);
        let weights = Parameters::from_tensors(&model, &tensors).unwrap();
        let (shape, values) = inputs(&model);
        let got = plain::logits(&model, &weights, &model.encode(&shape, &values).unwrap()).unwrap();
        let got = model.decode(&got);
        assert_eq!(got.len(), model.output_shape().iter().product::<usize>());

        let content: Value = serde_json::from_str(file).unwrap();
        let inputs = values.chunks(values.len() / model.count());
        for (input, got) in inputs.zip(got.chunks(model.classes())) {
            let exact = real::results(&content, &tensors, input);
            assert_eq!(exact.len(), got.len());
            let worst = exact.iter().zip(got).map(|(exact, &got)| (exact - f64::from(got)).abs()).fold(0.0, f64::max);
            // Results are up to 5; each of twenty roundings by 2^-13 passes a few matrices with columns of length 1.
            assert!(worst < 0.01, "{} by {preference}: {worst}", model.architecture());
        }
    }
}

#[test]
fn weights_have_the_names_and_layouts_of_pytorch() {
    let shapes = |file: &str| -> Vec<(String, Vec<usize>)> {
        model(file, 1).parameters().into_iter().map(|parameter| (parameter.name, parameter.shape)).collect()
    };
    let expected = |list: &[(&str, &[usize])]| -> Vec<(String, Vec<usize>)> {
        list.iter().map(|(name, shape)| ((*name).to_owned(), shape.to_vec())).collect()
    };
    let images: [(&str, &[usize]); 5] = [
        ("0.weight", &[3, 2, 3, 2]),
        ("0.bias", &[3]),
        ("2.weight", &[4, 3, 1, 3]),
        ("4.weight", &[2, 4]),
        ("4.bias", &[2]),
    ];
    assert_eq!(shapes(IMAGES), expected(&images));
    let flat: [(&str, &[usize]); 3] =
        [("convolution.weight", &[2, 1, 2, 2]), ("convolution.bias", &[2]), ("output.weight", &[4, 8])];
    assert_eq!(shapes(FLAT), expected(&flat));
    let sequences: [(&str, &[usize]); 8] = [
        ("tokens.weight", &[7, 16]),
        ("positions.weight", &[5, 16]),
        ("block.0.norm.weight", &[16]),
        ("block.0.norm.bias", &[16]),
        ("block.0.attention.qkv.weight", &[48, 16]),
        ("block.0.attention.qkv.bias", &[48]),
        ("block.0.attention.out.weight", &[16, 16]),
        ("block.0.attention.out.bias", &[16]),
    ];
    assert_eq!(shapes(SEQUENCES)[..8], expected(&sequences));
}

#[test]
fn tokens_are_one_hot_vectors_and_raw_numbers_are_rounded() {
    let model = model(SEQUENCES, 1);
    assert_eq!(model.input_shapes(), [vec![1, 5, 7], vec![1, 5]]);
    let words = model.encode(&[1, 5], &[0.0, 6.0, 3.0, 3.0, 1.0]).unwrap();
    let places: Vec<usize> = (0..35).filter(|&at| words[at] != 0).collect();
    assert_eq!(places, [0, 13, 17, 24, 29]);
    assert!(places.iter().all(|&at| words[at] == 4096));
    let values: Vec<f32> = words.iter().map(|&word| word as f32 / 4096.0).collect();
    assert_eq!(model.encode(&[1, 5, 7], &values).unwrap(), words);

    let model = self::model(IMAGES, 1);
    let mut values = vec![0.0; 60];
    (values[0], values[1], values[2]) = (-1.0, 1.99999, 0.3);
    let words = model.encode(&[1, 2, 6, 5], &values).unwrap();
    assert_eq!(words[..3].iter().map(|word| word.cast_signed()).collect::<Vec<_>>(), [-4096, 8192, 1229]);
    // The last layer is no product, so that results have 12 fraction bits.
    assert_eq!((model.output_fraction_bits(), model.output_shape()), (12, vec![1, 2]));
    assert_eq!(model.decode(&[4096, 2u64.wrapping_neg()]), [1.0, -2.0 / 4096.0]);
}

/// The reason for which a model, if its file is read at all, cannot be planned.
fn plan_error(file: &str) -> InferenceError {
    model(file, 1).plan().unwrap_err()
}
