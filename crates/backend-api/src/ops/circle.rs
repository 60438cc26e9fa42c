//! Transforms on canonic circle domains over Mersenne-31.
//!
//! A domain of log size `n` has `N = 2^n` points; its values are stored in bit-reversed order,
//! coefficients in natural order of the basis: coefficient `k` with bits `b0 b1 b2 ...` multiplies
//! `y^b0 x^b1 pi(x)^b2 pi(pi(x))^b3 ...` with `pi(x) = 2 x^2 - 1` (circle FFT:
//! <https://eprint.iacr.org/2024/278>). Batches are column-major with stride `N`.
//!
//! Twiddle views hold exactly `N / 2` words: the layers `T_0 .. T_(n-2)`, where `T_j` has
//! `2^(n-2-j)` entries, and one padding one. `T_0[h]` is the x-coordinate of stored point pair
//! `2 h`, and `T_(j+1)[h] = pi(T_j[2 h])`.

use core_types::{
    circle::MAX_LOG_DOMAIN,
    field::{M31, QM31, Twiddle},
    params::{
        circle::{
            CircleExtendParams, CircleFftParams, CirclePartParams, CirclePointParams, CircleRestrictParams,
            CircleTwiddleParams,
        },
        columns::ColumnAt,
        deep::SampleAt,
    },
};

pub use super::sets::CircleOps;
use crate::{
    BackendError, BufferRef,
    ops::{
        columns::check_columns,
        op,
        op::lengths::{pow2, require},
    },
};

/// The table of the set, for [`op_sets!`](crate::op_sets!).
#[doc(hidden)]
#[macro_export]
macro_rules! circle_ops {
    ($with:ident $($queue:ident)?) => {
        $with! {
            $([$queue])?
            /// Device steps of the circle transforms.
            ///
            /// Every op returns [`BackendError::Length`] if a view does not have the length its
            /// parameters state, and [`BackendError::Unsupported`] for a log size that no domain
            /// has, or a domain smaller than the polynomial. Nothing is written then.
            circle::CircleOps: Queue {
                circle_twiddles(CircleTwiddles),
                circle_interpolate(CircleInterpolate),
                circle_evaluate(CircleEvaluate),
                circle_extend(CircleExtend),
                circle_lde(CircleLde),
                circle_eval_at_point(CircleEvalAtPoint),
                circle_eval_at_points(CircleEvalAtPoints),
                circle_interpolate_part(CircleInterpolatePart),
                circle_restrict(CircleRestrict),
                batch_inverse_m31(BatchInverseM31),
                batch_inverse_qm31(BatchInverseQm31),
            }
        }
    };
}

op! {
    /// Writes the twiddles of a domain and their inverses.
    pub struct CircleTwiddles<'a, Q> as "circle_twiddles" {
        /// The domain.
        params: plain &'a CircleTwiddleParams,
        /// The twiddles.
        twiddles: write Twiddle [pow2(log_size - 1)],
        /// Their inverses.
        inverse_twiddles: write Twiddle [pow2(log_size - 1)],
    }
    sizes(self) {
        let log_size = self.params.log_size;
        domain(OP, log_size)?;
    }
}

op! {
    /// Turns values into coefficients, in place, for every column.
    ///
    /// Layer `i = 0 .. n-1` maps pairs of positions that differ in bit `i`:
    /// `(a, b) -> (a + b, (a - b) / t)`; then everything is divided by `N`.
    pub struct CircleInterpolate<'a, Q> as "circle_interpolate" {
        /// Size and number of the columns.
        params: plain &'a CircleFftParams,
        /// Inverses of the twiddles of their domain.
        inverse_twiddles: read Twiddle [pow2(log_size - 1)],
        /// Values, then coefficients.
        columns: write M31 [columns, pow2(log_size)],
    }
    sizes(self) {
        let CircleFftParams { log_size, columns } = *self.params;
        domain(OP, log_size)?;
    }
}

