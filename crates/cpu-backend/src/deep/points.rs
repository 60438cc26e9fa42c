//! The points to sample at.
//!
//! `2^d (z + index G)` with `z = ((1 - t^2) / (1 + t^2), 2 t / (1 + t^2))` for the drawn `t`, the
//! generator `G` and `d` doublings.

use core_types::{
    circle::{CirclePoint, CirclePointIndex},
    field::QM31,
    params::deep::PointAt,
};

/// Writes x and y of each point.
pub(super) fn write(points_at: &[PointAt], parameter: QM31, points: &mut [QM31]) {
    let Some(origin) = CirclePoint::from_parameter(parameter) else {
        points.fill(QM31::ZERO);
        return;
    };
    for (at, target) in points_at.iter().zip(points.as_chunks_mut::<2>().0) {
        let mut point = origin + CirclePoint::from(CirclePointIndex::new(at.index).to_point());
        for _ in 0..at.doublings {
            point = point.double();
        }
        *target = [point.x, point.y];
    }
}
