//! The manifest of a key folder, which describes the purpose of its keys.

use serde::{Deserialize, Serialize};

use crate::{Architecture, FunctionModel, InferenceError, Model, ModelLimits, Preference};

/// The public description of a folder.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Version of the folder's format.
    pub format: u32,
    /// Name of the model.
    pub model: String,
    /// SHA-256 of the file `model.json`, in hexadecimal; missing for a model without a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_sha256: Option<String>,
    /// The facts of a model that is a Rust function; missing for any other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<FunctionFacts>,
    /// Inputs of the batch.
    pub count: usize,
    /// The choice of gates, `rounds` if it is missing.
    #[serde(default)]
    pub prefer: Preference,
    /// 0 or 1.
    pub party: u8,
    /// A random name of the deal, the same in both parties' folders, in hexadecimal.
    pub deal: String,
    /// Digest of the plan, in hexadecimal.
    pub plan: String,
    /// SHA-256 of this party's certificate, in hexadecimal.
    pub certificate: String,
    /// SHA-256 of the peer's certificate, in hexadecimal.
    pub peer: String,
    /// The part of a deal for many runs; missing in a folder for a single run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<DealPart>,
    /// The keys in the order of their use.
    pub keys: Vec<KeyFile>,
}

/// The public facts of a model that is a Rust function.
///
/// A folder does not hold the function. It is opened for a function with the same name and facts.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct FunctionFacts {
    /// The shape of one input.
    pub input_shape: Vec<u32>,
    /// The least and the greatest value of an input.
    pub input_limits: [i32; 2],
    /// The shape of the result for one input.
    pub output_shape: Vec<u32>,
    /// The greatest magnitude of a weight or a bias.
    pub weight_limit: u32,
    /// SHA-256 of the name, the other facts, the weights and the steps, in hexadecimal.
    ///
    /// Weights have their names and shapes, steps the values they are computed from, and their
    /// gates for the batch and the choice of gates of the deal.
    pub sha256: String,
}

/// One folder of a deal for many runs on weights that are opened once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum DealPart {
    /// The keys that open the weights, and the certificate for all runs.
    Weights {
        /// Runs of the deal.
        runs: u32,
    },
    /// The keys of one run.
    Run {
        /// The number of the run, from 1.
        index: u32,
    },
}

/// One file of keys.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct KeyFile {
    /// Its name in the folder.
    pub file: String,
    /// The step of the model that uses it.
    pub step: String,
    /// Its size.
    pub bytes: u64,
    /// Its SHA-256, in hexadecimal.
    pub sha256: String,
}

impl Manifest {
    /// The version that this program writes and reads.
    pub(super) const FORMAT: u32 = 2;
    pub(super) const FILE: &str = "manifest.json";
    /// The [`ModelFile`](crate::ModelFile) of a model that is not built in.
    pub(super) const MODEL_FILE: &str = "model.json";
    /// No manifest is longer.
    pub(super) const MAX_BYTES: u64 = 1 << 20;

    /// The text of the file.
    ///
    /// # Errors
    /// The reason if no folder can hold it.
    pub(super) fn text(&self) -> Result<Vec<u8>, String> {
        let text = serde_json::to_vec_pretty(self).map_err(|e| e.to_string())?;
        if text.len() as u64 > Self::MAX_BYTES {
            let (max, got, keys) = (Self::MAX_BYTES, text.len(), self.keys.len());
            let file = Self::FILE;
            return Err(format!("`{file}`: expected at most {max} bytes, got {got} for {keys} files of keys"));
        }
        Ok(text)
    }

    /// The model and the number of inputs in words, escaped.
    #[must_use]
    pub fn purpose(&self) -> String {
        let is_built_in = self.model_sha256.is_none() && self.function.is_none();
        let inputs = if is_built_in { "images" } else { "inputs" };
        format!("{} for {} {inputs}", self.model.escape_debug(), self.count)
    }
}

impl FunctionFacts {
    /// The facts of a model; `None` unless it is a function.
    ///
    /// # Errors
    /// As [`Model::plan`], but for the length of messages.
    pub(super) fn of(model: &Model) -> Result<Option<Self>, InferenceError> {
        match model.architecture() {
            Architecture::Function(function) => Ok(Some(Self::new(function, hex(&model.layers_digest()?)))),
            Architecture::Digits | Architecture::Transformer | Architecture::File(_) => Ok(None),
        }
    }

    /// The facts of a function whose weights and steps have this digest.
    pub(super) fn new(function: &FunctionModel, sha256: String) -> Self {
        let FunctionModel { input_shape, output_shape, limits: ModelLimits { weights, inputs }, .. } = function;
        Self {
            input_shape: input_shape.clone(),
            input_limits: *inputs,
            output_shape: output_shape.clone(),
            weight_limit: *weights,
            sha256,
        }
    }

    /// The facts of the function with this name in words, without the digest.
    pub(super) fn described(&self, name: &str) -> String {
        let Self { input_shape, input_limits: [min, max], output_shape, weight_limit, .. } = self;
        format!(
            "the function `{}` of {input_shape:?} in {min} to {max}, with results of {output_shape:?}, \
             weights of at most {weight_limit}",
            name.escape_debug()
        )
    }
}

impl DealPart {
    /// The most runs of a deal.
    pub const MAX_RUNS: u32 = 999;

    /// The name of the folder of the keys that open the weights.
    pub const WEIGHTS: &str = "weights";

    /// The name of this part's folder, within the folder of its party.
    #[must_use]
    pub fn folder_name(self) -> String {
        match self {
            Self::Weights { .. } => Self::WEIGHTS.to_owned(),
            Self::Run { index } => format!("run-{index:03}"),
        }
    }
}

/// The name of a file of keys by its place in the order of use.
pub(super) fn key_name(index: usize) -> String {
    format!("{index:03}.key")
}

/// Lower-case hexadecimal digits.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_that_no_folder_can_hold_is_refused() {
        let key = KeyFile { file: key_name(0), step: "step".to_owned(), bytes: 1, sha256: "0".repeat(64) };
        let mut manifest = Manifest {
            format: Manifest::FORMAT,
            model: "model".to_owned(),
            model_sha256: None,
            function: None,
            count: 1,
            prefer: Preference::default(),
            party: 0,
            deal: String::new(),
            plan: String::new(),
            certificate: String::new(),
            peer: String::new(),
            part: None,
            keys: vec![key],
        };
        // A name as long as is left for it.
        let rest = Manifest::MAX_BYTES as usize - manifest.text().unwrap().len();
        manifest.keys[0].step.push_str(&"a".repeat(rest));
        assert_eq!(manifest.text().unwrap().len() as u64, Manifest::MAX_BYTES);
        manifest.keys[0].step.push('a');
        let expected = "`manifest.json`: expected at most 1048576 bytes, got 1048577 for 1 files of keys";
        assert_eq!(manifest.text().unwrap_err(), expected);
    }
}
