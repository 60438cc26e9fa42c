//! Layer normalisation, with or without separate learned factors.

use pfss::{
    MatrixShape, SignedRange,
    functions::{Accuracy, rsqrt_octaves},
};

use super::{
    layers::LayerBuilder,
    rounding::{Rounding, UnshiftedProduct},
    shape::TransformerBlock,
};
use crate::{
    Call, InferenceError, Tensor,
    fixed_point::{FRACTION_BITS, ONE, RING, RING_BITS},
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
pub(super) fn layer_norm(
    layers: &mut LayerBuilder<'_>,
    name: &str,
    x: &Tensor,
    block: &TransformerBlock,
) -> Result<Tensor, InferenceError> {
    let width = block.shape.width;
    let mean = row_means(layers, &format!("{name}.mean"), x, width)?;
    let centred = x.sub(&mean.repeat(width))?;

    // The range of the results before the bias, and the shift after the last product.
    let largest = centred.range.max().max(-centred.range.min());
    let bound = root_of_width(width) + (largest >> FRACTION_BITS) + 2; // the floor of `largest`, and the rounding
    let range = SignedRange::new(-bound, bound)?.checked_mul(SignedRange::new(ONE, ONE)?)?;
    let has_factors = block.shape.has_norm_factors();
    let rounding = if has_factors {
        Rounding::new(range.checked_mul(layers.weights()?)?, 2 * FRACTION_BITS)?
    } else {
        Rounding::new(range, FRACTION_BITS)?
    };

    // Squares for the variance. The products by the weights of a norm with factors are in the same round, which opens
    // the weights for each row; or each root is later multiplied by all weights, which are then opened once.
    let weight = has_factors.then(|| layers.engine.parameter(&format!("{name}.weight"), width as usize)).transpose()?;
    let opens_once = layers.preference.opens_factors_once();
    let squares = centred.range.checked_mul(centred.range)?.relu(); // no square is negative
    let means = RowMeans::new(block.vouched_squares(squares.sum_of(width)?)?, width, FRACTION_BITS)?;
    let step = format!("{name}.squares");
    let (words, weighted) = match &weight {
        Some(weight) if !opens_once => {
            let (x, weights) = (centred.words, weight.tiled(mean.words.len()));
            let len = x.len();
            let rings = [means.rounding.ring(), rounding.ring()];
            let ring = if rings[0].bits() < rings[1].bits() { rings[1] } else { rings[0] };
            let products = layers.product(&step, [&x.followed_by(&x), &x.followed_by(&weights)], ring)?;
            (products.slice(0..len), products.slice(len..2 * len))
        }
        _ => (layers.product(&step, [&centred.words; 2], means.rounding.ring())?, centred.words),
    };
    let sums = Tensor { words, range: squares }.row_sums(width)?;
    let variance = means.of(layers, &format!("{name}.variance"), sums)?;
    let variance = layers.offset(variance, EPSILON)?;

    // Its reciprocal root.
    let octaves = (variance.range.max() / EPSILON + 1).cast_unsigned().next_power_of_two().ilog2();
    let root = rsqrt_octaves(Accuracy::CUBIC_QUARTER_OCTAVE, FRACTION_BITS, octaves)?;
    let inverse = layers.row_function(&format!("{name}.rsqrt"), &root, &variance)?;

    // The products by it, in the ring of the shift after them.
    let ring = rounding.ring();
    let factors = match &weight {
        Some(weight) if opens_once => {
            let shape = MatrixShape { batch: 1, rows: inverse.words.len(), inner: 1, cols: width as usize };
            let call = Call::Matmul { ring, shape, x: &inverse.words, y: weight, weights: false };
            layers.engine.call(&format!("{name}.factors"), &call)?
        }
        _ => inverse.repeat(width).words,
    };
    let words = layers.product(&format!("{name}.scale"), [&weighted, &factors], ring)?;
    let mut normed = layers.round(&format!("{name}.rescale"), UnshiftedProduct { words, rounding })?;
    if has_factors {
        let bias = layers.engine.parameter(&format!("{name}.bias"), width as usize)?;
        normed.words = normed.words.with_row(&bias, RING);
        normed.range = normed.range.checked_add(layers.weights()?)?;
    }
    Ok(normed)
}

/// The mean of each row of `width` elements.
pub(super) fn row_means(
    layers: &mut LayerBuilder<'_>,
    name: &str,
    x: &Tensor,
    width: u32,
) -> Result<Tensor, InferenceError> {
    let sums = x.row_sums(width)?;
    RowMeans::new(sums.range, width, 0)?.of(layers, name, sums)
}

/// `sqrt(width) 2^12`, rounded up.
fn root_of_width(width: u32) -> i64 {
    let root = f64::from(width).sqrt();
    if width.is_power_of_two() { root.ceil() as i64 * ONE } else { ((root * 1.002).ceil() as i64) * ONE }
}

/// Means of rows, from their sums.
struct RowMeans {
    /// The factor of the sums before the shift.
    factor: u64,
    /// The shift, which decides the ring that sums are needed in.
    rounding: Rounding,
}

impl RowMeans {
    /// Means of `width` elements whose sums are in `range`, with `drop` fraction bits less.
    ///
    /// If the width is no power of two, sums are multiplied by `2^k / width`, rounded to 8 to 24
    /// bits as the gap of a shift allows, and shifted by `k`.
    fn new(range: SignedRange, width: u32, drop: u32) -> Result<Self, InferenceError> {
        let log_width = width.ilog2();
        if width.is_power_of_two() {
            return Ok(Self { factor: 1, rounding: Rounding::new(range, drop + log_width)? });
        }
        range.fits(RING_BITS - 2 - LEAST_MEAN_BITS)?;
        let bits = (RING_BITS - 2 - range.bits()).min(MEAN_BITS);
        // 2^log_width < width < 2^(log_width + 1), so that the factor is at most 2^bits
        let (width, scale) = (u64::from(width), bits + log_width);
        let factor = ((1 << scale) + width / 2) / width;
        let range = range.checked_mul(SignedRange::new(factor.cast_signed(), factor.cast_signed())?)?;
        Ok(Self { factor, rounding: Rounding::new(range, scale + drop)? })
    }

    /// The means of rows with these sums.
    fn of(self, layers: &mut LayerBuilder<'_>, name: &str, sums: Tensor) -> Result<Tensor, InferenceError> {
        let words = sums.words.scaled(self.factor);
        layers.round_rows(name, UnshiftedProduct { words, rounding: self.rounding })
    }
}
