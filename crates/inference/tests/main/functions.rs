//! Models that are Rust functions, against model files of the same layers.

use std::sync::{
    Mutex,
    atomic::{AtomicU32, Ordering},
};

use inference::{
    Attention, Conv2d, InferenceError, Layers, Model, ModelFile, ModelLimits, Value, folder::KeyFolder, plain,
};
use pfss::{Dealer, Party, memory_pair};

use crate::common::{PATIENCE, deal, digits, keys, open_weights, run_on, run_opened, weights};

pub(crate) const LIMITS: ModelLimits = ModelLimits { weights: 1, inputs: [0, 1] };

/// Layers on images, with a residual connection and a declared limit.
pub(crate) const IMAGES: &str = r#"{
    "version": 1, "name": "file", "weight_limit": 1,
    "input": {"shape": [1, 4, 4], "fraction_bits": 12, "min": 0, "max": 1},
    "layers": [
        {"name": "conv", "kind": {"conv2d": {"outputs": 2, "kernel": [3, 3], "stride": [2, 1], "padding": [1, 0]}}},
        {"name": "relu", "kind": {"activation": "relu"}},
        {"name": "flatten", "kind": "flatten"},
        {"name": "hidden", "kind": {"dense": {"outputs": 4, "limit": 64}}},
        {"name": "residual", "kind": {"residual": {"layers": [
            {"name": "mix", "kind": {"dense": {"outputs": 4, "bias": false}}},
            {"name": "gelu", "kind": {"activation": "gelu"}}
        ]}}},
        {"name": "silu", "kind": {"activation": "silu"}}
    ]
}"#;

pub(crate) fn images(layers: &mut Layers<'_>, x: &Value) -> Result<Value, InferenceError> {
    let conv = Conv2d { outputs: 2, kernel: [3, 3], stride: [2, 1], padding: [1, 0], bias: true };
    let x = layers.conv2d("conv", x, &conv)?;
    let x = layers.relu("relu", &x)?.flatten();
    let x = layers.dense("hidden", &x, 4, true)?;
    let x = layers.limited("hidden", &x, 64)?;
    let y = layers.dense("mix", &x, 4, false)?;
    let y = layers.gelu("gelu", &y)?;
    layers.silu("silu", &x.add(&y)?)
}

/// Layers on tokens.
const TOKENS: &str = r#"{
    "version": 1, "name": "file", "weight_limit": 1,
    "input": {"shape": [3, 5], "fraction_bits": 12, "min": 0, "max": 1},
    "layers": [
        {"name": "words", "kind": {"embedding": {"outputs": 4}}},
        {"name": "places", "kind": "position_embedding"},
        {"name": "norm", "kind": {"layer_norm": {"eps": 0.0625}}},
        {"name": "attention", "kind": {"attention": {
            "heads": 1, "causal": true, "limits": {"projections": 32, "scores": 64}
        }}},
        {"name": "mean", "kind": "mean_pool"}
    ]
}"#;

fn tokens(layers: &mut Layers<'_>, x: &Value) -> Result<Value, InferenceError> {
    let x = layers.embedding("words", x, 4)?;
    let x = layers.position_embedding("places", &x)?;
    let x = layers.layer_norm("norm", &x, true, None)?;
    let x = layers.attention("attention", &x, &Attention { heads: 1, causal: true, limits: Some([32, 64]) })?;
    layers.mean_pool("mean", &x)
}

/// A function and a file for a batch of `count`, which have to be the same model.
fn same(function: &Model, file: &str, count: usize) -> [Model; 2] {
    let file = ModelFile::read(file.as_bytes()).unwrap().into();
    let [function, file] = [function.architecture().clone(), file].map(|model| Model::new(model, count).unwrap());
    assert_eq!(function.plan().unwrap().steps(), file.plan().unwrap().steps());
    assert_ne!(function.plan().unwrap().digest(), file.plan().unwrap().digest(), "the file is part of its plan");
    assert_eq!(function.parameters(), file.parameters());
    assert_eq!((function.input_shapes(), function.output_shape()), (file.input_shapes(), file.output_shape()));
    assert_eq!(function.output_fraction_bits(), file.output_fraction_bits());
    [function, file]
}

