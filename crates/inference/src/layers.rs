//! Layers on an [`Engine`], each with the range it proves.

use pfss::{AutoTrunc, Gate, MatrixShape, RangeClaim, SignedRange};

use crate::{
    Call, Engine, InferenceError, Tensor,
    plan::RING_BITS,
    tensor::{FRACTION_BITS, ONE},
};

/// A model under construction: an engine, and the public limit on the magnitude of its weights.
pub(crate) struct Layers<'a, E> {
    pub(crate) engine: &'a mut E,
    /// Greatest magnitude of a weight or bias, as an integer.
    pub(crate) weight_limit: u32,
}

impl<E: Engine> Layers<'_, E> {
    /// `x W + b` for rows of `inputs` elements, with twice the fraction bits of `x`.
    pub(crate) fn dense(
        &mut self,
        name: &str,
        x: &Tensor,
        [inputs, outputs]: [u32; 2],
    ) -> Result<Tensor, InferenceError> {
        let (width, height) = (inputs as usize, outputs as usize);
        let weight = self.engine.parameter(&format!("{name}.weight"), width * height)?;
        let bias = self.engine.parameter(&format!("{name}.bias"), height)?;
        let shape = MatrixShape { batch: 1, rows: x.words.len() / width, inner: width, cols: height };
        let mut words = self.engine.call(name, &Call::Matmul { shape, x: &x.words, y: &weight })?;
        for row in words.chunks_exact_mut(height) {
            row.iter_mut().zip(&bias).for_each(|(sum, bias)| *sum = sum.wrapping_add(*bias));
        }
        let limit = i64::from(self.weight_limit) * ONE;
        let (weights, biases) = (SignedRange::new(-limit, limit)?, SignedRange::new(-limit * ONE, limit * ONE)?);
        let range = x.range.checked_mul(weights)?.sum_of(inputs)?.checked_add(biases)?;
        Ok(Tensor { words, range })
    }

    /// `floor(x / 2^bits)`.
    pub(crate) fn shift(&mut self, name: &str, x: &Tensor, bits: u32) -> Result<Tensor, InferenceError> {
        let shift = AutoTrunc::choose(RING_BITS, bits, RangeClaim::Proof(x.range))?;
        let words = self.engine.call(name, &Call::Shift { shift, x: &x.words })?;
        Ok(Tensor { words, range: x.range.floor_shift(bits)? })
    }

    /// Products brought back to [`FRACTION_BITS`].
    pub(crate) fn rescale(&mut self, name: &str, x: &Tensor) -> Result<Tensor, InferenceError> {
        self.shift(name, x, FRACTION_BITS)
    }

    /// `max(x, 0)`.
    pub(crate) fn relu(&mut self, name: &str, x: &Tensor) -> Result<Tensor, InferenceError> {
        let gate = Gate::relu_within(RING_BITS, x.range.bits().max(2))?;
        let words = self.engine.call(name, &Call::Relu { gate, range: x.range, x: &x.words })?;
        Ok(Tensor { words, range: x.range.relu() })
    }
}
