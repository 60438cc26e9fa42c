//! Files, weights and inputs that are refused, by name.

use inference::{InferenceError, Model, ModelFile, ModelFileError, Parameters, party::Role, plain};
use nn_ops::io::{Tensor, Tensors};

use super::{FILES, FLAT, IMAGES, SEQUENCES, model, plan_error, tensors};

/// The error for the file with one text replaced.
fn refused(file: &str, from: &str, to: &str) -> String {
    assert_eq!(file.matches(from).count(), 1, "{from}");
    ModelFile::read(file.replace(from, to).as_bytes()).unwrap_err().to_string()
}

#[test]
fn malformed_heads_and_layers_are_refused_by_name() {
    for (file, from, to, expected) in [
        (FLAT, "\"version\": 1", "\"version\": 2", "version: expected 1, got 2"),
        (FLAT, "\"version\": 1, ", "", "missing field `version`"),
        (FLAT, "\"version\": 1", "\"version\": 1, \"more\": 1", "unknown field `more`"),
        (FLAT, "\"name\": \"flat\"", "\"name\": \"a b\"", "name: expected 1 to 64 letters, digits"),
        (FLAT, "\"flatten\", \"kind\"", "\"\", \"kind\"", "layers[1]: name: expected 1 to 64 letters, digits"),
        (FLAT, "[1, 3, 3]", "[]", "input.shape: expected 1 to 3 axes, got 0"),
        (FLAT, "[1, 3, 3]", "[1, 0, 3]", "input.shape: expected 1 to 65536, got 0"),
        (FLAT, "[1, 3, 3]", "[65536, 65536, 65536]", "input.shape: expected at most 67108864 elements"),
        (FLAT, "[1, 3, 3]", "[1, 4294967296, 3]", "invalid value"),
        (FLAT, "\"fraction_bits\": 12", "\"fraction_bits\": 16", "input.fraction_bits: expected 12, got 16"),
        (FLAT, "\"min\": 0, \"max\": 1", "\"min\": 2, \"max\": 1", "input: expected -1048576 <= min <= max"),
        (FLAT, "\"max\": 1", "\"max\": 2147483647", "got min 0 and max 2147483647"),
        (FLAT, "\"weight_limit\": 2", "\"weight_limit\": 0", "weight_limit: expected 1 to 65536, got 0"),
        (FLAT, "\"conv2d\"", "\"conv3d\"", "unknown variant `conv3d`"),
        (FLAT, "\"outputs\": 4", "\"outputs\": 4, \"limits\": 1", "unknown field `limits`"),
        (FLAT, "\"outputs\": 4", "\"outputs\": 0", "layers[2] \"output\": outputs: expected 1 to 65536, got 0"),
        (FLAT, "\"outputs\": 4", "\"outputs\": 4, \"limit\": 0", "layers[2] \"output\": limit: expected 1 to 1048576"),
        (FLAT, "\"kernel\": [2, 2]", "\"kernel\": [2, 4]", "layers[0] \"convolution\": kernel: expected at most 3"),
        (FLAT, "\"kernel\": [2, 2]", "\"kernel\": [65, 2]", "kernel: expected 1 to 64, got 65"),
        (FLAT, "\"kernel\": [2, 2]", "\"kernel\": [2, 2], \"stride\": [0, 1]", "stride: expected 1 to 64, got 0"),
        (FLAT, "\"kernel\": [2, 2]", "\"kernel\": [2, 2], \"padding\": [0, 65]", "padding: expected 0 to 64, got 65"),
        (FLAT, "[1, 3, 3]", "[9]", "its input: expected the shape [channels, height, width], got the shape [9]"),
        (FLAT, "\"kind\": \"flatten\"", "\"kind\": \"position_embedding\"", "expected the shape [positions, width]"),
        (FLAT, "\"flatten\", \"kind\"", "\"output\", \"kind\"", "layers[2] \"output\": expected a name that is not"),
        (FLAT, "\"name\": \"output\"", "\"name\": \"convolution.x\"", "expected a name that is not \"convolution\""),
        (SEQUENCES, "\"heads\": 4", "\"heads\": 8", "heads: expected a divisor of the width 16 that leaves a power of"),
        (SEQUENCES, "\"heads\": 4", "\"heads\": 0", "layers[2].layers[1] \"block.0.attention\": heads: expected"),
        (SEQUENCES, "\"scores\": 64", "\"scores\": 0", "limits.scores: expected 1 to 1048576, got 0"),
        (SEQUENCES, "\"eps\": 0.0625}", "\"eps\": 1e-5}", "\"block.0.norm\": eps: expected 0.0625, got 0.00001"),
        (SEQUENCES, "\"eps\": 0.0625}", "\"eps\": 1e999}", "number out of range"),
        (SEQUENCES, "[5, 7]", "[1025, 7]", "expected the shape [positions, width] with at most 1024 positions"),
        (
            SEQUENCES,
            "\"outputs\": 16, \"bias\"",
            "\"outputs\": 15, \"bias\"",
            "layers with results of its input's shape",
        ),
        (SEQUENCES, "\"max\": 1", "\"max\": 2", "layers[0] \"tokens\": expected an input of shape [positions, vocab"),
        (SEQUENCES, "{\"activation\": \"gelu\"}", "{\"embedding\": {\"outputs\": 24}}", "as the first layer alone"),
    ] {
        let error = refused(file, from, to);
        assert!(error.starts_with("model file: ") && error.contains(expected), "{to}: {error}");
    }
}

