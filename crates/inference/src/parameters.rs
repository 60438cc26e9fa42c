//! The server's weights in fixed point.
//!
//! They are read from tensors and checked against the architecture.

use std::collections::BTreeMap;

use nn_ops::io::{Tensors, read_safetensors};
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use crate::{InferenceError, Model, Parameter};

/// The most characters of a tensor's name in an error.
const MAX_SHOWN: usize = 64;

/// The server's weights in fixed point.
///
/// `Debug` shows names only; these words are wiped when dropped.
pub struct Parameters {
    words: BTreeMap<String, Zeroizing<Vec<u64>>>,
    /// The limit on magnitudes that they were checked against.
    limit: u32,
}

impl Parameters {
    /// Reads a safetensors file and rounds to fixed point.
    ///
    /// # Errors
    /// [`InferenceError::Parameters`] if the file is malformed, a tensor is missing or has another
    /// shape, or a weight is beyond the architecture's limit, with which ranges are proven. For the
    /// model of a file or a function also if there is a tensor that no layer has.
    pub fn read(model: &Model, bytes: &[u8]) -> Result<Self, InferenceError> {
        let refused = |reason: String| InferenceError::Parameters { reason };
        Self::from_tensors(model, &read_safetensors(bytes).map_err(|e| refused(e.to_string()))?)
    }

    /// Rounds tensors to fixed point.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn from_tensors(model: &Model, tensors: &Tensors) -> Result<Self, InferenceError> {
        let limit = f64::from(model.weight_limit());
        let mut words = BTreeMap::new();
        for parameter in model.parameters() {
            let Parameter { name, shape, outputs_first, fraction_bits } = parameter;
            let refused = |reason: String| InferenceError::Parameters { reason: format!("`{name}`: {reason}") };
            let tensor = tensors.get(&name).ok_or_else(|| refused("missing".into()))?;
            if tensor.shape != shape {
                return Err(refused(format!("expected the shape {shape:?}, got {:?}", tensor.shape)));
            }
            let is_beyond = |value: &f32| value.is_nan() || f64::from(*value).abs() > limit;
            if let Some(at) = tensor.data.iter().position(is_beyond) {
                let got = tensor.data[at];
                return Err(refused(format!("expected magnitudes of at most {limit}, got {got} at {at}")));
            }
            let scale = f64::from(1u32 << fraction_bits);
            let round = |value: f32| ((f64::from(value) * scale).round() as i64).cast_unsigned();
            // Outputs are first or last in the file, and last in the words.
            let outputs = if outputs_first { shape.first().copied().unwrap_or(1).max(1) } else { 1 };
            let inputs = tensor.data.len() / outputs;
            let word = |at: usize| round(tensor.data[at % outputs * inputs + at / outputs]);
            words.insert(name, Zeroizing::new((0..tensor.data.len()).map(word).collect()));
        }
        // A layer or a bias that a model file lacks would change results without a trace.
        let surplus = tensors.keys().find(|name| !words.contains_key(*name));
        if let (Some(name), Some(_)) = (surplus, model.architecture().described()) {
            let shown: String = name.chars().take(MAX_SHOWN).flat_map(char::escape_default).collect();
            let reason =
                format!("`{shown}`: expected only tensors that the model has; add a layer for it, or leave it out");
            return Err(InferenceError::Parameters { reason });
        }
        Ok(Self { words, limit: model.weight_limit() })
    }

    /// Weights that are all zero.
    #[must_use]
    pub fn zeros(model: &Model) -> Self {
        let words = |parameter: Parameter| (parameter.name.clone(), Zeroizing::new(vec![0; parameter.len()]));
        Self { words: model.parameters().into_iter().map(words).collect(), limit: 0 }
    }

    /// Checks that every weight of `model` is there, within its limit.
    ///
    /// Numbers of elements are checked as well.
    pub(crate) fn check(&self, model: &Model) -> Result<(), InferenceError> {
        let (expected, got) = (model.weight_limit(), self.limit);
        if got > expected {
            let reason = format!("expected weights checked against the limit {expected}, got {got}; read them again");
            return Err(InferenceError::Parameters { reason });
        }
        model.parameters().iter().try_for_each(|parameter| self.words(&parameter.name, parameter.len()).map(drop))
    }

    /// SHA-256 of the names and words, to compare with weights that were opened before.
    pub(crate) fn digest(&self) -> [u8; 32] {
        let mut hasher = Sha256::new();
        hasher.update(b"trefoil inference weights v1");
        for (name, words) in &self.words {
            for len in [name.len(), words.len()] {
                hasher.update((len as u64).to_le_bytes());
            }
            hasher.update(name);
            words.iter().for_each(|word| hasher.update(word.to_le_bytes()));
        }
        hasher.finalize().into()
    }

    /// A copy of the words of one parameter.
    pub(crate) fn get(&self, name: &str, len: usize) -> Result<Vec<u64>, InferenceError> {
        self.words(name, len).map(<[u64]>::to_vec)
    }

    fn words(&self, name: &str, len: usize) -> Result<&[u64], InferenceError> {
        match self.words.get(name) {
            Some(words) if words.len() == len => Ok(words),
            _ => Err(InferenceError::Parameters { reason: format!("`{name}`: expected {len} elements of this model") }),
        }
    }
}

impl core::fmt::Debug for Parameters {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Parameters").field("names", &self.words.keys()).finish_non_exhaustive()
    }
}
