//! Twiddle factors of canonic domains.

use core_types::{
    circle::{CirclePoint, CirclePointIndex, double_x},
    field::{M31, Twiddle},
};

use super::inverse::{CHUNK, invert_m31};
use crate::Simd;

/// The points `g (1 + 4 bitrev(h))` of the half coset that layer 1 comes from, `h < 2^(log_size - 2)`, then the
/// x-coordinates of all layers and the padding one.
pub(super) fn x_coordinates(log_size: u32) -> Vec<M31> {
    if log_size == 1 {
        return vec![M31::ONE];
    }
    let log_len = log_size - 2;
    let unit = CirclePointIndex::subgroup_generator(log_size + 1);
    let mut points: Vec<CirclePoint<M31>> = Vec::with_capacity(1 << log_len);
    points.push(unit.to_point());
    for bit in 0..log_len {
        // Bit `bit` of h is bit `log_len - 1 - bit` of the natural index.
        let step = (unit * (4 << (log_len - 1 - bit))).to_point();
        points.extend_from_within(..);
        for point in &mut points[1 << bit..] {
            *point = *point + step;
        }
    }
    let mut flat = Vec::with_capacity(2 << log_len);
    flat.extend(points.into_iter().map(|point| point.x));
    let mut start = 0;
    for log_layer in (0..log_len).rev() {
        let previous = start;
        start = flat.len();
        for h in 0..1usize << log_layer {
            flat.push(double_x(flat[previous + 2 * h]));
        }
    }
    flat.push(M31::ONE);
    flat
}

/// Writes the factors of the domain of `2^log_size` points and their inverses, `2^(log_size - 1)` each.
pub(super) fn fill(simd: Simd, log_size: u32, twiddles: &mut [Twiddle], inverse_twiddles: &mut [Twiddle]) {
    let plain = x_coordinates(log_size);
    let mut inverses = vec![M31::ZERO; plain.len()];
    for (plain, inverses) in plain.chunks(CHUNK).zip(inverses.chunks_mut(CHUNK)) {
        invert_m31(simd, plain, inverses);
    }
    for ((t, inverse), (plain, inverted)) in
        twiddles.iter_mut().zip(inverse_twiddles).zip(plain.into_iter().zip(inverses))
    {
        *t = Twiddle::new(plain);
        *inverse = Twiddle::new(inverted);
    }
}
