//! Model files: models described in JSON, as lists of layers.

mod checked;
mod error;
mod layer;
mod shape;

use sha2::{Digest as _, Sha256};

use self::{checked::Checker, layer::Content};

pub(crate) use checked::{PlacedLayer, check_head};
pub use error::ModelFileError;
pub(crate) use error::one_line;
pub(crate) use layer::{Activation, AttentionLimits, Convolution, LayerKind};
pub(crate) use shape::elements;

use crate::FRACTION_BITS;

/// A model described by a file: the input, the limit on weights, and a list of layers.
///
/// The file is JSON and public: both parties and the dealer have the same. It is checked when it
/// is read: each layer has to take the shape of the results before it. Ranges are proven from the
/// declared limits when the model is planned. `docs/own-model.md` describes the format, and how the
/// weights of PyTorch are named.
///
/// ```
/// use inference::{Model, ModelFile};
///
/// let file = ModelFile::read(br#"{
///     "version": 1, "name": "iris", "weight_limit": 4,
///     "input": {"shape": [4], "fraction_bits": 12, "min": 0, "max": 8},
///     "layers": [
///         {"name": "hidden", "kind": {"dense": {"outputs": 16}}},
///         {"name": "relu", "kind": {"activation": "relu"}},
///         {"name": "output", "kind": {"dense": {"outputs": 3}}}
///     ]
/// }"#)?;
/// assert_eq!((file.input_shape(), file.output_shape()), (&[4][..], &[3][..]));
/// let model = Model::new(file.into(), 2)?;
/// // Weights are as in `torch.nn.Linear`.
/// assert_eq!(model.parameters()[0].shape, [16, 4]);
/// assert_eq!(model.plan()?.steps().len(), 4);
/// # Ok::<(), inference::InferenceError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ModelFile {
    content: Content,
    layers: Vec<PlacedLayer>,
    output_shape: Vec<u32>,
    /// Elements of the largest tensor of one input.
    largest: u64,
    /// The content as it is written, and its digest.
    json: Vec<u8>,
    digest: [u8; 32],
}

/// Files are equal if they have the same content, however it is spaced.
impl PartialEq for ModelFile {
    fn eq(&self, other: &Self) -> bool {
        self.digest == other.digest
    }
}

impl Eq for ModelFile {}

impl ModelFile {
    /// The version of the format.
    pub const VERSION: u32 = 1;
    /// No file is longer.
    pub const MAX_BYTES: usize = 1 << 20;
    /// The most layers, within residual connections too.
    pub const MAX_LAYERS: usize = 128;

    /// Reads and checks a file.
    ///
    /// # Errors
    /// [`ModelFileError::Length`] for more than [`MAX_BYTES`](Self::MAX_BYTES),
    /// [`ModelFileError::Json`] for bytes that are not of the format, [`ModelFileError::Value`] for
    /// a value out of range or a layer that does not take its input, with the layer's name.
    pub fn read(bytes: &[u8]) -> Result<Self, ModelFileError> {
        if bytes.len() > Self::MAX_BYTES {
            return Err(ModelFileError::Length { max: Self::MAX_BYTES, got: bytes.len() });
        }
        let content: Content = serde_json::from_slice(bytes).map_err(|error| ModelFileError::json(&error))?;
        let (layers, output_shape, largest) = Checker::check(&content)?;
        let json = serde_json::to_vec_pretty(&content).map_err(|error| ModelFileError::json(&error))?;
        let digest = Sha256::digest(&json).into();
        Ok(Self { content, layers, output_shape, largest, json, digest })
    }

    /// The name of the model.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.content.name
    }

    /// The shape of one input.
    #[must_use]
    pub fn input_shape(&self) -> &[u32] {
        &self.content.input.shape
    }

    /// The least and the greatest value of an input.
    #[must_use]
    pub fn input_limits(&self) -> [i32; 2] {
        [self.content.input.min, self.content.input.max]
    }

    /// The greatest magnitude of a weight or a bias.
    #[must_use]
    pub fn weight_limit(&self) -> u32 {
        self.content.weight_limit
    }

    /// The shape of the result for one input.
    #[must_use]
    pub fn output_shape(&self) -> &[u32] {
        &self.output_shape
    }

    /// Fraction bits of the results.
    ///
    /// They are twice [`FRACTION_BITS`] if the last layer is dense, since no shift follows.
    #[must_use]
    pub fn output_fraction_bits(&self) -> u32 {
        match self.layers.last().map(|layer| &layer.kind) {
            Some(LayerKind::Dense { .. }) => 2 * FRACTION_BITS,
            _ => FRACTION_BITS,
        }
    }

    /// The most inputs of a batch: its tensors have at most 2^26 elements each.
    #[must_use]
    pub fn max_count(&self) -> usize {
        Self::max_count_of(self.largest)
    }

    /// The most inputs of a batch whose largest tensor has this many elements for each.
    pub(crate) fn max_count_of(largest: u64) -> usize {
        usize::try_from(shape::MAX_ELEMENTS / largest.max(1)).unwrap_or(usize::MAX)
    }

    /// Whether inputs are one-hot vectors, for an embedding.
    #[must_use]
    pub fn is_one_hot(&self) -> bool {
        matches!(self.layers.first().map(|layer| &layer.kind), Some(LayerKind::Embedding { .. }))
    }

    /// The file as key folders hold it: the same content, indented by two spaces.
    #[must_use]
    pub fn json(&self) -> &[u8] {
        &self.json
    }

    /// SHA-256 of [`json`](Self::json), in hexadecimal.
    #[must_use]
    pub fn digest(&self) -> String {
        self.digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    pub(crate) fn layers(&self) -> &[PlacedLayer] {
        &self.layers
    }
}
