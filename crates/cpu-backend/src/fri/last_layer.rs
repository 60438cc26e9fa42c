//! The polynomial of the last layer.
//!
//! It is interpolated on the line: layer `i` maps values `2^i` apart to `(a + b, (a - b) / t)`,
//! where `t` is an x-coordinate, and coefficients are divided by `2^log_size`. The first
//! `2^log_bound` are written in bit-reversed order; the others are zero in a valid proof (stwo 2.3,
//! `prover/line.rs`).

use core_types::{
    circle::bit_reversed,
    field::{M31, QM31, Twiddle},
    params::fri::FriLastLayerParams,
};

use crate::circle::scalar::twiddle;

/// Writes the lowest coefficients of the polynomial with these values.
///
/// Returns whether any other coefficient is not zero.
pub(super) fn interpolate(
    params: FriLastLayerParams,
    inverse_twiddles: &[Twiddle],
    values: &[M31],
    coefficients: &mut [QM31],
) -> bool {
    let FriLastLayerParams { log_size, log_bound } = params;
    // Elements from their four planes of coordinates.
    let plane = |k: usize| &values[k << log_size..];
    let mut words: Vec<QM31> =
        (0..1 << log_size).map(|i| QM31::from_coordinates([0, 1, 2, 3].map(|k| plane(k)[i]))).collect();
    // Layers of the line, which are the layers of the circle from the second on.
    for layer in 0..log_size {
        let distance = 1usize << layer;
        for (h, block) in words.chunks_mut(2 * distance).enumerate() {
            let t = twiddle(inverse_twiddles, log_size + 1, layer + 1, h).factor();
            let (low, high) = block.split_at_mut(distance);
            for (a, b) in low.iter_mut().zip(high) {
                (*a, *b) = (*a + *b, (*a - *b).scale(t));
            }
        }
    }
    // Coefficients below the bound, scaled and in bit-reversed order.
    for (place, coefficient) in (0..).zip(coefficients) {
        let word = words[bit_reversed(place, log_bound) as usize];
        *coefficient = QM31::from_coordinates(word.coordinates().map(|word| word.div_power_of_two(log_size)));
    }
    words[1 << log_bound..].iter().any(|&word| word != QM31::ZERO)
}
