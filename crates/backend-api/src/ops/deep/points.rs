//! Points to sample at.

use core_types::{field::QM31, params::deep::PointAt};

use crate::ops::op;

op! {
    /// Writes points derived from the out-of-domain point.
    ///
    /// The out-of-domain point is `((1 - t^2) / (1 + t^2), 2 t / (1 + t^2))`.
    ///
    /// If `t^2 = -1`, the points are all zero, which is no point of the circle.
    pub struct DeepPoints<'a, Q> as "deep_points" {
        /// The points to make.
        points_at: plain &'a [PointAt],
        /// The challenge `t`.
        parameter: read QM31 [1],
        /// x and y of each point.
        points: write QM31 [points, 2],
    }
    sizes(self) {
        let points = self.points_at.len();
    }
    valid(self) {
        self.points_at.iter().all(|point| point.doublings <= 31), "expected at most 31 doublings of a point";
    }
}
