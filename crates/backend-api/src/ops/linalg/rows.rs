use core_types::params::rows::{AxisParams, NormParams, SoftmaxParams};

use crate::{BackendError, Mut, Queue, Real, Ref};

/// Which elements a softmax leaves out. Masks hold `mask_period x len x inner` elements; the mask of outer index o is number
/// `o % mask_period`.
pub enum RowMask<'a, Q: Queue + 'a> {
    /// Nothing is left out.
    None,
    /// Elements with `false` are left out, whatever their value.
    Keep(Ref<'a, Q, bool>),
    /// Added to the input; elements with -inf are left out.
    Additive(Ref<'a, Q, f32>),
    /// Indices along the axis above `o % mask_period + causal_offset` are left out, whatever their value.
    Causal,
}

impl<'a, Q: Queue + 'a> Clone for RowMask<'a, Q> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<'a, Q: Queue + 'a> Copy for RowMask<'a, Q> {}

impl<'a, Q: Queue + 'a> core::fmt::Debug for RowMask<'a, Q> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::None => "None",
            Self::Keep(_) => "Keep",
            Self::Additive(_) => "Additive",
            Self::Causal => "Causal",
        })
    }
}

/// Ops along one axis: softmax and the normalisations, forward and backward.
///
/// Statistics and exponentials are computed in f32 for every `T`. The order of each sum depends on the shape alone, and a
/// row's result does not depend on the other rows.
pub trait RowOps: Queue {
    /// `y_c = exp(x_c - max x) / sum_j exp(x_j - max x)` along the axis.
    ///
    /// Elements that the mask leaves out count as -inf; a row without any other element gives zeros. NaN and +inf in a row
    /// make the row NaN, and so does a row whose elements are all -inf without being left out.
    ///
    /// # Errors
    /// [`BackendError::Length`] if a view does not have the size of its shape.
    fn softmax<T: Real>(
        &self,
        p: &SoftmaxParams,
        x: Ref<'_, Self, T>,
        mask: RowMask<'_, Self>,
        y: Mut<'_, Self, T>,
    ) -> Result<(), BackendError>;

    /// `y_c = (x_c - max x) - ln sum_j exp(x_j - max x)` along the axis; masks and special values as in
    /// [`softmax`](Self::softmax), so elements left out give -inf.
    ///
    /// # Errors
    /// As [`softmax`](Self::softmax).
    fn log_softmax<T: Real>(
        &self,
        p: &SoftmaxParams,
        x: Ref<'_, Self, T>,
        mask: RowMask<'_, Self>,
        y: Mut<'_, Self, T>,
    ) -> Result<(), BackendError>;

    /// `dx = y (g - sum_j g_j y_j)` for the output y of [`softmax`](Self::softmax) and the gradient g of the loss by y. An
    /// element with y = 0, as those left out have it, is constant: its dx is zero and its g is left out of the sum.
    ///
    /// # Errors
    /// [`BackendError::Length`] if a view does not have the size of its shape.
    fn softmax_backward<T: Real>(
        &self,
        p: &AxisParams,
        y: Ref<'_, Self, T>,
        g: Ref<'_, Self, T>,
        dx: Mut<'_, Self, T>,
    ) -> Result<(), BackendError>;

    /// `dx = g - exp(y) sum_j g_j` for the output y of [`log_softmax`](Self::log_softmax). An element with y = -inf is
    /// constant: its dx is zero and its g is left out of the sum.
    ///
    /// # Errors
    /// [`BackendError::Length`] if a view does not have the size of its shape.
    fn log_softmax_backward<T: Real>(
        &self,
        p: &AxisParams,
        y: Ref<'_, Self, T>,
        g: Ref<'_, Self, T>,
        dx: Mut<'_, Self, T>,
    ) -> Result<(), BackendError>;

    /// `y = (x - mean) rstd gamma + beta` for each row, with `rstd = 1 / sqrt(variance + eps)` and the biased variance;
    /// without `gamma` its elements are 1, without `beta` 0. `stats` receives the means of all rows, then their rstd.
    ///
    /// The mean is corrected by the mean of the residuals, so a mean of 10^4 standard deviations costs no accuracy, and rows
    /// whose squares would leave the range of f32 are scaled, so every finite row has a result.
    ///
    /// # Errors
    /// [`BackendError::Length`] if a view does not have the size of its shape, [`BackendError::Undefined`] with the first
    /// row where variance and eps are both zero; outputs are unspecified then. With an eps of zero the op waits for that, so
    /// it cannot be recorded.
    fn layer_norm<T: Real>(
        &self,
        p: &NormParams,
        x: Ref<'_, Self, T>,
        gamma: Option<Ref<'_, Self, T>>,
        beta: Option<Ref<'_, Self, T>>,
        y: Mut<'_, Self, T>,
        stats: Mut<'_, Self, f32>,
    ) -> Result<(), BackendError>;

    /// The gradients of [`layer_norm`](Self::layer_norm) for the gradient g of the loss by y. With `a = g gamma` and
    /// `h = (x - mean) rstd`: `dx = rstd (a - mean(a) - h mean(a h))`, `dgamma = sum over rows of g h`, `dbeta = sum over rows
    /// of g`, each if it is asked for; rows are summed in blocks of
    /// [`NORM_BLOCK_ROWS`](core_types::params::rows::NORM_BLOCK_ROWS).
    ///
    /// # Errors
    /// [`BackendError::Length`] if a view does not have the size of its shape, [`BackendError::BudgetExceeded`] or
    /// [`BackendError::OutOfMemory`] for the blocks' sums.
    #[expect(clippy::too_many_arguments, reason = "one fused kernel with five operands and three results")]
    fn layer_norm_backward<T: Real>(
        &self,
        p: &NormParams,
        x: Ref<'_, Self, T>,
        gamma: Option<Ref<'_, Self, T>>,
        stats: Ref<'_, Self, f32>,
        g: Ref<'_, Self, T>,
        dx: Mut<'_, Self, T>,
        dgamma: Option<Mut<'_, Self, T>>,
        dbeta: Option<Mut<'_, Self, T>>,
    ) -> Result<(), BackendError>;

    /// `y = x rstd gamma` for each row, with `rstd = 1 / sqrt(mean(x^2) + eps)`; `rstd` receives one value a row. Without
    /// `gamma` its elements are 1.
    ///
    /// # Errors
    /// As [`layer_norm`](Self::layer_norm), where the mean square takes the place of the variance.
    fn rms_norm<T: Real>(
        &self,
        p: &NormParams,
        x: Ref<'_, Self, T>,
        gamma: Option<Ref<'_, Self, T>>,
        y: Mut<'_, Self, T>,
        rstd: Mut<'_, Self, f32>,
    ) -> Result<(), BackendError>;

    /// The gradients of [`rms_norm`](Self::rms_norm). With `a = g gamma` and `h = x rstd`: `dx = rstd (a - h mean(a h))`,
    /// `dgamma = sum over rows of g h`.
    ///
    /// # Errors
    /// As [`layer_norm_backward`](Self::layer_norm_backward).
    #[expect(clippy::too_many_arguments, reason = "one fused kernel with four operands and two results")]
    fn rms_norm_backward<T: Real>(
        &self,
        p: &NormParams,
        x: Ref<'_, Self, T>,
        gamma: Option<Ref<'_, Self, T>>,
        rstd: Ref<'_, Self, f32>,
        g: Ref<'_, Self, T>,
        dx: Mut<'_, Self, T>,
        dgamma: Option<Mut<'_, Self, T>>,
    ) -> Result<(), BackendError>;
}
