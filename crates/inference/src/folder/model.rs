//! The model of a folder of keys, as its manifest identifies it.
//!
//! Built-in models have a name and other models a file next to the manifest. A Rust function is
//! neither: the party has it, and the manifest has the facts that it is compared with.

use std::path::Path;

use super::{
    files::{missing, read_at_most, refused},
    manifest::{FunctionFacts, Manifest, hex},
};
use crate::{Architecture, InferenceError, Model, ModelFile, model_file::one_line};

/// The model that the keys of a folder are for.
///
/// `given` is the model that the party expects. A function is nowhere else.
///
/// # Errors
/// [`InferenceError::OtherModel`] for another model than `given`, or a function that is not given,
/// [`InferenceError::Folder`] for a model that is missing, damaged or not on such a batch, and the
/// errors of a function.
pub(super) fn model_of(
    path: &Path,
    manifest: &Manifest,
    given: Option<&Architecture>,
) -> Result<Model, InferenceError> {
    let architecture = match (&manifest.function, &manifest.model_sha256) {
        (Some(facts), None) => return function_model(path, manifest, facts, given),
        (Some(_), Some(_)) => {
            let reason = format!("`{}`: expected a model file or a function, got both", Manifest::FILE);
            return Err(refused(path, &reason));
        }
        (None, Some(digest)) => read_model(path, &manifest.model, digest)?.into(),
        (None, None) => manifest.model.parse().map_err(|e: InferenceError| refused(path, &e.to_string()))?,
    };
    if let Some(given) = given.filter(|given| **given != architecture) {
        return Err(other_model(path, &described(&architecture), &described(given)));
    }
    on_batch(path, manifest, architecture)
}

/// Reads the file of the model with this name and digest.
pub(super) fn read_model(path: &Path, name: &str, digest: &str) -> Result<ModelFile, InferenceError> {
    let refused = |reason: String| refused(path, &format!("`{}`: {reason}", Manifest::MODEL_FILE));
    let bytes = read_at_most(&path.join(Manifest::MODEL_FILE), ModelFile::MAX_BYTES as u64);
    let bytes = bytes.map_err(missing(path, Manifest::MODEL_FILE))?;
    let bytes = bytes.ok_or_else(|| refused(format!("expected at most {} bytes", ModelFile::MAX_BYTES)))?;
    let file = ModelFile::read(&bytes).map_err(|e| refused(e.to_string()))?;
    if file.digest() != digest {
        return Err(refused(format!("expected SHA-256 {digest}, got {}", file.digest())));
    }
    if file.name() != name {
        return Err(refused(format!("expected the model `{name}`, got `{}`", file.name())));
    }
    Ok(file)
}

/// The given model on the batch of a manifest, if it is the function with these facts.
fn function_model(
    path: &Path,
    manifest: &Manifest,
    facts: &FunctionFacts,
    given: Option<&Architecture>,
) -> Result<Model, InferenceError> {
    let expected = facts.described(&manifest.model);
    let architecture = given.ok_or_else(|| other_model(path, &expected, "no function"))?;
    let Architecture::Function(function) = architecture else {
        return Err(other_model(path, &expected, &described(architecture)));
    };

    // The name, shapes and limits come first: the function has not run on the batch yet.
    let got = FunctionFacts::new(function, facts.sha256.clone());
    if function.name != manifest.model || got != *facts {
        return Err(other_model(path, &expected, &described(architecture)));
    }

    // A run on made-up words shows the steps, their gates and the flow of values. The plan comes from another run, on
    // zeros, which is cheap compared with this one.
    let model = on_batch(path, manifest, architecture.clone())?;
    let sha256 = hex(&model.layers_digest()?);
    if sha256 != facts.sha256 {
        let [expected, got] = [(expected, &facts.sha256), (described(architecture), &sha256)]
            .map(|(model, sha256)| format!("{model} and layers of SHA-256 {sha256}"));
        return Err(other_model(path, &expected, &got));
    }
    Ok(model)
}

/// The model with the number of inputs and the choice of gates of a manifest.
fn on_batch(path: &Path, manifest: &Manifest, architecture: Architecture) -> Result<Model, InferenceError> {
    let model = Model::new(architecture, manifest.count).map_err(|e| refused(path, &e.to_string()))?;
    Ok(model.preferring(manifest.prefer))
}

/// A model in words, for errors.
fn described(architecture: &Architecture) -> String {
    let name = architecture.name();
    match architecture {
        Architecture::Digits | Architecture::Transformer => format!("the built-in model `{name}`"),
        Architecture::File(file) => format!("the model file `{name}` of SHA-256 {}", file.digest()),
        Architecture::Function(function) => FunctionFacts::new(function, String::new()).described(name),
    }
}

/// The error for keys of another model, on one line.
fn other_model(path: &Path, expected: &str, got: &str) -> InferenceError {
    let [expected, got] = [expected, got].map(one_line);
    InferenceError::OtherModel { path: path.to_owned(), expected, got }
}
