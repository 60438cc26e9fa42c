//! Layers on an [`Engine`], each with the range it proves.

use pfss::{
    Gate, MatrixShape, RangeError, Ring, SignedRange,
    functions::{Accuracy, FixedFn, FixedGates, TableFn, gelu, silu},
    softmax::{RowLayout, SecureSoftmaxPlan},
    suf::{CoeffMode, SufModes},
};

use super::{
    rounding::{Rounding, UnshiftedProduct},
    shape::within,
};
use crate::{
    Call, Engine, InferenceError, Preference, Tensor, Words,
    fixed_point::{FRACTION_BITS, ONE, RING, RING_BITS},
};

/// A model under construction: engine, limit on weight magnitudes, choice of gates.
pub(crate) struct LayerBuilder<'a> {
    pub(crate) engine: &'a mut dyn Engine,
    /// Greatest magnitude of a weight or bias, as an integer.
    pub(crate) weight_limit: u32,
    pub(crate) preference: Preference,
}

impl LayerBuilder<'_> {
    /// `x W + b` for rows of `inputs` elements, rounded to [`FRACTION_BITS`].
    ///
    /// It has two steps, `name` and `name.rescale`.
    pub(crate) fn dense(
        &mut self,
        name: &str,
        x: &Tensor,
        [inputs, outputs]: [u32; 2],
    ) -> Result<Tensor, InferenceError> {
        self.dense_at(name, x, [inputs, outputs], Some(1))
    }

    /// [`dense`](Self::dense) with biases for each of `biases` rows in turn, or without.
    pub(crate) fn dense_at(
        &mut self,
        name: &str,
        x: &Tensor,
        [inputs, outputs]: [u32; 2],
        biases: Option<usize>,
    ) -> Result<Tensor, InferenceError> {
        let rounding = Rounding::new(self.affine_range(x, inputs, biases)?, FRACTION_BITS)?;
        let words = self.affine(name, x, [inputs, outputs], biases, rounding.ring())?;
        self.round(&format!("{name}.rescale"), UnshiftedProduct { words, rounding })
    }

    /// The row of weights that each one-hot vector of `inputs` elements chooses.
    ///
    /// One product of a row is not zero, so that its range is the range of the weights.
    pub(crate) fn embedding(
        &mut self,
        name: &str,
        x: &Tensor,
        [inputs, outputs]: [u32; 2],
    ) -> Result<Tensor, InferenceError> {
        let rounding = Rounding::new(self.weights()?.checked_mul(x.range)?, FRACTION_BITS)?;
        let words = self.affine(name, x, [inputs, outputs], None, rounding.ring())?;
        self.round(&format!("{name}.rescale"), UnshiftedProduct { words, rounding })
    }

    /// `x` with a weight added to each element of each input of `len` elements.
    pub(crate) fn add_weights(&self, name: &str, x: &Tensor, len: usize) -> Result<Tensor, InferenceError> {
        let weights = self.engine.parameter(&format!("{name}.weight"), len)?;
        let words = x.words.clone().with_row(&weights, RING);
        Ok(Tensor { words, range: x.range.checked_add(self.weights()?)? })
    }

    /// `x W + b` with twice the fraction bits of `x`, the last step of a model.
    ///
    /// No shift follows, so it is in the ring of 64 bits.
    pub(crate) fn logits(
        &mut self,
        name: &str,
        x: &Tensor,
        [inputs, outputs]: [u32; 2],
        biases: Option<usize>,
    ) -> Result<Tensor, InferenceError> {
        let range = self.affine_range(x, inputs, biases)?;
        Ok(Tensor { words: self.affine(name, x, [inputs, outputs], biases, RING)?, range })
    }

    /// The range of weights with [`FRACTION_BITS`].
    pub(super) fn weights(&self) -> Result<SignedRange, RangeError> {
        let limit = i64::from(self.weight_limit) * ONE;
        SignedRange::new(-limit, limit)
    }

    /// The range of `x W + b`, for rows of `inputs` elements.
    fn affine_range(&self, x: &Tensor, inputs: u32, biases: Option<usize>) -> Result<SignedRange, RangeError> {
        let sums = x.range.checked_mul(self.weights()?)?.sum_of(inputs)?;
        match biases {
            Some(_) => sums.checked_add(self.weights()?.checked_mul(SignedRange::new(ONE, ONE)?)?),
            None => Ok(sums),
        }
    }

    /// Words of `x W + b` in `ring`.
    fn affine(
        &mut self,
        name: &str,
        x: &Tensor,
        [inputs, outputs]: [u32; 2],
        biases: Option<usize>,
        ring: Ring,
    ) -> Result<Words, InferenceError> {
        let (inner, cols) = (inputs as usize, outputs as usize);
        let weight = self.engine.matrix(&format!("{name}.weight"), inner * cols)?;
        let bias = biases.map(|rows| self.engine.parameter(&format!("{name}.bias"), rows * cols)).transpose()?;
        let shape = MatrixShape { batch: 1, rows: x.words.len() / inner, inner, cols };
        let call = Call::Matmul { ring, shape, x: &x.words, y: &weight, weights: true };
        let words = self.engine.call(name, &call)?;
        Ok(match bias {
            Some(bias) => words.with_row(&bias, ring),
            None => words,
        })
    }

    /// `x` with its proven range cut to a declared limit, if there is one.
    pub(crate) fn limited(&self, name: &str, x: Tensor, limit: Option<u32>) -> Result<Tensor, InferenceError> {
        let Some(limit) = limit else { return Ok(x) };
        self.engine.check_declared(name, &x.words, FRACTION_BITS, limit)?;
        Ok(Tensor { range: within(x.range, i64::from(limit) * ONE)?, ..x })
    }

    /// `x + constant` for a public constant.
    pub(crate) fn offset(&self, x: Tensor, constant: i64) -> Result<Tensor, InferenceError> {
        let words = x.words.with_constants(&[self.engine.constant(constant.cast_unsigned())]);
        Ok(Tensor { words, range: x.range.checked_add(SignedRange::new(constant, constant)?)? })
    }

    /// Products of matrices, in the ring of the `rounding` that follows.
    pub(crate) fn matmul(
        &mut self,
        name: &str,
        shape: MatrixShape,
        [x, y]: [&Tensor; 2],
        rounding: Rounding,
    ) -> Result<UnshiftedProduct, InferenceError> {
        let call = Call::Matmul { ring: rounding.ring(), shape, x: &x.words, y: &y.words, weights: false };
        Ok(UnshiftedProduct { words: self.engine.call(name, &call)?, rounding })
    }

    /// Words of products of elements in `ring`, with the fraction bits of both factors together.
    pub(crate) fn product(&mut self, name: &str, [x, y]: [&Words; 2], ring: Ring) -> Result<Words, InferenceError> {
        self.engine.call(name, &Call::Product { ring, x, y })
    }

    /// `x / 2^bits`, rounded to nearest, with ties up at even positions and down at odd ones.
    ///
    /// The party that owns constants adds `2^(bits - 1)`, or one less at odd positions, so that
    /// rounding costs neither keys nor bytes. With all ties up the mean error of a shift by 3 bits
    /// would be 1/16.
    pub(crate) fn shift(&mut self, name: &str, x: Tensor, bits: u32) -> Result<Tensor, InferenceError> {
        let rounding = Rounding::new(x.range, bits)?;
        self.round(name, UnshiftedProduct { words: x.words, rounding })
    }

    /// [`shift`](Self::shift) of products.
    pub(crate) fn round(&mut self, name: &str, x: UnshiftedProduct) -> Result<Tensor, InferenceError> {
        let UnshiftedProduct { words, rounding: Rounding { halves, shift, range } } = x;
        let words = words.with_constants(&halves.map(|half| self.engine.constant(half.cast_unsigned())));
        let words = self.engine.call(name, &Call::Shift { shift, x: &words })?;
        Ok(Tensor { words, range })
    }

    /// [`round`](Self::round) of one element for each row.
    pub(crate) fn round_rows(&mut self, name: &str, x: UnshiftedProduct) -> Result<Tensor, InferenceError> {
        let UnshiftedProduct { words, rounding } = x;
        let rounding = if self.preference.saves_rounds_of_rows() { rounding.in_one_round()? } else { rounding };
        self.round(name, UnshiftedProduct { words, rounding })
    }

    /// `max(x, 0)`.
    pub(crate) fn relu(&mut self, name: &str, x: &Tensor) -> Result<Tensor, InferenceError> {
        let gate = Gate::relu_within(RING_BITS, x.range.bits().max(2))?;
        let words = self.engine.call(name, &Call::Relu { gate, range: x.range, x: &x.words })?;
        Ok(Tensor { words, range: x.range.relu() })
    }

    /// A function of each element.
    fn function(&mut self, name: &str, function: &FixedFn, x: &Tensor) -> Result<Tensor, InferenceError> {
        let gates = function.gates_within(SufModes::default(), x.range)?;
        self.function_by(name, function, gates, x)
    }

    /// A function of one element for each row.
    pub(crate) fn row_function(
        &mut self,
        name: &str,
        function: &FixedFn,
        x: &Tensor,
    ) -> Result<Tensor, InferenceError> {
        if !self.preference.saves_rounds_of_rows() {
            return self.function(name, function, x);
        }
        let modes = SufModes { coeffs: CoeffMode::IntervalLut, ..SufModes::default() };
        let gates = function.gates_within(modes, x.range)?.in_one_round()?;
        self.function_by(name, function, gates, x)
    }

    /// A function of each element by these gates.
    fn function_by(
        &mut self,
        name: &str,
        function: &FixedFn,
        gates: FixedGates,
        x: &Tensor,
    ) -> Result<Tensor, InferenceError> {
        let words = self.engine.call(name, &Call::Function { function, gates, x: &x.words })?;
        Ok(Tensor { words, range: function.outputs_within(x.range)?.floor_shift(function.shift())? })
    }

    /// A function of each element by table.
    fn table(&mut self, name: &str, function: &TableFn, x: &Tensor) -> Result<Tensor, InferenceError> {
        let gates = function.gates_within(x.range)?;
        let words = self.engine.call(name, &Call::Table { function, gates, x: &x.words })?;
        Ok(Tensor { words, range: function.outputs_within(x.range)?.floor_shift(function.shift())? })
    }

    /// GeLU of each element.
    pub(crate) fn gelu(&mut self, name: &str, x: &Tensor) -> Result<Tensor, InferenceError> {
        match self.preference {
            Preference::Rounds => self.function(name, &gelu(Accuracy::CUBIC_16)?, x),
            Preference::KeyBytes | Preference::Balanced => self.table(name, &TableFn::gelu(FRACTION_BITS)?, x),
        }
    }

    /// SiLU of each element.
    pub(crate) fn silu(&mut self, name: &str, x: &Tensor) -> Result<Tensor, InferenceError> {
        match self.preference {
            Preference::Rounds => self.function(name, &silu(Accuracy::CUBIC_16)?, x),
            Preference::KeyBytes | Preference::Balanced => self.table(name, &TableFn::silu(FRACTION_BITS)?, x),
        }
    }

    /// Softmax of rows of `width` elements.
    pub(crate) fn softmax(&mut self, name: &str, x: &Tensor, width: usize) -> Result<Tensor, InferenceError> {
        let layout = RowLayout::ragged(width, &vec![width; x.words.len() / width])?;
        self.softmax_packed(name, x, layout)
    }

    /// Softmax of the rows of `layout`, packed.
    pub(crate) fn softmax_packed(
        &mut self,
        name: &str,
        x: &Tensor,
        layout: RowLayout,
    ) -> Result<Tensor, InferenceError> {
        let modes = SufModes::default();
        let plan = match self.preference {
            Preference::Rounds => SecureSoftmaxPlan::new(layout, x.range, modes)?,
            Preference::KeyBytes => SecureSoftmaxPlan::by_table(layout, x.range, modes)?,
            Preference::Balanced => SecureSoftmaxPlan::by_table(layout, x.range, modes)?.in_fewer_rounds()?,
        };
        let words = self.engine.call(name, &Call::Softmax { plan: &plan, x: &x.words })?;
        // exponentials are at least 0 and at most their sum, whose inverse is off by far less than a unit of the result
        Ok(Tensor { words, range: SignedRange::new(-2, ONE + 2)? })
    }
}

