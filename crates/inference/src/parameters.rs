//! The server's weights in fixed point.
//!
//! They are read from tensors and checked against the architecture.

use std::collections::BTreeMap;

use nn_ops::io::{Tensors, read_safetensors};
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use crate::{InferenceError, Model, Parameter};

/// The server's weights in fixed point.
///
/// `Debug` shows names only; these words are wiped when dropped.
pub struct Parameters {
    words: BTreeMap<String, Zeroizing<Vec<u64>>>,
}

impl Parameters {
    /// Reads a safetensors file and rounds to fixed point.
    ///
    /// # Errors
    /// [`InferenceError::Parameters`] if the file is malformed, a tensor is missing or has another
    /// shape, or a weight is beyond the architecture's limit, with which ranges are proven.
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
            let Parameter { name, shape, fraction_bits } = parameter;
            let refused = |reason: String| InferenceError::Parameters { reason: format!("`{name}`: {reason}") };
            let tensor = tensors.get(&name).ok_or_else(|| refused("missing".into()))?;
            if tensor.shape != shape {
                return Err(refused(format!("expected the shape {shape:?}, got {:?}", tensor.shape)));
            }
            if let Some(value) = tensor.data.iter().find(|&&value| value.is_nan() || f64::from(value).abs() > limit) {
                return Err(refused(format!("expected magnitudes of at most {limit}, got {value}")));
            }
            let scale = f64::from(1u32 << fraction_bits);
            let round = |&value: &f32| ((f64::from(value) * scale).round() as i64).cast_unsigned();
            words.insert(name, Zeroizing::new(tensor.data.iter().map(round).collect()));
        }
        Ok(Self { words })
    }

    /// Weights that are all zero.
    #[must_use]
    pub fn zeros(model: &Model) -> Self {
        let words = |parameter: Parameter| (parameter.name.clone(), Zeroizing::new(vec![0; parameter.len()]));
        Self { words: model.parameters().into_iter().map(words).collect() }
    }

    /// Checks that every weight of `model` is there, with its number of elements.
    pub(crate) fn check(&self, model: &Model) -> Result<(), InferenceError> {
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
