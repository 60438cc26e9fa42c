//! Layer normalisation, with or without separate learned factors.

use pfss::{
    SignedRange,
    functions::{Accuracy, rsqrt_octaves},
};

use super::{layers::LayerBuilder, shape::Block};
use crate::{
    Engine, InferenceError, Tensor,
    tensor::{FRACTION_BITS, ONE, RING_BITS},
};

/// Added to the variance, 1/16: the smallest input of the reciprocal root.
pub(super) const EPSILON: i64 = ONE / 16;
/// Most bits of the factor that stands for `1 / width`: a mean is off by 2^-24 of itself.
const MEAN_BITS: u32 = 24;
/// Fewest bits of this factor: it is off by at most 1/256 of its value.
const LEAST_MEAN_BITS: u32 = 8;

/// `(x - mean) / sqrt(variance + 1/16)` of each row of `width` elements.
///
/// If the shape has separate factors, each element is then multiplied by a weight, and a bias is
/// added; otherwise the dense layer after the norm includes them.
///
/// Its range does not follow from the ranges of its factors. Let `c` be the centred integers of a
/// row, `v` the integer that stands for variance and epsilon, so that
/// `v >= sum c^2 / (width 2^12)`, and `y` the integer root, at most one off `2^12 sqrt(2^12 / v)`.
/// Then `|c y| / 2^12 <= |c| sqrt(2^12 / v) + |c| / 2^12 <= sqrt(width) 2^12 + |c| / 2^12`. If the
/// width is no power of two, `v` may be smaller by 1/256 of its value and the first term larger by
/// 1/500.
pub(super) fn layer_norm<E: Engine>(
    layers: &mut LayerBuilder<'_, E>,
    name: &str,
    x: &Tensor,
    block: &Block,
) -> Result<Tensor, InferenceError> {
    let width = block.shape.width;
    let mean = row_means(layers, &format!("{name}.mean"), &x.row_sums(width)?, width, 0)?;
    let centred = x.sub(&mean.repeat(width))?;

    // The variance, with epsilon.
    let mut squares = layers.product(&format!("{name}.squares"), &centred, &centred)?;
    squares.range = squares.range.relu(); // no square is negative
    let sums = block.vouched_squares(squares.row_sums(width)?)?;
    let variance = row_means(layers, &format!("{name}.variance"), &sums, width, FRACTION_BITS)?;
    let variance = layers.offset(&variance, EPSILON)?;

    // Its reciprocal root.
    let octaves = (variance.range.max() / EPSILON + 1).cast_unsigned().next_power_of_two().ilog2();
    let root = rsqrt_octaves(Accuracy::CUBIC_QUARTER_OCTAVE, FRACTION_BITS, octaves)?;
    let inverse = layers.function(&format!("{name}.rsqrt"), &root, &variance)?;

    // Products, and their range.
    let scaled = layers.product(&format!("{name}.scale"), &centred, &inverse.repeat(width))?;
    let largest = centred.range.max().max(-centred.range.min());
    let bound = root_of_width(width) + (largest >> FRACTION_BITS) + 2; // the floor of `largest`, and the rounding
    if block.shape.has_norm_factors() {
        let range = SignedRange::new(-bound, bound)?.checked_mul(SignedRange::new(ONE, ONE)?)?;
        return with_factors(layers, name, &Tensor { range, ..scaled }, width);
    }
    let mut normed = layers.rescale(&format!("{name}.rescale"), &scaled)?;
    normed.range = SignedRange::new(-bound, bound)?;
    Ok(normed)
}

/// `sqrt(width) 2^12`, rounded up.
fn root_of_width(width: u32) -> i64 {
    let root = f64::from(width).sqrt();
    if width.is_power_of_two() { root.ceil() as i64 * ONE } else { ((root * 1.002).ceil() as i64) * ONE }
}

/// `x * weight + bias` by columns, for `x` with 24 fraction bits.
fn with_factors<E: Engine>(
    layers: &mut LayerBuilder<'_, E>,
    name: &str,
    x: &Tensor,
    width: u32,
) -> Result<Tensor, InferenceError> {
    let (columns, limit) = (width as usize, i64::from(layers.weight_limit) * ONE);
    let range = SignedRange::new(-limit, limit)?;
    let weight = layers.engine.parameter(&format!("{name}.weight"), columns)?;
    let bias = layers.engine.parameter(&format!("{name}.bias"), columns)?;
    let words = weight.iter().copied().cycle().take(x.words.len()).collect();
    let product = layers.product(&format!("{name}.weight"), x, &Tensor { words, range })?;
    let mut normed = layers.shift(&format!("{name}.rescale"), &product, 2 * FRACTION_BITS)?;
    for row in normed.words.chunks_exact_mut(columns) {
        row.iter_mut().zip(&bias).for_each(|(sum, bias)| *sum = sum.wrapping_add(*bias));
    }
    normed.range = normed.range.checked_add(range)?;
    Ok(normed)
}

/// The means of rows of `width` elements from their sums, with `drop` fraction bits less.
///
/// If the width is no power of two, sums are multiplied by `2^k / width`, rounded to 8 to 24 bits
/// as the gap of a shift allows, and shifted by `k`.
fn row_means<E: Engine>(
    layers: &mut LayerBuilder<'_, E>,
    name: &str,
    sums: &Tensor,
    width: u32,
    drop: u32,
) -> Result<Tensor, InferenceError> {
    let log_width = width.ilog2();
    if width.is_power_of_two() {
        return layers.shift(name, sums, drop + log_width);
    }
    sums.range.fits(RING_BITS - 2 - LEAST_MEAN_BITS)?;
    let bits = (RING_BITS - 2 - sums.range.bits()).min(MEAN_BITS);
    // 2^log_width < width < 2^(log_width + 1), so that the factor has `bits` bits
    let (width, scale) = (u64::from(width), bits + log_width);
    let factor = ((1 << scale) + width / 2) / width;
    let words = sums.words.iter().map(|sum| sum.wrapping_mul(factor)).collect();
    let range = sums.range.checked_mul(SignedRange::new(factor.cast_signed(), factor.cast_signed())?)?;
    layers.shift(name, &Tensor { words, range }, scale + drop)
}
