//! The available networks, written once for every engine.

mod block;
mod digits;
mod layers;
mod norm;
mod rounding;
mod shape;
mod transformer;

use core::str::FromStr;

use pfss::SignedRange;

pub(crate) use block::layer;
pub(crate) use layers::LayerBuilder;
pub(crate) use shape::Block;
pub use shape::{DeclaredLimits, NormPlacement, TransformerShape};

use crate::{Architecture, Engine, InferenceError, Parameter, Preference, Tensor, digits::PIXELS, tensor::ONE};

/// An architecture, the size of a batch, and the choice of gates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    architecture: Architecture,
    count: usize,
    preference: Preference,
}

impl FromStr for Architecture {
    type Err = InferenceError;

    fn from_str(name: &str) -> Result<Self, InferenceError> {
        let found = Self::ALL.into_iter().find(|architecture| architecture.name() == name);
        found.ok_or_else(|| InferenceError::Architecture { name: name.to_owned() })
    }
}

impl Model {
    /// The largest batch; more images than this take several deals.
    pub const MAX_COUNT: usize = 1 << 16;

    /// A model for batches of `count` images, with fewest rounds.
    ///
    /// # Errors
    /// [`InferenceError::Count`] outside `1..=`[`MAX_COUNT`](Self::MAX_COUNT).
    pub fn new(architecture: Architecture, count: usize) -> Result<Self, InferenceError> {
        if count == 0 || count > Self::MAX_COUNT {
            return Err(InferenceError::Count { max: Self::MAX_COUNT, got: count });
        }
        Ok(Self { architecture, count, preference: Preference::default() })
    }

    /// The same model with gates chosen by `preference`.
    ///
    /// GeLU and softmax by spline and by table differ by at most two units of the last place, so
    /// that logits differ a little.
    ///
    /// ```
    /// use inference::{Architecture, Model, Preference, cost::ModelCost};
    ///
    /// let model = Model::new(Architecture::Transformer, 1)?;
    /// let rounds = ModelCost::of_model(&model)?.total();
    /// let bytes = ModelCost::of_model(&model.preferring(Preference::KeyBytes))?.total();
    /// // A GeLU and a softmax by table.
    /// assert_eq!(bytes.rounds, rounds.rounds + 2 * 5);
    /// assert!(bytes.key_bytes[1] < rounds.key_bytes[1]);
    /// # Ok::<(), inference::InferenceError>(())
    /// ```
    #[must_use]
    pub fn preferring(self, preference: Preference) -> Self {
        Self { preference, ..self }
    }

    /// The choice of gates.
    #[must_use]
    pub fn preference(&self) -> Preference {
        self.preference
    }

    /// The model, the size of the batch and the choice of gates in words.
    pub(crate) fn title(&self) -> String {
        format!("{} for {} inputs{}", self.architecture, self.count, self.preference.title())
    }

    /// The architecture.
    #[must_use]
    pub fn architecture(&self) -> Architecture {
        self.architecture
    }

    /// Images of a batch.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Pixels of one image.
    #[must_use]
    pub fn input_len(&self) -> usize {
        PIXELS
    }

    /// Logits of one image.
    #[must_use]
    pub fn classes(&self) -> usize {
        crate::digits::CLASSES
    }

    /// The weights it needs.
    #[must_use]
    pub fn parameters(&self) -> Vec<Parameter> {
        match self.architecture {
            Architecture::Digits => digits::parameters(),
            Architecture::Transformer => transformer::parameters(),
        }
    }

    /// The greatest magnitude of any weight.
    ///
    /// Ranges are proven with it, without reading weights.
    #[must_use]
    pub fn weight_limit(&self) -> u32 {
        match self.architecture {
            Architecture::Digits => digits::WEIGHT_LIMIT,
            Architecture::Transformer => transformer::WEIGHT_LIMIT,
        }
    }

    /// Checks images in fixed point, `[count][pixels]` in `0..=1`.
    pub(crate) fn check_images(&self, images: &[u64]) -> Result<(), InferenceError> {
        let (expected, got, max) = (self.count * self.input_len(), images.len(), ONE.cast_unsigned());
        if got != expected {
            return Err(InferenceError::Images { expected, got });
        }
        match images.iter().position(|&pixel| pixel > max) {
            Some(at) => Err(InferenceError::Pixel { at, max, got: images[at] }),
            None => Ok(()),
        }
    }

    /// Images in fixed point, `[count][pixels]` in `0..=1`, as the model's input.
    pub(crate) fn input(&self, images: &[u64]) -> Result<Tensor, InferenceError> {
        self.check_images(images)?;
        Ok(self.shares(images.to_vec()))
    }

    /// Shares of such images.
    pub(crate) fn shares(&self, words: Vec<u64>) -> Tensor {
        let range = SignedRange::new(0, ONE).unwrap_or(SignedRange::of_bits(64)); // 0 is below 1
        Tensor { words, range }
    }

    /// Runs the model; the logits have twice [`FRACTION_BITS`](crate::FRACTION_BITS).
    pub(crate) fn run<E: Engine>(&self, engine: &mut E, input: Tensor) -> Result<Tensor, InferenceError> {
        let mut layers = LayerBuilder { engine, weight_limit: self.weight_limit(), preference: self.preference };
        match self.architecture {
            Architecture::Digits => digits::run(&mut layers, &input),
            Architecture::Transformer => transformer::run(&mut layers, &input),
        }
    }
}