#[cfg(test)]
mod tests {
    use pfss::AutoTrunc;

    use super::*;

    /// An engine in the clear, without weights. Its content is the shift it was called for last.
    #[derive(Default)]
    struct Clear(Option<AutoTrunc>);

    impl Engine for Clear {
        fn constant(&self, word: u64) -> u64 {
            word
        }

        fn parameter(&self, _: &str, len: usize) -> Result<Words, InferenceError> {
            Ok(vec![0; len].into())
        }

        fn call(&mut self, _: &str, call: &Call<'_>) -> Result<Words, InferenceError> {
            if let Call::Shift { shift, .. } = call {
                self.0 = Some(shift.clone());
            }
            Ok(call.plain()?.into())
        }
    }

    fn layers(engine: &mut Clear) -> LayerBuilder<'_> {
        LayerBuilder { engine, weight_limit: 1, preference: Preference::Rounds }
    }

    #[test]
    fn weights_of_a_softmax_have_the_documented_range() {
        let x = Tensor { words: vec![0, 4096, 1, 0].into(), range: SignedRange::new(0, 4096).unwrap() };
        for preference in Preference::ALL {
            let mut clear = Clear::default();
            let mut layers = LayerBuilder { preference, ..layers(&mut clear) };
            let range = layers.softmax("x", &x, 4).unwrap().range;
            assert_eq!((range.min(), range.max()), (-2, ONE + 2));
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
            let x = Tensor { words: words.into(), range: SignedRange::new(-end, end).unwrap() };
            let mut clear = Clear::default();
            let shifted = layers(&mut clear).shift("x", x.clone(), bits).unwrap();
            assert!(matches!(clear.0, Some(AutoTrunc::Gap { .. })));
            let error = |(&word, &value): (&u64, &i64)| (word.cast_signed() << bits) - value;
            let results = shifted.words.on_host().unwrap();
            let errors: Vec<i64> = results.iter().zip(&values).map(error).collect();
            assert!(errors.iter().all(|error| error.abs() <= half), "{bits} bits");
            let mean = errors.iter().sum::<i64>() as f64 / errors.len() as f64 / (2 * half) as f64;
            assert!(mean.abs() < 0.01, "{bits} bits: {mean}");
            assert!(results.iter().all(|word| {
                let value = word.cast_signed();
                shifted.range.min() <= value && value <= shifted.range.max()
            }));
        }
    }

    #[test]
    fn the_proof_of_a_rescale_covers_the_half() {
        let gap = 1i64 << 62;
        for (max, fits) in [(gap - 2049, true), (gap - 2048, false), (gap - 1, false)] {
            let x = Tensor { words: vec![max.cast_unsigned()].into(), range: SignedRange::new(0, max).unwrap() };
            let mut clear = Clear::default();
            let rescaled = layers(&mut clear).shift("x", x, FRACTION_BITS).unwrap();
            assert_eq!(matches!(clear.0, Some(AutoTrunc::Gap { .. })), fits, "{max}");
            assert_eq!(rescaled.words.on_host().unwrap(), [((max + 2048) >> 12).cast_unsigned()]);
        }
    }

    #[test]
    fn rescaling_rounds_to_nearest() {
        let mut clear = Clear::default();
        let mut layers = layers(&mut clear);
        let values: Vec<i64> = (-3 * ONE..3 * ONE).collect();
        let words: Vec<u64> = values.iter().map(|value| value.cast_unsigned()).collect();
        let x = Tensor { words: words.into(), range: SignedRange::new(-3 * ONE, 3 * ONE).unwrap() };
        let rescaled = layers.shift("x", x, FRACTION_BITS).unwrap();
        let error = |(&word, &value): (&u64, &i64)| word.cast_signed() as f64 - value as f64 / ONE as f64;
        let words = rescaled.words.on_host().unwrap();
        let errors: Vec<f64> = words.iter().zip(&values).map(error).collect();
        assert!(errors.iter().all(|error| error.abs() <= 0.5));
        let mean = errors.iter().sum::<f64>() / errors.len() as f64;
        assert!(mean.abs() < 0.01, "{mean}");
        assert!(words.iter().all(|&word| (-3..=3).contains(&word.cast_signed())));
        assert_eq!((rescaled.range.min(), rescaled.range.max()), (-3, 3));
    }
}
