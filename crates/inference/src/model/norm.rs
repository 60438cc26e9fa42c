//! Layer normalisation without learned factors: the dense layer after it includes them.

use pfss::{
    SignedRange,
    functions::{Accuracy, rsqrt_octaves},
};

use super::layers::LayerBuilder;
use crate::{
    Engine, InferenceError, Tensor,
    tensor::{FRACTION_BITS, ONE},
};

/// Added to the variance, 1/16: the smallest input of the reciprocal root.
pub(super) const EPSILON: i64 = ONE / 16;

/// `(x - mean) / sqrt(variance + 1/16)` of each row of `width` elements, a power of two.
///
/// Its range does not follow from the ranges of its factors. Let `c` be the centred integers of a
/// row, `v` the integer that stands for variance and epsilon, so that
/// `v >= sum c^2 / (width 2^12)`, and `y` the integer root, at most one off `2^12 sqrt(2^12 / v)`.
/// Then `|c y| / 2^12 <= |c| sqrt(2^12 / v) + |c| / 2^12 <= sqrt(width) 2^12 + |c| / 2^12`.
pub(super) fn layer_norm<E: Engine>(
    layers: &mut LayerBuilder<'_, E>,
    name: &str,
    x: &Tensor,
    width: u32,
) -> Result<Tensor, InferenceError> {
    let log_width = width.ilog2();
    let mean = layers.shift(&format!("{name}.mean"), &x.row_sums(width)?, log_width)?;
    let centred = x.sub(&mean.repeat(width))?;

    let mut squares = layers.product(&format!("{name}.squares"), &centred, &centred)?;
    squares.range = squares.range.relu(); // no square is negative
    let variance = layers.shift(&format!("{name}.variance"), &squares.row_sums(width)?, FRACTION_BITS + log_width)?;
    let variance = layers.offset(&variance, EPSILON)?;

    let octaves = (variance.range.max() / EPSILON + 1).cast_unsigned().next_power_of_two().ilog2();
    let root = rsqrt_octaves(Accuracy::CUBIC_QUARTER_OCTAVE, FRACTION_BITS, octaves)?;
    let inverse = layers.function(&format!("{name}.rsqrt"), &root, &variance)?;

    let scaled = layers.product(&format!("{name}.scale"), &centred, &inverse.repeat(width))?;
    let mut normed = layers.rescale(&format!("{name}.rescale"), &scaled)?;
    let root_width = f64::from(width).sqrt().ceil() as i64;
    let largest = centred.range.max().max(-centred.range.min());
    let bound = root_width * ONE + (largest >> FRACTION_BITS) + 2; // the floor of `largest`, and the rounding
    normed.range = SignedRange::new(-bound, bound)?;
    Ok(normed)
}
