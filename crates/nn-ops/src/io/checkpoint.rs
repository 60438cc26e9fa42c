//! The state of a training as tensors and text, which one safetensors file holds.

use core::str::FromStr;

use backend_api::DType;

use super::weights::{SavedTensors, Tensors, TextByKey, WeightsError, write_safetensors_as};
use crate::error::{NnError, Result};

/// A checkpoint of a training: tensors in f32 and text, by key.
///
/// `save` of networks and optimizers writes its entries, and `resume` reads them.
///
/// ```
/// use nn_ops::{Optimizer, OptimizerConfig, ParameterSpec, ParameterTable, io::Checkpoint};
///
/// let q = runtime::cpu()?;
/// let table = ParameterTable::new(&[ParameterSpec::new("w", &[3])])?;
/// let optimizer = Optimizer::new(&q, OptimizerConfig::adam_w(0.1), &table)?;
/// let mut checkpoint = Checkpoint::default();
/// optimizer.save(&q, &mut checkpoint)?;
///
/// let bytes = checkpoint.to_bytes()?; // for a file
/// let resumed = Optimizer::resume(&q, &table, &Checkpoint::from_bytes(&bytes)?)?;
/// assert_eq!(resumed.config(), optimizer.config());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Checkpoint {
    /// The tensors.
    pub tensors: Tensors,
    /// The text; numbers are written so that reading them gives the same bits.
    pub text: TextByKey,
}

impl Checkpoint {
    /// The bytes of a safetensors file.
    ///
    /// # Errors
    /// [`WeightsError::Length`] if a tensor's number of elements differs from its shape.
    pub fn to_bytes(&self) -> Result<Vec<u8>, WeightsError> {
        write_safetensors_as(&self.tensors, DType::F32, &self.text)
    }

    /// Reads the bytes that [`to_bytes`](Self::to_bytes) gave.
    ///
    /// # Errors
    /// [`WeightsError`] if the container is malformed or holds other types than f32, f16 and bf16,
    /// if its content was changed, or if it has no digest.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, WeightsError> {
        let file = SavedTensors::read(bytes)?;
        if !file.has_digest() {
            return Err(WeightsError::NoDigest);
        }
        Ok(Self { tensors: file.tensors()?, text: file.text().clone() })
    }

    /// Keeps words under a key.
    pub(crate) fn put(&mut self, key: &str, words: &[&dyn core::fmt::Display]) {
        let words: Vec<String> = words.iter().map(|word| format!("{word}")).collect();
        self.text.insert(key.to_owned(), words.join(" "));
    }

    /// The value that `read` returns for the words under a key; it must take all of them.
    pub(crate) fn read<'a, R>(
        &'a self,
        key: &'static str,
        expected: &'static str,
        read: impl FnOnce(&mut CheckpointWords<'a>) -> Result<R>,
    ) -> Result<R> {
        let Some(text) = self.text.get(key) else {
            return Err(NnError::Checkpoint { key: key.to_owned(), expected, got: None });
        };
        let mut words = CheckpointWords { key, expected, text, rest: text.split(' ') };
        let value = read(&mut words)?;
        match words.rest.next() {
            None => Ok(value),
            Some(_) => Err(words.refusal()),
        }
    }

    /// [`read`](Self::read) for a value that may be absent, which is the word `none`.
    pub(crate) fn read_some<'a, R>(
        &'a self,
        key: &'static str,
        expected: &'static str,
        read: impl FnOnce(&mut CheckpointWords<'a>) -> Result<R>,
    ) -> Result<Option<R>> {
        let is_absent = self.text.get(key).is_some_and(|text| text == "none");
        if is_absent { Ok(None) } else { self.read(key, expected, read).map(Some) }
    }
}

/// Words under a key, taken one by one.
pub(crate) struct CheckpointWords<'a> {
    key: &'static str,
    expected: &'static str,
    text: &'a str,
    rest: core::str::Split<'a, char>,
}

impl<'a> CheckpointWords<'a> {
    /// The next word.
    pub(crate) fn word(&mut self) -> Result<&'a str> {
        let refused = self.refusal();
        self.rest.next().ok_or(refused)
    }

    /// The next word as a number.
    pub(crate) fn number<N: FromStr>(&mut self) -> Result<N> {
        self.word()?.parse().map_err(|_| self.refusal())
    }

    /// The refusal of what stands there.
    pub(crate) fn refusal(&self) -> NnError {
        NnError::Checkpoint { key: self.key.to_owned(), expected: self.expected, got: Some(self.text.to_owned()) }
    }
}