op! {
    /// Turns coefficients into values, in place, for every column.
    ///
    /// Layer `i = n-1 .. 0` maps pairs of positions that differ in bit `i`:
    /// `(a, b) -> (a + t b, a - t b)`.
    pub struct CircleEvaluate<'a, Q> as "circle_evaluate" {
        /// Size and number of the columns.
        params: plain &'a CircleFftParams,
        /// Twiddles of their domain.
        twiddles: read Twiddle [pow2(log_size - 1)],
        /// Coefficients, then values.
        columns: write M31 [columns, pow2(log_size)],
    }
    sizes(self) {
        let CircleFftParams { log_size, columns } = *self.params;
        domain(OP, log_size)?;
    }
}

op! {
    /// Evaluates polynomials of `2^log_coefficients` coefficients on a domain at least as large.
    ///
    /// The layers at and above `log_coefficients` would only copy, so the lower ones run on each
    /// copy with its slice of the twiddles.
    pub struct CircleExtend<'a, Q> as "circle_extend" {
        /// Sizes and number of the columns.
        params: plain &'a CircleExtendParams,
        /// Twiddles of the domain.
        twiddles: read Twiddle [pow2(log_size - 1)],
        /// The coefficients.
        coefficients: read M31 [columns, pow2(log_coefficients)],
        /// The values.
        values: write M31 [columns, pow2(log_size)],
    }
    sizes(self) {
        let CircleExtendParams { log_coefficients, log_size, columns } = *self.params;
        extension(OP, log_coefficients, log_size)?;
    }
}

op! {
    /// Interpolates columns in place and evaluates them on a domain at least as large.
    ///
    /// This low-degree extension combines [`CircleInterpolate`] and [`CircleExtend`], for devices
    /// on which it saves a pass over memory.
    pub struct CircleLde<'a, Q> as "circle_lde" {
        /// Sizes and number of the columns.
        params: plain &'a CircleExtendParams,
        /// Inverses of the twiddles of the smaller domain.
        inverse_twiddles: read Twiddle [pow2(log_coefficients - 1)],
        /// Twiddles of the larger one.
        twiddles: read Twiddle [pow2(log_size - 1)],
        /// Values, then coefficients.
        columns: write M31 [columns, pow2(log_coefficients)],
        /// The values on the larger domain.
        values: write M31 [columns, pow2(log_size)],
    }
    sizes(self) {
        let CircleExtendParams { log_coefficients, log_size, columns } = *self.params;
        extension(OP, log_coefficients, log_size)?;
        domain(OP, log_coefficients)?;
    }
}

op! {
    /// Evaluates every column of coefficients at one point over the secure field.
    pub struct CircleEvalAtPoint<'a, Q> as "circle_eval_at_point" {
        /// The point, and size and number of the columns.
        params: plain &'a CirclePointParams,
        /// The coefficients.
        coefficients: read M31 [columns, pow2(log_size)],
        /// One value for each column.
        results: write QM31 [columns],
    }
    sizes(self) {
        let CirclePointParams { log_size, columns, .. } = *self.params;
    }
    valid(self) {
        log_size <= MAX_LOG_DOMAIN, "expected at most 2^30 coefficients";
    }
}

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

op! {
    /// Interpolates every column on the first `2^log_size` stored positions of a canonic domain.
    ///
    /// The coefficients replace the values in place.
    ///
    /// These points form a circle domain; each of its twiddle layers is a prefix of the whole
    /// domain's layer. The polynomial of `2^log_size` coefficients with these values is the same on
    /// the whole domain.
    pub struct CircleInterpolatePart<'a, Q> as "circle_interpolate_part" {
        /// Sizes and number of the columns.
        params: plain &'a CirclePartParams,
        /// Inverses of the twiddles of the whole domain.
        inverse_twiddles: read Twiddle [pow2(log_domain - 1)],
        /// Values, then coefficients.
        columns: write M31 [columns, pow2(log_size)],
    }
    sizes(self) {
        let CirclePartParams { log_size, log_domain, columns } = *self.params;
        domain(OP, log_domain)?;
        domain(OP, log_size)?;
    }
    valid(self) {
        log_size <= log_domain, "the part is larger than the domain";
    }
}

