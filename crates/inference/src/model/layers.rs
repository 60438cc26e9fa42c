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

    /// `x / 2^bits`, rounded to nearest, with ties up at even positions and down at odd ones.
    ///
    /// The party that owns constants adds `2^(bits - 1)`, or one less at odd positions, so that
    /// rounding costs neither keys nor bytes. With all ties up the mean error of a shift by 3 bits
    /// would be 1/16.
    pub(crate) fn shift(&mut self, name: &str, x: &Tensor, bits: u32) -> Result<Tensor, InferenceError> {
        let up = (1i64 << bits) >> 1;
        let down = up - up.min(1);
        let halves = [up, down].map(|half| self.engine.constant(half.cast_unsigned()));
        let words: Vec<u64> =
            x.words.iter().zip(halves.iter().cycle()).map(|(x, half)| x.wrapping_add(*half)).collect();
        let range = x.range.checked_add(SignedRange::new(down, up)?)?;
        let shift = AutoTrunc::choose(RING_BITS, bits, RangeClaim::Proof(range))?;
        let words = self.engine.call(name, &Call::Shift { shift, x: &words })?;
        Ok(Tensor { words, range: range.floor_shift(bits)? })
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

    /// An engine in the clear, without weights. Its content is the shift it was called for last.
    #[derive(Default)]
    struct Clear(Option<AutoTrunc>);

    impl Engine for Clear {
        fn constant(&self, word: u64) -> u64 {
            word
        }

        fn parameter(&self, _: &str, len: usize) -> Result<Vec<u64>, InferenceError> {
            Ok(vec![0; len])
        }

        fn call(&mut self, _: &str, call: &Call<'_>) -> Result<Vec<u64>, InferenceError> {
            if let Call::Shift { shift, .. } = call {
                self.0 = Some(shift.clone());
            }
            Ok(call.plain()?)
        }
    }

    #[test]
    fn every_rescale_rounds_to_nearest_with_a_mean_error_of_nearly_zero() {
        // means over 8 and 16 elements, products, scores of attention, variances
        for bits in [3u32, 4, 12, 13, 16] {
            let (half, end) = (1i64 << (bits - 1), 1i64 << 61);
            let mut values = vec![-end, 1 - end, -half - 1, -half, 1 - half, -1, 0, 1, half - 1, half, half + 1];
            values.extend([end - half, end - 1, end]);
            let mut rng = fastrand::Rng::with_seed(bits.into());
            values.extend((0..1 << 17).map(|_| rng.i64(-end..=end)));
            let words: Vec<u64> = values.iter().map(|value| value.cast_unsigned()).collect();
            let x = Tensor { words, range: SignedRange::new(-end, end).unwrap() };
            let mut clear = Clear::default();
            let shifted = LayerBuilder { engine: &mut clear, weight_limit: 1 }.shift("x", &x, bits).unwrap();
            assert!(matches!(clear.0, Some(AutoTrunc::Gap { .. })));
            let error = |(&word, &value): (&u64, &i64)| (word.cast_signed() << bits) - value;
            let errors: Vec<i64> = shifted.words.iter().zip(&values).map(error).collect();
            assert!(errors.iter().all(|error| error.abs() <= half), "{bits} bits");
            let mean = errors.iter().sum::<i64>() as f64 / errors.len() as f64 / (2 * half) as f64;
            assert!(mean.abs() < 0.01, "{bits} bits: {mean}");
            assert!(shifted.words.iter().all(|word| {
                let value = word.cast_signed();
                shifted.range.min() <= value && value <= shifted.range.max()
            }));
        }
    }

    #[test]
    fn the_proof_of_a_rescale_covers_the_half() {
        let gap = 1i64 << 62;
        for (max, fits) in [(gap - 2049, true), (gap - 2048, false), (gap - 1, false)] {
            let x = Tensor { words: vec![max.cast_unsigned()], range: SignedRange::new(0, max).unwrap() };
            let mut clear = Clear::default();
            let rescaled = LayerBuilder { engine: &mut clear, weight_limit: 1 }.rescale("x", &x).unwrap();
            assert_eq!(matches!(clear.0, Some(AutoTrunc::Gap { .. })), fits, "{max}");
            assert_eq!(rescaled.words, [((max + 2048) >> 12).cast_unsigned()]);
        }
    }

    #[test]
    fn rescaling_rounds_to_nearest() {
        let mut layers = LayerBuilder { engine: &mut Clear::default(), weight_limit: 1 };
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