#[test]
fn large_files_and_models_are_refused_without_memory_for_them() {
    let long = vec![b' '; ModelFile::MAX_BYTES + 1];
    assert!(matches!(ModelFile::read(&long), Err(ModelFileError::Length { .. })));
    let layers = |count: usize, kind: &str| {
        let layer = |index: usize| format!("{{\"name\": \"x{index}\", \"kind\": {kind}}}");
        let layers: Vec<String> = (0..count).map(layer).collect();
        let head = r#"{"version": 1, "name": "x", "weight_limit": 1,
            "input": {"shape": [2048, 2, 2], "fraction_bits": 12, "min": 0, "max": 1}, "layers": ["#;
        ModelFile::read(format!("{head}{}]}}", layers.join(", ")).as_bytes())
    };
    assert!(layers(ModelFile::MAX_LAYERS, "\"flatten\"").is_ok());
    for (count, kind, expected) in [
        (0, "\"flatten\"", "layers: expected 1 to 128 layers, got none"),
        (129, "\"flatten\"", "layers[128] \"x128\": expected at most 128 layers"),
        (1, r#"{"conv2d": {"outputs": 65536, "kernel": [1, 1]}}"#, "weights: expected at most 67108864 elements"),
        (1, r#"{"conv2d": {"outputs": 1, "kernel": [64, 64], "padding": [64, 64]}}"#, "elements of a tensor"),
        (1, r#"{"residual": {"layers": []}}"#, "got no layers"),
    ] {
        let error = layers(count, kind).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    // Residual connections in one another, deeper than the parser goes.
    let (open, close) = (r#"{"residual": {"layers": [{"name": "y", "kind": "#, "}]}}");
    let deep = format!("{}\"flatten\"{}", open.repeat(10_000), close.repeat(10_000));
    assert!(matches!(layers(1, &deep), Err(ModelFileError::Json { .. })));
    // A batch whose tensors are too large: patches have 8192 elements for each input.
    let file = layers(1, r#"{"conv2d": {"outputs": 512, "kernel": [1, 1]}}"#).unwrap();
    assert!(Model::new(file.clone().into(), 8192).is_ok());
    assert!(matches!(Model::new(file.into(), 8193), Err(InferenceError::Count { max: 8192, got: 8193 })));
}

#[test]
fn errors_that_quote_a_file_are_one_short_line_with_the_place() {
    let long = "x".repeat(5000);
    for (field, quoted) in [("a\\n\\u001bb", "`a\\n\\u{1b}b`"), (&long[..], &format!("`{}..", &long[..385])[..])] {
        let error = refused(FLAT, "\"version\": 1", &format!("\"version\": 1,\n\"{field}\": 1"));
        assert!(error.starts_with(&format!("model file: unknown field {quoted}")), "{error}");
        assert!(error.len() < 600 && !error.contains(char::is_control), "{error}");
        assert!(error.contains(" at line 3 column "), "{error}");
    }
    let error = refused(FLAT, "[1, 3, 3]", &format!("{:?}", vec![1; 9000]));
    assert_eq!(error, "model file: input.shape: expected 1 to 3 axes, got 9000");
}

#[test]
fn changed_bytes_of_a_file_never_panic() {
    let mut rng = fastrand::Rng::with_seed(5);
    for file in FILES {
        for _ in 0..2000 {
            let mut bytes = file.as_bytes().to_vec();
            for _ in 0..rng.usize(1..4) {
                let at = rng.usize(..bytes.len());
                bytes[at] = if rng.bool() { rng.u8(b'0'..=b'9') } else { rng.u8(..) };
            }
            bytes.truncate(if rng.u8(..8) == 0 { rng.usize(..bytes.len()) } else { bytes.len() });
            if let Ok(read) = ModelFile::read(&bytes) {
                assert_eq!(ModelFile::read(read.json()), Ok(read));
            }
        }
    }
}

#[test]
fn ranges_without_a_proof_are_refused_with_the_layer() {
    let wide = FLAT.replace("\"max\": 1", "\"max\": 1048576").replace("\"weight_limit\": 2", "\"weight_limit\": 65536");
    let layers = |layers: &str| wide.replace("{\"name\": \"flatten\"", &format!("{layers}{{\"name\": \"flatten\""));
    // A sum of four products of 2^32 by 2^28 fits 64 bits; the layer after it has no room.
    let error = plan_error(&wide);
    assert!(matches!(error, InferenceError::Layer { .. }), "{error}");
    let error = error.to_string();
    assert!(error.starts_with("layers[2] \"output\": range end "), "{error}");
    assert!(error.ends_with("declare smaller limits before this layer"), "{error}");
    let narrow = layers("{\"name\": \"gelu\", \"kind\": {\"activation\": \"gelu\"}}, ").replace("1048576", "4096");
    let error = plan_error(&narrow.replace("65536", "16")).to_string();
    assert!(error.starts_with("layers[1] \"gelu\": expected a range within -16777216..=16777215, got"), "{error}");
    // With a limit on the convolution the function takes its results.
    let limited = narrow.replace("65536", "16").replace("\"kernel\": [2, 2]", "\"kernel\": [2, 2], \"limit\": 4095");
    assert!(model(&limited, 1).plan().is_ok());
    // A limit whose square leaves 64 bits is beyond the proven range, and changes nothing.
    let generous = SEQUENCES.replace("\"deviation_limit\": 16", "\"deviation_limit\": 1048576");
    assert!(model(&generous, 1).plan().is_ok());
}

#[test]
fn values_beyond_a_declared_limit_are_found_in_the_clear() {
    let (inner, last) = ("\"kernel\": [2, 2]", "\"bias\": false");
    for (field, limit, within, beyond, expected) in [
        // four pixels by weights of 2, and a bias of 2
        (inner, 9, 0.875, 1.0, "`convolution`: expected magnitudes of at most 9 (the declared limit), got 10"),
        // the last layer: eight products of 8 pixels and 2 by weights of 2
        (last, 64, 0.25, 0.5, "`output`: expected magnitudes of at most 64 (the declared limit), got 96"),
    ] {
        let model = model(&FLAT.replace(field, &format!("{field}, \"limit\": {limit}")), 1);
        let mut tensors = tensors(&model);
        tensors.values_mut().flat_map(|tensor| &mut tensor.data).for_each(|weight| *weight = 2.0);
        let weights = Parameters::from_tensors(&model, &tensors).unwrap();
        let results = |pixel: f32| plain::logits(&model, &weights, &model.encode(&[1, 1, 3, 3], &[pixel; 9]).unwrap());
        assert!(results(within).is_ok(), "{field}");
        assert_eq!(results(beyond).unwrap_err().to_string(), expected);
    }
}

#[test]
fn weights_of_other_shapes_and_beyond_the_limit_are_refused_by_name_and_place() {
    let model = model(FLAT, 1);
    let reason = |change: &dyn Fn(&mut Tensors)| {
        let mut tensors = tensors(&model);
        change(&mut tensors);
        Parameters::from_tensors(&model, &tensors).unwrap_err().to_string()
    };
    let refused = reason(&|tensors| drop(tensors.remove("convolution.bias")));
    assert_eq!(refused, "weights: `convolution.bias`: missing");
    // The layout of this program's own models.
    let refused = reason(&|tensors| tensors.get_mut("output.weight").unwrap().shape = vec![8, 4]);
    assert_eq!(refused, "weights: `output.weight`: expected the shape [4, 8], got [8, 4]");
    let refused = reason(&|tensors| tensors.get_mut("output.weight").unwrap().data[17] = -2.5);
    assert_eq!(refused, "weights: `output.weight`: expected magnitudes of at most 2, got -2.5 at 17");
    // A bias that the file leaves out.
    let bias = Tensor { shape: vec![4], data: vec![0.0; 4] };
    let refused = reason(&|tensors| drop(tensors.insert("output.bias".to_owned(), bias.clone())));
    assert!(refused.starts_with("weights: `output.bias`: expected only tensors that the model has; "), "{refused}");
}

#[test]
fn weights_that_were_checked_against_a_greater_limit_are_refused() {
    let [wide, narrow] = [FLAT.to_owned(), FLAT.replace("\"weight_limit\": 2", "\"weight_limit\": 1")];
    let [wide, narrow] = [wide, narrow].map(|file| model(&file, 1));
    let [wide_weights, narrow_weights] =
        [&wide, &narrow].map(|model| Parameters::from_tensors(model, &tensors(model)).unwrap());
    assert!(Role::Server(&narrow_weights).check(&wide).is_ok());
    let pixels = narrow.encode(&[1, 1, 3, 3], &[0.5; 9]).unwrap();
    let checked = Role::Server(&wide_weights).check(&narrow);
    for refused in [checked, plain::logits(&narrow, &wide_weights, &pixels).map(drop)] {
        let refused = refused.unwrap_err().to_string();
        assert_eq!(refused, "weights: expected weights checked against the limit 1, got 2; read them again");
    }
}

#[test]
fn inputs_of_other_shapes_and_beyond_the_limits_are_refused() {
    let images = model(IMAGES, 2);
    let reason = |model: &Model, shape: &[usize], values: &[f32]| model.encode(shape, values).unwrap_err().to_string();
    let mut values = vec![0.0; 120];
    assert!(images.encode(&[2, 2, 6, 5], &values).is_ok());
    let refused = reason(&images, &[120], &values);
    assert_eq!(refused, "expected inputs of shape [2, 2, 6, 5], got [120]");
    for (value, got) in [(2.5, "2.5"), (-1.001, "-1.0009765625"), (f32::NAN, "NaN")] {
        values[7] = value;
        assert_eq!(reason(&images, &[2, 2, 6, 5], &values), format!("expected inputs of -1 to 2, got {got} at 7"));
    }
    for value in [f32::INFINITY, -1e30] {
        values[7] = value;
        assert!(reason(&images, &[2, 2, 6, 5], &values).contains("at 7"));
    }

    let sequences = model(SEQUENCES, 1);
    let refused = reason(&sequences, &[5], &[0.0; 5]);
    assert_eq!(refused, "expected inputs of shape [1, 5, 7] or [1, 5], got [5]");
    for (token, got) in [(7.0, "7"), (-1.0, "-1"), (0.5, "0.5"), (f32::NAN, "NaN")] {
        let refused = reason(&sequences, &[1, 5], &[0.0, token, 0.0, 0.0, 0.0]);
        assert_eq!(refused, format!("expected tokens of 0 to 6, got {got} at 1"));
    }
    let mut rows = sequences.encode(&[1, 5], &[0.0; 5]).unwrap();
    for (first, second) in [(4096, 4096), (0, 0), (2048, 2048)] {
        (rows[14], rows[15]) = (first, second);
        let refused = inference::party::Role::Client(&rows).check(&sequences).unwrap_err().to_string();
        assert_eq!(refused, "expected rows with a single 1 and zeros, row 2 is another");
    }
}
