//! Points to sample at, one thread per point.
//!
//! # Safety
//! `points_at` are `count` records, `parameter` is one element, `points` are `2 * count`. Grid:
//! any; block: 64 threads.

use core_types::{
    circle::{CirclePoint, CirclePointIndex},
    field::QM31,
    params::deep::PointAt,
};

use crate::dev::idx::grid_stride;

/// Writes x and y of each point; zeros if the parameter names no point.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn deep_points(
    points_at: *const PointAt,
    parameter: *const QM31,
    points: *mut QM31,
    count: u32,
) {
    for i in grid_stride(count.into()) {
        let PointAt { index, doublings } = *points_at.add(i as usize);
        let mut point = CirclePoint { x: QM31::ZERO, y: QM31::ZERO };
        if let Some(origin) = CirclePoint::from_parameter(*parameter) {
            point = origin + CirclePoint::from(CirclePointIndex::new(index).to_point());
            let mut done = 0;
            while done < doublings {
                point = point.double();
                done += 1;
            }
        }
        *points.add(2 * i as usize) = point.x;
        *points.add(2 * i as usize + 1) = point.y;
    }
}

kernel_table! {
    deep_points: block [64, 1, 1], min_blocks 8, shared None, barriers 0;
}
