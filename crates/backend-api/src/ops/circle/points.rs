//! Values of polynomials of several sizes at several points outside their domains.

use core_types::{
    field::{M31, QM31},
    params::{columns::ColumnAt, deep::SampleAt},
};

use crate::{
    BackendError, BufferRef, Queue,
    ops::{Op, columns::check_columns, op},
};

op! {
    /// Evaluates columns of coefficients at points over the secure field that are on the device.
    ///
    /// Samples of one column are best next to each other: its coefficients are read once then.
    pub struct CircleEvalAtPoints<'a, Q> as "circle_eval_at_points" {
        /// The columns of coefficients, each of `2^log_len <= 2^30`.
        columns: plain &'a [ColumnAt],
        /// What to evaluate where.
        samples: plain &'a [SampleAt],
        /// The buffer that the coefficients are in.
        coefficients: read M31,
        /// `[points][2]`: x and y.
        points: read QM31,
        /// One value for each sample.
        sampled: write QM31,
    }
}

impl<Q: Queue> CircleEvalAtPoints<'_, Q> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`CircleOps`](super::CircleOps).
    pub fn check(&self) -> Result<(), BackendError> {
        let (words, points) = (self.coefficients.len(), self.points.len());
        check_columns(Self::NAME, self.columns, core_types::circle::MAX_LOG_DOMAIN, words)?;
        let there =
            |sample: &SampleAt| (sample.column as usize) < self.columns.len() && (sample.point as usize) < points / 2;
        if !self.samples.iter().all(there) {
            return Err(BackendError::Unsupported {
                op: Self::NAME,
                why: "a sample refers to a column or point out of range",
            });
        }
        self.expect([words, points, self.samples.len()])
    }
}
