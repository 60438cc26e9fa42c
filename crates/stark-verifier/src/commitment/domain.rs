//! Points of the domains that are committed to, by stored position.
//!
//! Position `p` of the canonic domain of `2^n` points is `g (1 + 4 bitrev(p >> 1))` times the
//! generator, with `g = 2^(30-n)` and `n - 1` reversed bits, and its conjugate if `p` is odd
//! (Circle STARKs, <https://eprint.iacr.org/2024/278>; stwo 2.3, `core/poly/circle/domain.rs`).

use core_types::{
    circle::{CirclePoint, CirclePointIndex, bit_reversed},
    field::M31,
};

/// The point at `position` of the canonic domain of `2^log_size` points.
///
/// `log_size` is 1 to 30.
pub(crate) fn circle_point(position: u32, log_size: u32) -> CirclePoint<M31> {
    let point = half_coset_point(position >> 1, log_size - 1);
    if position & 1 == 0 { point } else { point.conjugate() }
}

/// The point at `position` of the half coset of `2^log_size` points.
///
/// `log_size` is at most 29. The x-coordinates of the half coset are the line domain of that size.
pub(crate) fn half_coset_point(position: u32, log_size: u32) -> CirclePoint<M31> {
    let unit = 1u32 << (29 - log_size);
    CirclePointIndex::new(unit + unit * 4 * bit_reversed(position, log_size)).to_point()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_points_are_stored_as_published() {
        let points: [(u32, u32); 8] = core::array::from_fn(|p| {
            let point = circle_point(p as u32, 3);
            (point.x.word(), point.y.word())
        });
        let expected = [
            (590_768_354, 978_592_373),
            (590_768_354, 1_168_891_274),
            (1_556_715_293, 1_168_891_274),
            (1_556_715_293, 978_592_373),
            (978_592_373, 1_556_715_293),
            (978_592_373, 590_768_354),
            (1_168_891_274, 590_768_354),
            (1_168_891_274, 1_556_715_293),
        ];
        assert_eq!(points, expected);
    }
}
