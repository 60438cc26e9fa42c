//! The manifest of a key folder, which describes the purpose of its keys.

use serde::{Deserialize, Serialize};

use crate::Preference;

/// The public description of a folder.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Version of the folder's format.
    pub format: u32,
    /// Name of the model.
    pub model: String,
    /// SHA-256 of the file `model.json`, in hexadecimal; missing for a built-in model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_sha256: Option<String>,
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

    /// The model and the number of inputs in words, escaped.
    #[must_use]
    pub fn purpose(&self) -> String {
        let inputs = if self.model_sha256.is_some() { "inputs" } else { "images" };
        format!("{} for {} {inputs}", self.model.escape_debug(), self.count)
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
