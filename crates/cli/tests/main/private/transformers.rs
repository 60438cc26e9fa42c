//! Blocks of BERT-base and GPT-2 between two processes, at a small width.

use std::{fs, path::Path};

use inference::{Model, ModelFile, Parameter};
use nn_ops::io::{NpyArray, Tensor, Tensors, write_npy, write_safetensors};
use test_process::output;

use crate::{
    LIMIT,
    private::{infer, pfss, serve_weights, succeeded},
};

/// A block of `data/models` with 8 positions of width 16 in place of 128 of width 768.
fn small_block(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../data/models/{name}.json"));
    let sizes = [
        ("[128, 768]", "[8, 16]"),
        ("\"heads\": 12", "\"heads\": 4"),
        ("\"outputs\": 3072", "\"outputs\": 64"),
        ("\"outputs\": 768", "\"outputs\": 16"),
    ];
    sizes.iter().fold(fs::read_to_string(path).unwrap(), |file, (published, small)| {
        assert!(file.contains(published), "{name}: {published}");
        file.replace(published, small)
    })
}

/// Writes a model for one input, its weights and the input.
///
/// `value` has the element at a place of a tensor, or of the input under the name `input`.
pub(super) fn write_files(folder: &Path, file: &str, value: impl Fn(&str, usize) -> f32) {
    fs::write(folder.join("model.json"), file).unwrap();
    let model = Model::new(ModelFile::read(file.as_bytes()).unwrap().into(), 1).unwrap();
    let tensor = |Parameter { name, shape, .. }: Parameter| {
        let data = (0..shape.iter().product()).map(|at| value(&name, at)).collect();
        (name, Tensor { shape, data })
    };
    let tensors: Tensors = model.parameters().into_iter().map(tensor).collect();
    fs::write(folder.join("weights.safetensors"), write_safetensors(&tensors).unwrap()).unwrap();
    let shape = model.input_shapes()[0].clone();
    let data = (0..shape.iter().product()).map(|at| value("input", at)).collect();
    fs::write(folder.join("input.npy"), write_npy(&NpyArray { shape, data }).unwrap()).unwrap();
}

#[test]
fn transformer_blocks_of_either_form_have_the_results_of_the_model_in_the_clear() {
    for name in ["bert-base-block", "gpt2-block"] {
        let scratch = tempfile::tempdir().unwrap();
        let at = |name: &str| scratch.path().join(name);
        // Magnitudes up to 1/2; an odd factor for each tensor makes them differ.
        write_files(scratch.path(), &small_block(name), |tensor, at| {
            (at * (2 * tensor.len() + 1) % 101) as f32 / 101.0 - 0.5
        });
        let mut deal = pfss("deal");
        deal.arg("--model").arg(at("model.json")).args(["--count", "1", "--prefer", "balanced", "--out"]);
        succeeded(&output(deal.arg(at("deal")), LIMIT));
        let weights = at("weights.safetensors");
        let (server, address) = serve_weights(weights.to_str().unwrap(), &at("deal/party1"), &[]);
        let mut client = infer(&at("deal/party0"), &address);
        client.arg("--input").arg(at("input.npy")).arg("--compare").arg(&weights);
        let shown = succeeded(&output(&mut client, LIMIT));
        assert!(shown.contains("0 of 128 logits differ") && shown.contains(" as predicted"), "{name}: {shown}");
        succeeded(&server.output());
    }
}
