//! Points to sample at.

use core_types::{field::QM31, params::deep::PointAt};

use crate::{
    BackendError, Queue,
    ops::{Op, op},
};

op! {
    /// Writes points derived from the out-of-domain point.
    ///
    /// The out-of-domain point is `((1 - t^2) / (1 + t^2), 2 t / (1 + t^2))`.
    ///
    /// If `t^2 = -1`, the points are all zero, which is no point of the circle.
    pub struct DeepPoints<'a, Q> as "deep_points" {
        /// The points to make.
        points_at: plain &'a [PointAt],
        /// The challenge `t`: one element.
        parameter: read QM31,
        /// `[points][2]`: x and y.
        points: write QM31,
    }
}

impl<Q: Queue> DeepPoints<'_, Q> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`DeepOps`](super::DeepOps).
    pub fn check(&self) -> Result<(), BackendError> {
        if self.points_at.iter().any(|point| point.doublings > 31) {
            return Err(BackendError::Unsupported { op: Self::NAME, why: "expected at most 31 doublings of a point" });
        }
        self.expect([1, self.points_at.len().saturating_mul(2)])
    }
}
