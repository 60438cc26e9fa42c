//! Transforms on canonic circle domains over Mersenne-31.
//!
//! A domain of log size `n` has `N = 2^n` points; its values are stored in bit-reversed order, coefficients in natural
//! order of the basis: coefficient `k` with bits `b0 b1 b2 ...` multiplies `y^b0 x^b1 pi(x)^b2 pi(pi(x))^b3 ...` with
//! `pi(x) = 2 x^2 - 1` (circle FFT: <https://eprint.iacr.org/2024/278>). Batches are column-major with stride `N`.
//!
//! Twiddle views hold exactly `N / 2` factors: the layers `T_0 .. T_(n-2)`, where `T_j` has `2^(n-2-j)` entries, and one
//! padding one. `T_0[h]` is the x-coordinate of stored point pair `2 h`, and `T_(j+1)[h] = pi(T_j[2 h])`.

mod shape;

use core_types::{
    field::{M31, QM31, Twiddle},
    params::circle::{CircleExtendParams, CircleFftParams, CirclePointParams, CircleTwiddleParams},
};

pub use self::shape::{check_columns, check_domain, check_extension, check_inverse};
use crate::{BackendError, Mut, Queue, Ref};

/// Device steps of the circle transforms.
///
/// Every op returns [`BackendError::Length`] if a view does not have the length its parameters state, and
/// [`BackendError::Unsupported`] for a log size that no domain has; a plan has checked both.
pub trait CircleOps: Queue {
    /// Writes the twiddle factors of a domain and their inverses, `N / 2` each.
    ///
    /// # Errors
    /// See [`CircleOps`].
    fn circle_twiddles(
        &self,
        params: &CircleTwiddleParams,
        twiddles: Mut<'_, Self, Twiddle>,
        inverse_twiddles: Mut<'_, Self, Twiddle>,
    ) -> Result<(), BackendError>;

    /// Turns values into coefficients, in place, for every column.
    ///
    /// Layer `i = 0 .. n-1` maps pairs of positions that differ in bit `i`: `(a, b) -> (a + b, (a - b) / t)`; then
    /// everything is divided by `N`.
    ///
    /// # Errors
    /// See [`CircleOps`].
    fn circle_interpolate(
        &self,
        params: &CircleFftParams,
        inverse_twiddles: Ref<'_, Self, Twiddle>,
        columns: Mut<'_, Self, M31>,
    ) -> Result<(), BackendError>;

    /// Turns coefficients into values, in place, for every column.
    ///
    /// Layer `i = n-1 .. 0` maps pairs of positions that differ in bit `i`: `(a, b) -> (a + t b, a - t b)`.
    ///
    /// # Errors
    /// See [`CircleOps`].
    fn circle_evaluate(
        &self,
        params: &CircleFftParams,
        twiddles: Ref<'_, Self, Twiddle>,
        columns: Mut<'_, Self, M31>,
    ) -> Result<(), BackendError>;

    /// Evaluates polynomials of `2^log_coefficients` coefficients on a domain at least as large.
    ///
    /// The layers at and above `log_coefficients` would only copy, so the lower ones run on each copy with its slice of
    /// the twiddles. `coefficients` has column stride `2^log_coefficients`, `values` has `2^log_size`.
    ///
    /// # Errors
    /// See [`CircleOps`]; [`BackendError::Unsupported`] also if the domain is smaller than the polynomial.
    fn circle_extend(
        &self,
        params: &CircleExtendParams,
        twiddles: Ref<'_, Self, Twiddle>,
        coefficients: Ref<'_, Self, M31>,
        values: Mut<'_, Self, M31>,
    ) -> Result<(), BackendError>;

    /// Turns values into coefficients, in place, and evaluates these on a domain at least as large:
    /// [`circle_interpolate`](Self::circle_interpolate) and [`circle_extend`](Self::circle_extend) in one, for devices that
    /// save a pass over memory by it.
    ///
    /// # Errors
    /// As those.
    fn circle_lde(
        &self,
        params: &CircleExtendParams,
        inverse_twiddles: Ref<'_, Self, Twiddle>,
        twiddles: Ref<'_, Self, Twiddle>,
        columns: Mut<'_, Self, M31>,
        values: Mut<'_, Self, M31>,
    ) -> Result<(), BackendError>;

    /// Evaluates every column of coefficients at one point over the secure field; one result per column.
    ///
    /// # Errors
    /// See [`CircleOps`].
    fn circle_eval_at_point(
        &self,
        params: &CirclePointParams,
        coefficients: Ref<'_, Self, M31>,
        results: Mut<'_, Self, QM31>,
    ) -> Result<(), BackendError>;

    /// Inverts every element of `elements` into `inverses`.
    ///
    /// `first_zero`, one word that is `u64::MAX` before, is lowered to the index of the first zero; where there is one, the
    /// inverses mean nothing. The word is not waited for, so the op can be recorded.
    ///
    /// # Errors
    /// [`BackendError::Length`] if the lengths of elements and inverses differ, or `first_zero` is not one word.
    fn batch_inverse_m31(
        &self,
        elements: Ref<'_, Self, M31>,
        inverses: Mut<'_, Self, M31>,
        first_zero: Mut<'_, Self, u64>,
    ) -> Result<(), BackendError>;

    /// [`batch_inverse_m31`](Self::batch_inverse_m31) of the secure field.
    ///
    /// # Errors
    /// As there.
    fn batch_inverse_qm31(
        &self,
        elements: Ref<'_, Self, QM31>,
        inverses: Mut<'_, Self, QM31>,
        first_zero: Mut<'_, Self, u64>,
    ) -> Result<(), BackendError>;
}