#[test]
fn functions_are_planned_and_run_like_files_of_the_same_layers() {
    let pictures = Model::from_fn("pictures", &[1, 4, 4], LIMITS, images).unwrap();
    let words = Model::from_fn("words", &[3, 5], LIMITS, tokens).unwrap();
    for (function, file, count) in [(&pictures, IMAGES, 1), (&pictures, IMAGES, 3), (&words, TOKENS, 2)] {
        let [function, file] = same(function, file, count);
        let shapes = function.input_shapes();
        // Tokens, or pixels.
        let shape = shapes.last().unwrap();
        let value = |at: usize| if shapes.len() == 2 { (at % 5) as f32 } else { (at * 37 % 101) as f32 / 101.0 };
        let values: Vec<f32> = (0..shape.iter().product()).map(value).collect();
        let inputs = function.encode(shape, &values).unwrap();
        assert_eq!(inputs, file.encode(shape, &values).unwrap());
        let weights = [&function, &file].map(weights);
        let expected = plain::logits(&file, &weights[1], &inputs).unwrap();
        assert_eq!(plain::logits(&function, &weights[0], &inputs).unwrap(), expected);

        let channels = memory_pair(PATIENCE).into();
        let [client, server] = run_on(&function, keys(&function), channels, &weights[0], &inputs).map(Result::unwrap);
        assert_eq!((client.logits.as_ref(), server.logits), (Some(&expected), None));
    }
}

#[test]
fn functions_run_on_weights_that_are_opened_once() {
    let model = Model::from_fn("pictures", &[1, 4, 4], LIMITS, images).unwrap();
    let (weights, inputs, q) = (weights(&model), vec![2048; 16], runtime::cpu().unwrap());
    let (plan, mut dealer) = (model.opened_plan().unwrap(), Dealer::insecure_from_seed(9));
    let (keys, masks) = plan.deal_weights(&mut dealer).unwrap();
    let opened = open_weights(&model, keys, &weights).map(|(opened, _)| opened);
    let keys = plan.deal_run(&q, &mut dealer, &masks, |_| ()).unwrap();
    let [client, _] = run_opened(&model, keys, &opened, &weights, &inputs);
    assert_eq!(client.logits, Some(plain::logits(&model, &weights, &inputs).unwrap()));
}

#[test]
fn rows_are_those_of_the_first_axis() {
    let rows = |layers: &mut Layers<'_>, x: &Value| layers.relu("relu", &x.rows(1..3)?);
    let model = Model::from_fn("rows", &[4, 2], LIMITS, rows).unwrap();
    let model = Model::new(model.architecture().clone(), 2).unwrap();
    let results = plain::logits(&model, &weights(&model), &(0..16).collect::<Vec<u64>>()).unwrap();
    assert_eq!((results, model.output_shape()), (vec![2, 3, 4, 5, 10, 11, 12, 13], vec![2, 2, 2]));
}

#[test]
fn plans_of_functions_differ_in_limits_and_in_the_shape_of_results() {
    let whole = |layers: &mut Layers<'_>, x: &Value| layers.relu("relu", x);
    let part = |layers: &mut Layers<'_>, x: &Value| layers.relu("relu", x)?.rows(0..1);
    let other = ModelLimits { weights: 2, ..LIMITS };
    let models = [
        Model::from_fn("model", &[2, 2], LIMITS, whole).unwrap(),
        Model::from_fn("model", &[2, 2], LIMITS, part).unwrap(),
        Model::from_fn("model", &[2, 2], other, whole).unwrap(),
        Model::from_fn("model", &[4], LIMITS, whole).unwrap(),
    ];
    let plans = models.each_ref().map(|model| model.plan().unwrap());
    for (index, plan) in plans.iter().enumerate() {
        assert_eq!(plan.steps(), plans[0].steps());
        assert!(plans[..index].iter().all(|before| before.digest() != plan.digest()), "{index}");
    }
    let again = Model::from_fn("model", &[2, 2], LIMITS, whole).unwrap();
    assert_eq!(again.plan().unwrap().digest(), plans[0].digest());
}

