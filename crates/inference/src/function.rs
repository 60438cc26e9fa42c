//! Models that are Rust functions, as the rest of the crate holds them.

use core::fmt;
use std::{collections::BTreeSet, sync::Arc};

use crate::{Engine, InferenceError, Parameter, Preference, Tensor};

/// Limits that the ranges of a model are proven from, as integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelLimits {
    /// The greatest magnitude of a weight or a bias, 1 to `2^16`.
    pub weights: u32,
    /// The least and the greatest value of an input, within `-2^20` to `2^20`.
    pub inputs: [i32; 2],
}

/// A network that is a Rust function. [`Model::from_fn`](crate::Model::from_fn) makes it.
///
/// It equals its own copies alone.
#[derive(Clone)]
pub struct FunctionModel {
    pub(crate) name: String,
    pub(crate) input_shape: Vec<u32>,
    pub(crate) limits: ModelLimits,
    pub(crate) output_shape: Vec<u32>,
    pub(crate) trace: TracedFacts,
    pub(crate) function: Arc<dyn ModelFunction>,
}

/// A function on an engine.
pub(crate) trait ModelFunction: Send + Sync {
    /// Runs the model on a batch of inputs of this shape each.
    ///
    /// Returns its results, and the shape of the result for one input.
    fn run(&self, execution: Execution<'_>, input: Tensor, shape: &[u32])
    -> Result<(Tensor, Vec<u32>), InferenceError>;
}

/// The engine and the settings of one run of a function.
pub(crate) struct Execution<'a> {
    pub(crate) engine: &'a mut dyn Engine,
    pub(crate) weight_limit: u32,
    pub(crate) preference: Preference,
    /// The facts to record, when the model is made.
    pub(crate) trace: Option<&'a mut TracedFacts>,
}

/// Facts of a function that its first run shows.
#[derive(Clone, Debug, Default)]
pub(crate) struct TracedFacts {
    /// The names of its layers.
    pub(crate) names: BTreeSet<String>,
    pub(crate) parameters: Vec<Parameter>,
    /// Elements of the largest tensor of one input.
    pub(crate) largest: u64,
    /// Whether inputs are one-hot vectors, for an embedding.
    pub(crate) is_one_hot: bool,
}

impl FunctionModel {
    /// Runs the model on a batch of inputs.
    ///
    /// # Errors
    /// [`InferenceError::LayerValue`] if the function has other results than when the model was
    /// made, and the errors of the function.
    pub(crate) fn run(
        &self,
        engine: &mut dyn Engine,
        preference: Preference,
        input: Tensor,
    ) -> Result<Tensor, InferenceError> {
        let execution = Execution { engine, weight_limit: self.limits.weights, preference, trace: None };
        let elements = |shape: &[u32]| shape.iter().map(|&len| len as usize).product::<usize>();
        let words = input.words.len() / elements(&self.input_shape) * elements(&self.output_shape);
        let (results, shape) = self.function.run(execution, input, &self.input_shape)?;
        if shape != self.output_shape || results.words.len() != words {
            return Err(InferenceError::LayerValue {
                place: format!("model {:?}: its results", self.name),
                expected: format!("{words} words of shape {:?}, as when the model was made", self.output_shape),
                got: format!("{} words of shape {shape:?}", results.words.len()),
            });
        }
        Ok(results)
    }
}

impl PartialEq for FunctionModel {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.function, &other.function)
    }
}

impl Eq for FunctionModel {}

impl fmt::Debug for FunctionModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, input_shape, limits, output_shape, .. } = self;
        f.debug_struct("FunctionModel")
            .field("name", name)
            .field("input_shape", input_shape)
            .field("limits", limits)
            .field("output_shape", output_shape)
            .finish_non_exhaustive()
    }
}
