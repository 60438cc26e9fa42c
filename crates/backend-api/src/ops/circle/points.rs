//! Values of polynomials of several sizes at several points outside their domains.

use core_types::{
    circle::MAX_LOG_DOMAIN,
    field::{M31, QM31},
    params::{columns::ColumnAt, deep::SampleAt},
};

use crate::{
    BufferRef,
    ops::{columns::check_columns, op},
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
        sampled: write QM31 [samples],
    }
    sizes(self) {
        let samples = self.samples.len();
        let (columns, points) = (self.columns.len(), self.points.len() / 2);
        check_columns(OP, self.columns, MAX_LOG_DOMAIN, self.coefficients.len())?;
    }
    valid(self) {
        self.samples.iter().all(|at| (at.column as usize) < columns && (at.point as usize) < points),
            "a sample refers to a column or point out of range";
    }
}