#[test]
fn functions_that_change_from_run_to_run_are_refused_by_name_before_they_are_dealt() {
    let outputs = AtomicU32::new(3);
    let growing =
        move |layers: &mut Layers<'_>, x: &Value| layers.dense("a", x, outputs.fetch_add(1, Ordering::Relaxed), true);
    let model = Model::from_fn("growing", &[4], LIMITS, growing).unwrap();
    let error = model.plan().unwrap_err().to_string();
    let expected = "model \"growing\": its results: expected 3 words of shape [3], as when the model was made, \
                    got 4 words of shape [4]";
    assert_eq!(error, expected);

    // A value of the first run, on one input, in a run on two.
    for adds in [true, false] {
        let kept = Mutex::new(None::<Value>);
        let keeping = move |_: &mut Layers<'_>, x: &Value| {
            let first = kept.lock().unwrap().get_or_insert_with(|| x.clone()).clone();
            if adds { x.add(&first) } else { Ok(first) }
        };
        let model = Model::from_fn("keeping", &[4], LIMITS, keeping).unwrap();
        let model = Model::new(model.architecture().clone(), 2).unwrap();
        let error = model.plan().unwrap_err().to_string();
        let expected =
            if adds { "sum: expected a value of the same run, of 8 words, got 4 words" } else { "got 4 words" };
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_function_that_returns_its_input_needs_no_keys() {
    let model = Model::from_fn("same", &[4], LIMITS, |_, x| Ok(x.clone())).unwrap();
    assert!(model.plan().unwrap().steps().is_empty() && model.parameters().is_empty());
    let (weights, inputs) = (weights(&model), vec![0, 1, 2, 4096]);
    assert_eq!(plain::logits(&model, &weights, &inputs).unwrap(), inputs);
    let [client, _] = run_on(&model, keys(&model), memory_pair(PATIENCE).into(), &weights, &inputs).map(Result::unwrap);
    assert_eq!(client.logits, Some(inputs));
}

#[test]
fn layers_that_do_not_fit_are_refused_by_name() {
    type List = fn(&mut Layers<'_>, &Value) -> Result<Value, InferenceError>;
    let twice: List = |layers, x| {
        let y = layers.dense("a", x, 4, true)?;
        layers.dense("a", &y, 4, true)
    };
    let part: List = |layers, x| {
        let y = layers.attention("a", x, &Attention { heads: 1, causal: false, limits: Some([32, 64]) })?;
        layers.dense("a.out", &y, 4, true)
    };
    let embedding: List = |layers, x| {
        let y = layers.relu("relu", x)?;
        layers.embedding("words", &y, 3)
    };
    let deep: List = |layers, x| {
        let mut x = x.clone();
        for index in 0..26 {
            x = layers.dense(&format!("dense{index}"), &x, 4, true)?;
        }
        Ok(x)
    };
    let cases: [(List, &str); 9] = [
        (|layers, x| layers.dense("a", x, 0, true), "layer \"a\": outputs: expected 1 to 65536, got 0"),
        (|layers, x| layers.dense("a b", x, 1, true), "layer: name: expected 1 to 64 letters"),
        (
            |layers, x| layers.attention("a", x, &Attention { heads: 3, causal: false, limits: None }),
            "layer \"a\": heads: ",
        ),
        (|_, x| x.rows(3..5), "rows: expected a part of 0..4, got 3..5"),
        (|_, x| x.add(&x.flatten()), "sum: expected the shape [4, 4], got [16]"),
        (twice, "layer \"a\": expected a name that no layer before it has"),
        (part, "layer \"a.out\": expected weights with names that no layer before it has, got `a.out.weight`"),
        (embedding, "layer \"words\": its input: expected the input of the model"),
        (deep, "declare smaller limits before this layer"),
    ];
    for (list, expected) in cases {
        let error = Model::from_fn("model", &[4, 4], LIMITS, list).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}, expected {expected}");
    }
    let relu: List = |layers, x| layers.relu("relu", x);
    let limits = |weights, inputs| ModelLimits { weights, inputs };
    for (name, shape, limits, expected) in [
        ("digits", &[1][..], LIMITS, "name: expected a name that is not a built-in model's, got \"digits\""),
        ("", &[1], LIMITS, "name: expected 1 to 64 letters"),
        ("model", &[], LIMITS, "input.shape: expected 1 to 3 axes"),
        ("model", &[0], LIMITS, "input.shape: expected 1 to 65536, got 0"),
        ("model", &[1], limits(0, [0, 1]), "weight_limit: expected 1 to 65536, got 0"),
        ("model", &[1], limits(1, [2, 1]), "expected -1048576 <= min <= max <= 1048576, got min 2 and max 1"),
    ] {
        let error = Model::from_fn(name, shape, limits, relu).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}, expected {expected}");
    }
    // A folder does not hold it.
    let model = Model::from_fn("model", &[1], LIMITS, relu).unwrap();
    let (_scratch, [path, _]) = deal(&model);
    let refused = KeyFolder::open(&path, Party::Zero, |_| ()).unwrap_err();
    assert!(matches!(refused, InferenceError::OtherModel { .. }), "{refused}");
    assert_ne!(model, digits(1));
}
