//! The inputs and results of models: shapes, fixed point, and the checks of inputs.

use pfss::SignedRange;

use super::Model;
use crate::{
    InferenceError, Tensor, Words,
    digits::{CLASSES, PIXELS},
    fixed_point::{FRACTION_BITS, ONE},
};

impl Model {
    /// Values of one input: pixels, if it is an image.
    #[must_use]
    pub fn input_len(&self) -> usize {
        self.architecture.described().map_or(PIXELS, |model| elements(model.input_shape))
    }

    /// Logits, or other results, of one input.
    #[must_use]
    pub fn classes(&self) -> usize {
        self.architecture.described().map_or(CLASSES, |model| elements(model.output_shape))
    }

    /// Fraction bits of the results.
    #[must_use]
    pub fn output_fraction_bits(&self) -> u32 {
        self.architecture.described().map_or(2 * FRACTION_BITS, |model| model.output_fraction_bits)
    }

    /// The shape of the results of a batch.
    #[must_use]
    pub fn output_shape(&self) -> Vec<usize> {
        let one = self.architecture.described().map_or_else(|| vec![CLASSES], |model| lens(model.output_shape));
        [self.count].into_iter().chain(one).collect()
    }

    /// The shapes that [`encode`](Self::encode) accepts, the shape of values first.
    ///
    /// If the first layer is an embedding, the second is `[count, positions]`, of tokens.
    #[must_use]
    pub fn input_shapes(&self) -> Vec<Vec<usize>> {
        let batch = |one: &[usize]| [&[self.count][..], one].concat();
        let Some(model) = self.architecture.described() else { return vec![batch(&[PIXELS])] };
        let one = lens(model.input_shape);
        let tokens = model.is_one_hot.then(|| batch(&one[..1]));
        [batch(&one)].into_iter().chain(tokens).collect()
    }

    /// Inputs in fixed point, from numbers.
    ///
    /// `values` are row-major and have one of the [`input_shapes`](Self::input_shapes). They are
    /// rounded to [`FRACTION_BITS`]. Tokens become one-hot vectors. The result has
    /// [`input_len`](Self::input_len) words for each input of the batch.
    ///
    /// # Errors
    /// [`InferenceError::InputShape`] for another shape, [`InferenceError::Token`] for a token that
    /// is no integer of the vocabulary, and as [`Role::check`](crate::party::Role::check).
    pub fn encode(&self, shape: &[usize], values: &[f32]) -> Result<Vec<u64>, InferenceError> {
        let shapes = self.input_shapes();
        let index = shapes.iter().position(|accepted| accepted == shape);
        let index = index.filter(|_| shape.iter().product::<usize>() == values.len());
        let words = match index {
            None => {
                let expected = shapes.iter().map(|shape| format!("{shape:?}")).collect::<Vec<_>>().join(" or ");
                return Err(InferenceError::InputShape { expected, got: shape.to_vec() });
            }
            Some(0) => {
                if let Some(at) = values.iter().position(|value| value.is_nan()) {
                    return Err(self.beyond(at, f64::NAN));
                }
                // a value beyond 64 bits becomes the last word, which is beyond any limit
                let word = |&value: &f32| ((f64::from(value) * ONE as f64).round() as i64).cast_unsigned();
                values.iter().map(word).collect()
            }
            Some(_) => one_hot(values, shapes[0].last().copied().unwrap_or_default())?,
        };
        self.check_input(&words)?;
        Ok(words)
    }

    /// Results as numbers, from words with [`output_fraction_bits`](Self::output_fraction_bits).
    #[must_use]
    pub fn decode(&self, words: &[u64]) -> Vec<f32> {
        let scale = (1u64 << self.output_fraction_bits()) as f64;
        words.iter().map(|word| (word.cast_signed() as f64 / scale) as f32).collect()
    }

    /// Checks inputs in fixed point: their number, and each value.
    pub(crate) fn check_input(&self, words: &[u64]) -> Result<(), InferenceError> {
        let (expected, got) = (self.count * self.input_len(), words.len());
        if got != expected {
            return Err(InferenceError::Images { expected, got });
        }
        let [min, max] = self.input_limits().map(|limit| i64::from(limit) * ONE);
        let is_beyond = |&word: &u64| !(min..=max).contains(&word.cast_signed());
        match (words.iter().position(is_beyond), self.architecture.described()) {
            (Some(at), Some(_)) => {
                return Err(self.beyond(at, words[at].cast_signed() as f64 / ONE as f64));
            }
            (Some(at), None) => return Err(InferenceError::Pixel { at, max: max.cast_unsigned(), got: words[at] }),
            (None, _) => {}
        }
        let Some(model) = self.architecture.described().filter(|model| model.is_one_hot) else { return Ok(()) };
        let vocabulary = model.input_shape.last().map_or(1, |&len| len as usize);
        let one = ONE.cast_unsigned();
        let is_one_hot = |row: &[u64]| row.iter().sum::<u64>() == one && row.contains(&one);
        match words.chunks_exact(vocabulary).position(|row| !is_one_hot(row)) {
            Some(row) => Err(InferenceError::OneHot { row }),
            None => Ok(()),
        }
    }

    /// Inputs in fixed point, checked, as the model's input.
    pub(crate) fn input(&self, words: &[u64]) -> Result<Tensor, InferenceError> {
        self.check_input(words)?;
        Ok(self.shares(words.to_vec()))
    }

    /// Shares of such inputs.
    pub(crate) fn shares(&self, words: impl Into<Words>) -> Tensor {
        let [min, max] = self.input_limits().map(|limit| i64::from(limit) * ONE);
        let range = SignedRange::new(min, max).unwrap_or(SignedRange::of_bits(64)); // a file's `min` is checked
        Tensor { words: words.into(), range }
    }

    /// The least and the greatest value of an input.
    fn input_limits(&self) -> [i32; 2] {
        self.architecture.described().map_or([0, 1], |model| model.input_limits)
    }

    fn beyond(&self, at: usize, got: f64) -> InferenceError {
        let [min, max] = self.input_limits();
        InferenceError::Input { at, min, max, got }
    }
}

/// A row of `vocabulary` words for each token: 1 at its place, and zeros.
fn one_hot(tokens: &[f32], vocabulary: usize) -> Result<Vec<u64>, InferenceError> {
    let mut words = vec![0; tokens.len() * vocabulary];
    for (at, (row, &got)) in words.chunks_exact_mut(vocabulary.max(1)).zip(tokens).enumerate() {
        let max = vocabulary.saturating_sub(1) as u32;
        if !(0.0..=max as f32).contains(&got) || got.fract() > 0.0 {
            return Err(InferenceError::Token { at, max, got });
        }
        row[got as usize] = ONE.cast_unsigned();
    }
    Ok(words)
}

/// Elements of a shape, which a file limits to 2^26.
pub(super) fn elements(shape: &[u32]) -> usize {
    lens(shape).iter().product()
}

fn lens(shape: &[u32]) -> Vec<usize> {
    shape.iter().map(|&len| len as usize).collect()
}
