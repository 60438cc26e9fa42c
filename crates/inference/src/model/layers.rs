//! Layers on an [`Engine`], each with the range it proves.

use pfss::{
    AutoTrunc, Gate, MatrixShape, RangeClaim, SignedRange,
    functions::FixedFn,
    softmax::{RowLayout, SecureSoftmaxPlan},
    suf::SufModes,
};

use crate::{
    Call, Engine, InferenceError, Tensor,
    tensor::{FRACTION_BITS, ONE, RING_BITS},
};

/// A model under construction: an engine and the public limit on weight magnitudes.
pub(crate) struct LayerBuilder<'a, E> {
    pub(crate) engine: &'a mut E,
    /// Greatest magnitude of a weight or bias, as an integer.
    pub(crate) weight_limit: u32,
}

impl<E: Engine> LayerBuilder<'_, E> {
    /// `x W + b` for rows of `inputs` elements, with twice the fraction bits of `x`.
    pub(crate) fn dense(
        &mut self,
        name: &str,
        x: &Tensor,
        [inputs, outputs]: [u32; 2],
    ) -> Result<Tensor, InferenceError> {
        self.dense_at(name, x, [inputs, outputs], 1)
    }

    /// [`dense`](Self::dense) on sequences of `positions` rows, with biases for each position.
    pub(crate) fn dense_at(
        &mut self,
        name: &str,
        x: &Tensor,
        [inputs, outputs]: [u32; 2],
        positions: usize,
    ) -> Result<Tensor, InferenceError> {
        let (width, height) = (inputs as usize, outputs as usize);
        let limit = i64::from(self.weight_limit) * ONE;
        let weight = Tensor {
            words: self.engine.parameter(&format!("{name}.weight"), width * height)?,
            range: SignedRange::new(-limit, limit)?,
        };
        let bias = self.engine.parameter(&format!("{name}.bias"), positions * height)?;
        let shape = MatrixShape { batch: 1, rows: x.words.len() / width, inner: width, cols: height };
        let mut product = self.matmul(name, shape, x, &weight)?;
        for sequence in product.words.chunks_exact_mut(bias.len()) {
            sequence.iter_mut().zip(&bias).for_each(|(sum, bias)| *sum = sum.wrapping_add(*bias));
        }
        product.range = product.range.checked_add(SignedRange::new(-limit * ONE, limit * ONE)?)?;
        Ok(product)
    }

    /// `x + constant` for a public constant.
    pub(crate) fn offset(&self, x: &Tensor, constant: i64) -> Result<Tensor, InferenceError> {
        let word = self.engine.constant(constant.cast_unsigned());
        let words = x.words.iter().map(|x| x.wrapping_add(word)).collect();
        Ok(Tensor { words, range: x.range.checked_add(SignedRange::new(constant, constant)?)? })
    }

    /// Products of matrices, with the fraction bits of both factors together.
    pub(crate) fn matmul(
        &mut self,
        name: &str,
        shape: MatrixShape,
        x: &Tensor,
        y: &Tensor,
    ) -> Result<Tensor, InferenceError> {
        let words = self.engine.call(name, &Call::Matmul { shape, x: &x.words, y: &y.words })?;
        // no architecture has rows near 2^32
        let range = x.range.checked_mul(y.range)?.sum_of(u32::try_from(shape.inner).unwrap_or(u32::MAX))?;
        Ok(Tensor { words, range })
    }

    /// Products of elements, with the fraction bits of both factors together.
    pub(crate) fn product(&mut self, name: &str, x: &Tensor, y: &Tensor) -> Result<Tensor, InferenceError> {
        let words = self.engine.call(name, &Call::Product { x: &x.words, y: &y.words })?;
        Ok(Tensor { words, range: x.range.checked_mul(y.range)? })
    }

    /// `x / 2^bits`, rounded to nearest with ties up: `floor((x + 2^(bits - 1)) / 2^bits)`.
    ///
    /// The party that owns constants adds the half, so that rounding costs neither keys nor bytes.
    pub(crate) fn shift(&mut self, name: &str, x: &Tensor, bits: u32) -> Result<Tensor, InferenceError> {
        let x = &self.offset(x, (1 << bits) >> 1)?;
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

    /// A function of each element.
    pub(crate) fn function(&mut self, name: &str, function: &FixedFn, x: &Tensor) -> Result<Tensor, InferenceError> {
        let gates = function.gates_within(SufModes::default(), x.range)?;
        let words = self.engine.call(name, &Call::Function { function, gates, x: &x.words })?;
        Ok(Tensor { words, range: function.outputs().floor_shift(function.shift())? })
    }

    /// Softmax of rows of `width` elements.
    pub(crate) fn softmax(&mut self, name: &str, x: &Tensor, width: usize) -> Result<Tensor, InferenceError> {
        let layout = RowLayout::ragged(width, &vec![width; x.words.len() / width])?;
        let plan = SecureSoftmaxPlan::new(layout, x.range, SufModes::default())?;
        let words = self.engine.call(name, &Call::Softmax { plan: &plan, x: &x.words })?;
        // exponentials are at least 0 and at most their sum, whose inverse is off by far less than a unit of the result
        Ok(Tensor { words, range: SignedRange::new(-2, ONE + 2)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An engine in the clear, without weights.
    struct Clear;

    impl Engine for Clear {
        fn constant(&self, word: u64) -> u64 {
            word
        }

        fn parameter(&self, _: &str, len: usize) -> Result<Vec<u64>, InferenceError> {
            Ok(vec![0; len])
        }

        fn call(&mut self, _: &str, call: &Call<'_>) -> Result<Vec<u64>, InferenceError> {
            Ok(call.plain()?)
        }
    }

    #[test]
    fn rescaling_rounds_to_nearest() {
        let mut layers = LayerBuilder { engine: &mut Clear, weight_limit: 1 };
        let values: Vec<i64> = (-3 * ONE..3 * ONE).collect();
        let words = values.iter().map(|value| value.cast_unsigned()).collect();
        let x = Tensor { words, range: SignedRange::new(-3 * ONE, 3 * ONE).unwrap() };
        let rescaled = layers.rescale("x", &x).unwrap();
        let error = |(&word, &value): (&u64, &i64)| word.cast_signed() as f64 - value as f64 / ONE as f64;
        let errors: Vec<f64> = rescaled.words.iter().zip(&values).map(error).collect();
        assert!(errors.iter().all(|error| error.abs() <= 0.5));
        let mean = errors.iter().sum::<f64>() / errors.len() as f64;
        assert!(mean.abs() < 0.01, "{mean}");
        assert!(rescaled.words.iter().all(|&word| (-3..=3).contains(&word.cast_signed())));
        assert_eq!((rescaled.range.min(), rescaled.range.max()), (-3, 3));
    }
}