op! {
    /// Evaluates polynomials on one block of a domain.
    ///
    /// The polynomials have `2^log_coefficients` coefficients, and the domain is at least as large.
    /// Block `q` holds the stored positions `q 2^log_block .. (q + 1) 2^log_block`.
    ///
    /// All blocks one after the other are what [`CircleExtend`] writes. The highest layers of a
    /// transform mix whole blocks, so for one of them they are a sum. With `m = log_block`, part
    /// `r` of a column, which are its coefficients `r 2^m .. (r + 1) 2^m`, has the product of
    /// `-T_(m+j-1)[q >> (j+1)]` over the bits `j` that are set in both `r` and `q`, and of
    /// `T_(m+j-1)[q >> (j+1)]` over those set in `r` alone, as its weight. The layers below `m`
    /// then run on the weighted sum of the parts, or on copies of a column that is no larger than a
    /// block, with the block's slice of the twiddles. A batch reads all coefficients once and
    /// writes the block.
    pub struct CircleRestrict<'a, Q> as "circle_restrict" {
        /// Sizes, number of the columns, and the block.
        params: plain &'a CircleRestrictParams,
        /// Twiddles of the domain.
        twiddles: read Twiddle [pow2(log_domain - 1)],
        /// The coefficients.
        coefficients: read M31 [columns, pow2(log_coefficients)],
        /// The values on the block.
        values: write M31 [columns, pow2(log_block)],
    }
    sizes(self) {
        let CircleRestrictParams { log_coefficients, log_domain, log_block, block, columns } = *self.params;
        extension(OP, log_coefficients, log_domain)?;
    }
    valid(self) {
        (1..=log_domain).contains(&log_block), "expected `log_block` in 1..=`log_domain`";
        block >> (log_domain - log_block) == 0, "the block lies outside the domain";
    }
}

op! {
    /// Inverts every element.
    ///
    /// If any element is zero, the inverses mean nothing. The op waits for nothing, so it can be
    /// recorded.
    pub struct BatchInverseM31<'a, Q> as "batch_inverse_m31" {
        /// The elements to invert.
        elements: read M31,
        /// The inverses.
        inverses: write M31 [elements],
        /// `u64::MAX` before; lowered to the index of the first zero.
        first_zero: write u64 [1],
    }
    sizes(self) {
        let elements = self.elements.len();
    }
}

op! {
    /// Inverts every element.
    ///
    /// If any element is zero, the inverses mean nothing. The op waits for nothing, so it can be
    /// recorded.
    pub struct BatchInverseQm31<'a, Q> as "batch_inverse_qm31" {
        /// The elements to invert.
        elements: read QM31,
        /// The inverses.
        inverses: write QM31 [elements],
        /// `u64::MAX` before; lowered to the index of the first zero.
        first_zero: write u64 [1],
    }
    sizes(self) {
        let elements = self.elements.len();
    }
}

/// Refuses a log size that no domain has.
fn domain(op: &'static str, log_size: u32) -> Result<(), BackendError> {
    let holds = (1..=MAX_LOG_DOMAIN).contains(&log_size);
    require(op, holds, "expected a circle domain with a log size of 1..=30")
}

/// Refuses a domain that is smaller than the polynomials.
fn extension(op: &'static str, log_coefficients: u32, log_size: u32) -> Result<(), BackendError> {
    domain(op, log_size)?;
    require(op, log_coefficients <= log_size, "the domain is smaller than the polynomial")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_have_from_two_to_the_most_points_and_at_least_those_of_the_polynomial() {
        for (log_size, holds) in [(0, false), (1, true), (30, true), (31, false), (u32::MAX, false)] {
            assert_eq!(domain("op", log_size).is_ok(), holds, "2^{log_size} points");
            assert_eq!(extension("op", 0, log_size).is_ok(), holds, "2^{log_size} points");
        }
        for (log_coefficients, holds) in [(4, true), (5, true), (6, false)] {
            assert_eq!(extension("op", log_coefficients, 5).is_ok(), holds, "2^{log_coefficients} coefficients");
        }
    }
}
