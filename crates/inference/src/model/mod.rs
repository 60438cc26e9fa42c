//! The available networks, written once for every engine.

mod block;
mod described;
mod digits;
mod function;
mod input;
mod layers;
mod norm;
mod rounding;
mod shape;
mod transformer;

use core::str::FromStr;

pub(crate) use block::layer;
pub use function::{Attention, Conv2d, Layers, Value};
pub(crate) use layers::LayerBuilder;
pub(crate) use shape::TransformerBlock;
pub use shape::{DeclaredLimits, NormPlacement, TransformerShape};

use crate::{
    Architecture, Engine, InferenceError, ModelLimits, Parameter, Preference, Tensor, function::FunctionModel,
};

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
    /// The largest batch; more inputs than this take several deals.
    pub const MAX_COUNT: usize = 1 << 16;

    /// A model for batches of `count` inputs, with fewest rounds.
    ///
    /// # Errors
    /// [`InferenceError::Count`] outside `1..=`[`MAX_COUNT`](Self::MAX_COUNT), and for a batch that
    /// is too large for the model of a [file](crate::ModelFile::max_count) or a function: a tensor
    /// has at most 2^26 elements.
    pub fn new(architecture: Architecture, count: usize) -> Result<Self, InferenceError> {
        let max = architecture.described().map_or(Self::MAX_COUNT, |model| model.max_count.min(Self::MAX_COUNT));
        if count == 0 || count > max {
            return Err(InferenceError::Count { max, got: count });
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
    ///
    /// The digest of a model's file, or the limits and shapes of a function, are part of it, and so
    /// of the plan.
    pub(crate) fn title(&self) -> String {
        let file = match &self.architecture {
            Architecture::Digits | Architecture::Transformer => String::new(),
            Architecture::File(file) => format!(" of file {}", file.digest()),
            Architecture::Function(model) => {
                let FunctionModel { input_shape, output_shape, limits: ModelLimits { weights, inputs }, .. } = &**model;
                format!(
                    " of a function of {input_shape:?} in {inputs:?} to {output_shape:?} with weights of at most {weights}"
                )
            }
        };
        format!("{}{file} for {} inputs{}", self.architecture, self.count, self.preference.title())
    }

    /// The architecture.
    #[must_use]
    pub fn architecture(&self) -> &Architecture {
        &self.architecture
    }

    /// Inputs of a batch.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// The weights it needs.
    #[must_use]
    pub fn parameters(&self) -> Vec<Parameter> {
        match &self.architecture {
            Architecture::Digits => digits::parameters(),
            Architecture::Transformer => transformer::parameters(),
            Architecture::File(file) => described::parameters(file),
            Architecture::Function(model) => model.trace.parameters.clone(),
        }
    }

    /// The greatest magnitude of any weight.
    ///
    /// Ranges are proven with it, without reading weights.
    #[must_use]
    pub fn weight_limit(&self) -> u32 {
        match &self.architecture {
            Architecture::Digits => digits::WEIGHT_LIMIT,
            Architecture::Transformer => transformer::WEIGHT_LIMIT,
            Architecture::File(file) => file.weight_limit(),
            Architecture::Function(model) => model.limits.weights,
        }
    }

    /// Runs the model; the logits have [`output_fraction_bits`](Self::output_fraction_bits).
    pub(crate) fn run(&self, engine: &mut dyn Engine, input: Tensor) -> Result<Tensor, InferenceError> {
        let (weight_limit, preference) = (self.weight_limit(), self.preference);
        match &self.architecture {
            Architecture::Digits => digits::run(&mut LayerBuilder { engine, weight_limit, preference }, &input),
            Architecture::Transformer => {
                transformer::run(&mut LayerBuilder { engine, weight_limit, preference }, &input)
            }
            Architecture::File(file) => {
                described::run(&mut LayerBuilder { engine, weight_limit, preference }, file, &input)
            }
            Architecture::Function(model) => model.run(engine, preference, input),
        }
    }
}
