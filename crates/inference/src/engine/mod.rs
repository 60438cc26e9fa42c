//! Execution of a model: in the clear, on shares, or only to record its requirements.

mod call;

use core::{cell::RefCell, iter};

use sha2::{Digest as _, Sha256};

pub use self::call::Call;
use crate::{
    InferenceError, Words,
    keys::{opened::WeightProduct, plan::Step},
};

/// An executor of models: in the clear, on shares, or only to record their requirements.
///
/// Local steps are linear and the same for every executor: they are methods of [`Words`]. An engine
/// defines the form of public constants and weights, and the steps that involve the other party.
pub trait Engine {
    /// This engine's word of the public constant `word`.
    ///
    /// It is the constant itself, or zero for the party that does not add it.
    fn constant(&self, word: u64) -> u64;

    /// This engine's words of a parameter with `len` elements.
    ///
    /// # Errors
    /// [`InferenceError::Parameters`] if the model's weights do not have it.
    fn parameter(&self, name: &str, len: usize) -> Result<Words, InferenceError>;

    /// [`parameter`](Self::parameter) for a matrix of weights of a [`Call::Matmul`].
    ///
    /// It is the second factor of products, and nothing else. An engine on a device may leave it in
    /// host memory.
    ///
    /// # Errors
    /// As [`parameter`](Self::parameter).
    fn matrix(&self, name: &str, len: usize) -> Result<Words, InferenceError> {
        self.parameter(name, len)
    }

    /// Checks fixed-point values against a declared limit. Only an engine in the clear can.
    ///
    /// # Errors
    /// [`InferenceError::Declared`] for a value beyond it.
    fn check_declared(
        &self,
        _step: &str,
        _words: &Words,
        _fraction_bits: u32,
        _limit: u32,
    ) -> Result<(), InferenceError> {
        Ok(())
    }

    /// Runs a step.
    ///
    /// # Errors
    /// Engine-specific.
    fn call(&mut self, step: &str, call: &Call<'_>) -> Result<Words, InferenceError>;
}

/// An engine that records steps and returns zeros.
#[derive(Default)]
pub(crate) struct Recorder {
    pub(crate) steps: Vec<RecordedStep>,
    /// The parameters that are no [matrices](Engine::matrix), with their elements.
    pub(crate) others: RefCell<Vec<(String, usize)>>,
}

/// A step of a run.
pub(crate) struct RecordedStep {
    pub(crate) step: Step,
    /// The product by weights, if the step is one.
    pub(crate) product: Option<WeightProduct>,
}

impl Engine for Recorder {
    fn constant(&self, _: u64) -> u64 {
        0
    }

    fn parameter(&self, name: &str, len: usize) -> Result<Words, InferenceError> {
        self.others.borrow_mut().push((name.to_owned(), len));
        self.matrix(name, len)
    }

    fn matrix(&self, _: &str, len: usize) -> Result<Words, InferenceError> {
        Ok(vec![0; len].into())
    }

    fn call(&mut self, step: &str, call: &Call<'_>) -> Result<Words, InferenceError> {
        let step = Step { name: step.to_owned(), deals: call.deals()? };
        self.steps.push(RecordedStep { step, product: call.weight_product() });
        Ok(vec![0; call.len()].into())
    }
}

/// An engine that records steps, on words that show which values a model computes from which.
///
/// The words of a weight follow from its name, the results of a step from its name and operands.
/// Models whose values flow differently have different results, but for accidents.
#[derive(Default)]
pub(crate) struct FlowRecorder {
    pub(crate) recorder: Recorder,
}

impl FlowRecorder {
    /// Words for a name and operands.
    pub(crate) fn words(name: &str, operands: [&[u64]; 2], len: usize) -> Vec<u64> {
        let mut hasher = Sha256::new();
        hasher.update((name.len() as u64).to_le_bytes());
        hasher.update(name);
        for words in operands {
            hasher.update((words.len() as u64).to_le_bytes());
            words.iter().for_each(|word| hasher.update(word.to_le_bytes()));
        }
        let digest = hasher.finalize();
        let mut state = digest.iter().take(8).fold(0, |seed, &byte| seed << 8 | u64::from(byte));
        // SplitMix64 (Steele et al., 2014): the words have to differ, and hide nothing.
        iter::repeat_with(|| {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^ (mixed >> 31)
        })
        .take(len)
        .collect()
    }
}

impl Engine for FlowRecorder {
    fn constant(&self, word: u64) -> u64 {
        word
    }

    fn parameter(&self, name: &str, len: usize) -> Result<Words, InferenceError> {
        Ok(Self::words(name, [&[]; 2], len).into())
    }

    fn call(&mut self, step: &str, call: &Call<'_>) -> Result<Words, InferenceError> {
        self.recorder.call(step, call)?;
        let words = Self::words(step, call.operands()?, call.len());
        Ok(words.into_iter().map(|word| call.ring().reduce(word)).collect::<Vec<_>>().into())
    }
}
