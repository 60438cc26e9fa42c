//! Weights of an accelerator, on the host and on a device.

use backend_api::DType;
use half::f16;
use nn_ops::{GruColumns, GruMember, GruWeights, Init, NnError, Overflow, Tensor};
use runtime::AnyQueue;

use crate::{
    config::{AcceleratorConfig, FEATURES},
    error::AccelError,
};

/// The weights of an encoder, of recurrent units, and of the heads that read their states.
#[derive(Clone, Debug, PartialEq)]
pub struct AcceleratorWeights {
    /// Weights of the encoder, row-major `[64, output]`.
    pub encoder: Vec<f32>,
    /// Biases of the encoder, `[output]`.
    pub encoder_bias: Vec<f32>,
    /// The units, each of `[output, hidden]` features.
    ///
    /// [`GruMember::from_concat`] and [`GruMember::from_rows`] read the layouts of the plan and of
    /// the upstream.
    pub members: Vec<GruMember>,
    /// Weights that read a loss from a combined state, `[hidden + stochastic]`.
    pub loss_head: Vec<f32>,
    /// Weights that read a code from a state, row-major `[hidden, output]`.
    pub state_head: Vec<f32>,
    /// Biases of that head, `[output]`.
    pub state_bias: Vec<f32>,
}

impl AcceleratorWeights {
    /// Random weights, the same on every device.
    ///
    /// The units' weights are uniform in `+-sqrt(2 / (input + hidden))`, as in the upstream; biases
    /// are zero.
    ///
    /// # Errors
    /// As [`AcceleratorConfig::check`]; [`AccelError::Ops`] if the weights cannot be counted.
    pub fn random(config: &AcceleratorConfig) -> Result<Self, AccelError> {
        config.check()?;
        let (output, hidden, seed) = (config.encode.output_dim, config.gru.hidden_dim, config.seed);
        Ok(Self {
            encoder: Init::Kaiming.values(&[FEATURES, output], seed, 0)?,
            encoder_bias: vec![0.0; output],
            members: random_units(config.members, [output, hidden], seed, 3)?,
            loss_head: Init::Glorot.values(&[hidden.saturating_add(config.stochastic), 1], seed, 1)?,
            state_head: Init::Glorot.values(&[hidden, output], seed, 2)?,
            state_bias: vec![0.0; output],
        })
    }
}

/// Units of `[input, hidden]` features with random weights.
///
/// They are uniform in `+-sqrt(2 / (input + hidden))`, as in the upstream; biases are zero. Sites
/// begin with `first`.
pub(crate) fn random_units(
    count: usize,
    [input, hidden]: [usize; 2],
    seed: u64,
    first: u32,
) -> Result<Vec<GruMember>, NnError> {
    let columns = hidden.saturating_mul(3);
    let high = (2.0 / (input as f32 + hidden as f32)).sqrt();
    let unit = |member: u32| {
        let of = |rows: usize, site: u32| {
            Init::Uniform { low: -high, high }.values(&[rows, columns], seed, first + 2 * member + site)
        };
        let (w, u) = (of(input, 0)?, of(hidden, 1)?);
        GruMember::new(input, hidden, GruColumns { w, u, b: vec![0.0; columns], bu: None })
    };
    (0..count as u32).map(unit).collect()
}

/// The weights of the units, by their type.
#[derive(Debug)]
pub(crate) enum Units {
    Single(GruWeights<AnyQueue>),
    Half(GruWeights<AnyQueue, f16>),
}

/// The weights of an accelerator on its device.
#[derive(Debug)]
pub(crate) struct DeviceWeights {
    /// `[64, output]`.
    pub(crate) encoder: Tensor<AnyQueue, f32>,
    /// `[output]`.
    pub(crate) encoder_bias: Tensor<AnyQueue, f32>,
    pub(crate) units: Units,
    /// `[hidden + stochastic]`.
    pub(crate) loss_head: Tensor<AnyQueue, f32>,
    /// `[hidden, output]`.
    pub(crate) state_head: Tensor<AnyQueue, f32>,
    /// `[output]`.
    pub(crate) state_bias: Tensor<AnyQueue, f32>,
}

impl DeviceWeights {
    /// Copies weights of the sizes of `config` to the device.
    pub(crate) fn new(
        q: &AnyQueue,
        config: &AcceleratorConfig,
        weights: &AcceleratorWeights,
    ) -> Result<Self, AccelError> {
        const CALL: &str = "weights";
        let (output, hidden) = (config.encode.output_dim, config.gru.hidden_dim);
        // The ensemble has the sizes of the configuration; tensors check their own.
        if weights.members.len() != config.members {
            let got = [weights.members.len()];
            return Err(AccelError::shape(CALL, "the members", format!("{:?}", [config.members]), &got));
        }
        for unit in &weights.members {
            let got = [unit.input(), unit.hidden()];
            if got != [output, hidden] {
                return Err(AccelError::shape(CALL, "a member", format!("{:?}", [output, hidden]), &got));
            }
        }
        let units = GruWeights::new(q, &weights.members)?;
        let units = if config.precision == DType::F16 {
            Units::Half(units.narrowed(q, Overflow::Refuse)?)
        } else {
            Units::Single(units)
        };
        let of = |shape: &[usize], values: &[f32]| Tensor::from_values(q, shape, values);
        Ok(Self {
            encoder: of(&[FEATURES, output], &weights.encoder)?,
            encoder_bias: of(&[output], &weights.encoder_bias)?,
            units,
            loss_head: of(&[hidden.saturating_add(config.stochastic)], &weights.loss_head)?,
            state_head: of(&[hidden, output], &weights.state_head)?,
            state_bias: of(&[output], &weights.state_bias)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matrices_of_units_share_no_random_numbers() {
        let units = random_units(3, [4, 4], 7, 5).unwrap();
        let matrices: Vec<&[f32]> = units.iter().flat_map(|unit| [unit.w(), unit.u()]).collect();
        for (number, matrix) in matrices.iter().enumerate() {
            assert!(!matrices[..number].contains(matrix), "matrix {number}");
        }
    }
}
