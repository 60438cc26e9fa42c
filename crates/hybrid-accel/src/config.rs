//! Sizes of an accelerator.

use backend_api::DType;
use nn_ops::Feedback;

use crate::error::AccelError;

/// Features of a training: the inputs of the encoder.
pub(crate) const FEATURES: usize = 64;

/// Sizes of the encoder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodeStateConfig {
    /// Features of a training: always 64.
    pub input_dim: usize,
    /// Elements of a code.
    pub output_dim: usize,
    /// Threads of a block. It has no effect: each kernel has a fixed number.
    pub block_size: usize,
}

impl Default for EncodeStateConfig {
    /// 64 features, 128 elements.
    fn default() -> Self {
        Self { input_dim: FEATURES, output_dim: 128, block_size: 256 }
    }
}

/// Sizes of the recurrent units.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GruConfig {
    /// Elements of a state.
    pub hidden_dim: usize,
    /// Elements of an input: as in a code, 128.
    pub input_dim: usize,
    /// Rows of a batch. It has no effect: a call takes any number.
    pub batch_size: usize,
}

impl Default for GruConfig {
    /// 256 elements of a state, 128 of an input.
    fn default() -> Self {
        Self { hidden_dim: 256, input_dim: 128, batch_size: 1 }
    }
}

/// Sizes and element types of an accelerator.
///
/// The numbers after the fields are their defaults; [`check`](Self::check) has the values allowed.
#[derive(Clone, Debug, PartialEq)]
pub struct AcceleratorConfig {
    /// The encoder.
    pub encode: EncodeStateConfig,
    /// The recurrent units.
    pub gru: GruConfig,
    /// Members of the ensemble: 5.
    pub members: usize,
    /// Elements of the softmax part of a combined state, which losses are read from: 32.
    pub stochastic: usize,
    /// The inputs of a step after the first.
    ///
    /// [`Feedback::State`], the default: the predicted code of the step before.
    pub feedback: Feedback,
    /// Type of the units' weights and of codes and predictions: f32 or f16.
    ///
    /// States and sums are f32. f16 rounds each result once and waits for it.
    pub precision: DType,
    /// Shapes of each call whose memory and recording are kept: 16, at least 1.
    pub shapes: usize,
    /// Seed of random weights.
    pub seed: u64,
}

impl Default for AcceleratorConfig {
    fn default() -> Self {
        Self {
            encode: EncodeStateConfig::default(),
            gru: GruConfig::default(),
            members: 5,
            stochastic: 32,
            feedback: Feedback::State,
            precision: DType::F32,
            shapes: 16,
            seed: 0,
        }
    }
}

/// Members of an ensemble at most.
const MOST_MEMBERS: usize = 1024;

impl AcceleratorConfig {
    /// Refuses sizes that make no accelerator.
    ///
    /// `encode.input_dim` is 64, `gru.input_dim` equals `encode.output_dim`, `members` is 1 to
    /// 1024, `stochastic` may be 0, and all other sizes are at least 1. Block and batch sizes are
    /// not read.
    ///
    /// # Errors
    /// [`AccelError::Config`] with the name of the number and the values allowed.
    pub fn check(&self) -> Result<(), AccelError> {
        let Self { encode, gru, members, precision, .. } = self;
        let rules = [
            ("encode.input_dim", "64", encode.input_dim, encode.input_dim == FEATURES),
            ("encode.output_dim", "1 or more", encode.output_dim, encode.output_dim > 0),
            ("gru.hidden_dim", "1 or more", gru.hidden_dim, gru.hidden_dim > 0),
            ("gru.input_dim", "equal to encode.output_dim", gru.input_dim, gru.input_dim == encode.output_dim),
            ("members", "in 1..=1024", *members, (1..=MOST_MEMBERS).contains(members)),
            ("shapes", "1 or more", self.shapes, self.shapes > 0),
        ];
        if let Some((name, expected, got, _)) = rules.into_iter().find(|(.., holds)| !holds) {
            return Err(AccelError::config(name, expected, got));
        }
        if ![DType::F32, DType::F16].contains(precision) {
            return Err(AccelError::config("precision", "f32 or f16", precision));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_that_make_no_accelerator_are_refused_by_name() {
        let plain = AcceleratorConfig::default();
        assert_eq!(plain.check(), Ok(()));
        let of = |encode: EncodeStateConfig| AcceleratorConfig { encode, ..plain.clone() };
        let encode = EncodeStateConfig::default();
        for (config, expected) in [
            (of(EncodeStateConfig { input_dim: 32, ..encode.clone() }), "encode.input_dim must be 64, got 32"),
            (of(EncodeStateConfig { output_dim: 0, ..encode.clone() }), "encode.output_dim must be 1 or more, got 0"),
            (
                of(EncodeStateConfig { output_dim: 64, ..encode }),
                "gru.input_dim must be equal to encode.output_dim, got 128",
            ),
            (AcceleratorConfig { members: 0, ..plain.clone() }, "members must be in 1..=1024, got 0"),
            (AcceleratorConfig { shapes: 0, ..plain.clone() }, "shapes must be 1 or more, got 0"),
            (AcceleratorConfig { precision: DType::Bf16, ..plain.clone() }, "precision must be f32 or f16, got bf16"),
        ] {
            assert_eq!(config.check().unwrap_err().to_string(), expected);
        }
    }
}
