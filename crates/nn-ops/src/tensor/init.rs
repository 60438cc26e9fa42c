//! Initial values of weights.

use backend_api::BackendError;
use core_types::philox;

use super::layout::Layout;
use crate::error::{NnError, Result};

/// Initial values of a tensor.
///
/// They are functions of a seed, a site and the row-major index of the element, so that every
/// device begins with the same bits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Init {
    /// Uniform in `low..high`.
    Uniform {
        /// The least value.
        low: f32,
        /// No value is greater.
        high: f32,
    },
    /// Uniform within `sqrt(6 / (inputs + outputs))` of zero.
    ///
    /// Glorot, Bengio, "Understanding the difficulty of training deep feedforward neural
    /// networks", 2010. The last axis counts the outputs, the others together the inputs.
    Glorot,
    /// Uniform within `sqrt(6 / inputs)` of zero, for layers before a ReLU.
    ///
    /// He et al., "Delving Deep into Rectifiers", 2015. Inputs count as in
    /// [`Glorot`](Self::Glorot).
    Kaiming,
}

impl Init {
    /// The values of a row-major tensor of `shape`. `site` tells the tensors of one seed apart.
    ///
    /// ```
    /// use nn_ops::Init;
    ///
    /// let weights = Init::Glorot.values(&[2, 4], 42, 0)?;
    /// assert!(weights.len() == 8 && weights.iter().all(|w| w.abs() <= 1.0));
    /// assert_eq!(weights, Init::Glorot.values(&[2, 4], 42, 0)?);
    /// assert_ne!(weights, Init::Glorot.values(&[2, 4], 42, 1)?);
    /// # Ok::<(), nn_ops::NnError>(())
    /// ```
    ///
    /// # Errors
    /// [`NnError::Parameter`] for bounds that are not finite or not in order,
    /// [`NnError::TooManyAxes`] or [`NnError::Overflow`] if no tensor has the shape,
    /// [`NnError::Backend`] if memory is short.
    pub fn values(self, shape: &[usize], seed: u64, site: u32) -> Result<Vec<f32>> {
        let count = Layout::contiguous(shape)?.numel();
        let (outputs, others) = shape.split_last().map_or((1, &[][..]), |(&outputs, others)| (outputs, others));
        let inputs = others.iter().product::<usize>();
        let within = |fan: usize| {
            let limit = (6.0 / fan.max(1) as f64).sqrt() as f32;
            [-limit, limit]
        };
        let [low, high] = match self {
            Self::Uniform { low, high } => [low, high],
            Self::Glorot => within(inputs.saturating_add(outputs)),
            Self::Kaiming => within(inputs),
        };
        let width = high - low;
        if !width.is_finite() || low > high {
            return Err(NnError::parameter("init", "high", "finite and at least the lower bound", high));
        }
        let words = (0..count.div_ceil(4)).flat_map(|block| philox::block(seed, site, 0, block as u64));
        // Rounding may carry a value to the upper bound, not past it.
        let value = |word| (low + width * philox::uniform(word)).min(high);
        let mut values = Vec::new();
        let bytes = (count as u64).saturating_mul(size_of::<f32>() as u64);
        values.try_reserve_exact(count).map_err(|_| BackendError::OutOfMemory { bytes })?;
        values.extend(words.take(count).map(value));
        Ok(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_fill_their_interval_and_are_the_generators() {
        let values = Init::Uniform { low: -1.0, high: 3.0 }.values(&[50, 2001], 7, 3).unwrap();
        assert_eq!(values.len(), 100_050);
        assert!(values.iter().all(|value| (-1.0..=3.0).contains(value)));
        let mean = values.iter().map(|&value| f64::from(value)).sum::<f64>() / values.len() as f64;
        let square = values.iter().map(|&value| (f64::from(value) - mean).powi(2)).sum::<f64>() / values.len() as f64;
        // A uniform variable of width 4: mean 1, variance 16 / 12.
        assert!((mean - 1.0).abs() < 0.02 && (square - 16.0 / 12.0).abs() < 0.02, "{mean} {square}");
        let word = philox::block(7, 3, 0, 1234 / 4)[1234 % 4];
        assert_eq!(values[1234], -1.0 + 4.0 * philox::uniform(word));
    }

    #[test]
    fn more_values_than_memory_holds_are_refused() {
        let refused = Init::Glorot.values(&[1 << 61], 0, 0);
        assert_eq!(refused, Err(NnError::Backend(BackendError::OutOfMemory { bytes: 1 << 63 })));
    }

    #[test]
    fn limits_follow_the_numbers_of_inputs_and_outputs() {
        let greatest = |init: Init, shape: &[usize]| {
            let values = init.values(shape, 1, 0).unwrap();
            values.into_iter().fold(0.0f32, |all, value| all.max(value.abs()))
        };
        for (limit, found) in [
            (0.1f32, greatest(Init::Glorot, &[400, 200])),
            (0.1, greatest(Init::Glorot, &[20, 20, 200])),
            (0.1, greatest(Init::Kaiming, &[600, 50])),
        ] {
            assert!(found <= limit && found > 0.999 * limit, "{found} {limit}");
        }
        let refused = |low, high| Init::Uniform { low, high }.values(&[1], 0, 0).is_err();
        assert!(refused(1.0, 0.0) && refused(f32::NAN, 0.0) && refused(f32::MIN, f32::MAX) && !refused(1.0, 1.0));
    }
}
