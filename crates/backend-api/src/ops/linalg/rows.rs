//! Ops along one axis: softmax and the normalisations.

use core_types::params::rows::{AxisParams, NormParams, SoftmaxKind, SoftmaxParams};

use crate::{
    BackendError, Buffer, BufferMut, BufferRef, Queue, Real, Ref,
    ops::{
        Access, Described, MapViews, View, op,
        op::flop::each,
        op::lengths::{Lengths, require},
    },
};

/// The table of the set, for [`op_sets!`](crate::op_sets!).
#[doc(hidden)]
#[macro_export]
macro_rules! row_ops {
    ($with:ident $($queue:ident)?) => {
        $with! {
            $([$queue])?
            /// Ops along one axis: softmax and the normalisations, forward and backward.
            ///
            /// Statistics and exponentials are computed in f32 for every `T`. The order of each sum
            /// depends only on the shape, and a row's result does not depend on the other rows.
            /// Every op returns [`BackendError::Length`] if a view does not have the size of its
            /// shape.
            linalg::RowOps: Queue {
                softmax<T>(Softmax),
                softmax_backward<T>(SoftmaxBackward),
                layer_norm<T>(LayerNorm),
                add_layer_norm<T>(AddLayerNorm),
                layer_norm_backward<T>(LayerNormBackward),
                rms_norm<T>(RmsNorm),
                rms_norm_backward<T>(RmsNormBackward),
            }
        }
    };
}

op! {
    /// `y_c = exp(x_c - max x) / sum_j exp(x_j - max x)` along the axis, or its logarithm.
    ///
    /// The logarithm is `(x_c - max x) - ln sum_j exp(x_j - max x)`. The logarithm of a finite
    /// element is finite: at least the least number of its type.
    ///
    /// Elements that the mask leaves out count as -inf; a row without any other element gives
    /// zeros, or -inf for logarithms. NaN and +inf in a row make the row NaN, and so does a row
    /// whose elements are all -inf without being left out.
    pub struct Softmax<'a, Q, T: Real> as "softmax" {
        /// The shape, and how masks repeat.
        params: plain &'a SoftmaxParams,
        /// Softmax or its logarithm.
        kind: plain SoftmaxKind,
        /// The elements; without this view, those that y holds.
        x: read_if T [outer, len, inner],
        /// The elements to leave out.
        mask: views RowMask<'a, Q> [period, len, inner],
        /// The results.
        y: write T [outer, len, inner],
    }
    sizes(self) {
        let AxisParams { outer, len, inner } = self.params.axis;
        let period = self.params.mask_period;
        require(OP, period != 0, "the mask period is zero")?;
    }
    flop(self) {
        each(5, self.y.len())
    }
}

op! {
    /// The gradient of [`Softmax`] from its output y.
    ///
    /// `dx = y (g - sum_j g_j y_j)`, or `dx = g - exp(y) sum_j g_j` for logarithms. An element
    /// with y = 0, or -inf for logarithms, such as one left out, is constant: its dx is zero and
    /// its g is left out of the sum.
    pub struct SoftmaxBackward<'a, Q, T: Real> as "softmax_backward" {
        /// The shape.
        params: plain &'a AxisParams,
        /// What y holds.
        kind: plain SoftmaxKind,
        /// The output.
        y: read T [outer, len, inner],
        /// The gradient of the loss with respect to y.
        g: read T [outer, len, inner],
        /// The gradient with respect to x.
        dx: write T [outer, len, inner],
    }
    sizes(self) {
        let AxisParams { outer, len, inner } = *self.params;
    }
    flop(self) {
        each(4, self.dx.len())
    }
}

op! {
    /// Layer norm of each row, `y = (x - mean) rstd gamma + beta`.
    ///
    /// `rstd = 1 / sqrt(variance + eps)`, with the biased variance.
    ///
    /// The mean is corrected by the mean of the residuals, so a mean of 10^4 standard deviations
    /// costs no accuracy, and rows whose squares would leave the range of f32 are scaled, so every
    /// finite row has a result.
    ///
    /// [`Undefined`](crate::BackendError::Undefined) with the first row where variance and eps are
    /// both zero; outputs are then unspecified. With an eps of zero the op waits to check for this,
    /// so it cannot be recorded.
    ///
    /// Without x it is for inference: [`LayerNormBackward`] reads the rows that this overwrites.
    pub struct LayerNorm<'a, Q, T: Real> as "layer_norm" {
        /// The shape, and eps.
        params: plain &'a NormParams,
        /// The rows; without this view, those that y holds.
        x: read_if T [rows, len],
        /// A factor for each column; 1 without.
        gamma: read_if T [len],
        /// An addend for each column; 0 without.
        beta: read_if T [len],
        /// The normalised rows.
        y: write T [rows, len],
        /// The means of all rows, then their rstd.
        stats: write f32 [2, rows],
    }
    sizes(self) {
        let NormParams { rows, len, .. } = *self.params;
    }
    flop(self) {
        each(7, self.y.len())
    }
}

op! {
    /// A residual connection and its layer norm.
    ///
    /// `sum = x + r`, added in f32 and rounded to `T`. [`LayerNorm`] then normalises the rounded
    /// `sum`, with the same errors.
    pub struct AddLayerNorm<'a, Q, T: Real> as "add_layer_norm" {
        /// The shape, and eps.
        params: plain &'a NormParams,
        /// The first addend.
        x: read T [rows, len],
        /// The second addend.
        r: read T [rows, len],
        /// A factor for each column; 1 without.
        gamma: read_if T [len],
        /// An addend for each column; 0 without.
        beta: read_if T [len],
        /// The sum.
        sum: write T [rows, len],
        /// The normalised rows of the sum.
        y: write T [rows, len],
        /// The means of all rows of the sum, then their rstd.
        stats: write f32 [2, rows],
    }
    sizes(self) {
        let NormParams { rows, len, .. } = *self.params;
    }
    flop(self) {
        each(8, self.y.len())
    }
}

op! {
    /// The gradients of [`LayerNorm`].
    ///
    /// With `a = g gamma` and `h = (x - mean) rstd`: `dx = rstd (a - mean(a) - h mean(a h))`,
    /// `dgamma = sum over rows of g h`, `dbeta = sum over rows of g`; rows are summed in blocks of
    /// [`NORM_BLOCK_ROWS`](core_types::params::rows::NORM_BLOCK_ROWS), which takes scratch memory.
    pub struct LayerNormBackward<'a, Q, T: Real> as "layer_norm_backward" {
        /// The shape, and eps.
        params: plain &'a NormParams,
        /// The rows.
        x: read T [rows, len],
        /// The factors of the columns, if there were any.
        gamma: read_if T [len],
        /// The means of all rows, then their rstd.
        stats: read f32 [2, rows],
        /// The gradient of the loss with respect to y.
        g: read T [rows, len],
        /// The gradient with respect to x.
        dx: write T [rows, len],
        /// The gradient with respect to gamma; optional.
        dgamma: write_if T [len],
        /// The gradient with respect to beta; optional.
        dbeta: write_if T [len],
    }
    sizes(self) {
        let NormParams { rows, len, .. } = *self.params;
    }
    flop(self) {
        each(13, self.dx.len())
    }
}

op! {
    /// `y = x rstd gamma` for each row, with `rstd = 1 / sqrt(mean(x^2) + eps)`.
    ///
    /// This normalises by the root mean square. The notes of [`LayerNorm`] on the variance apply to
    /// the mean square. Without x it is for inference: [`RmsNormBackward`] reads the rows.
    pub struct RmsNorm<'a, Q, T: Real> as "rms_norm" {
        /// The shape, and eps.
        params: plain &'a NormParams,
        /// The rows; without this view, those that y holds.
        x: read_if T [rows, len],
        /// A factor for each column; 1 without.
        gamma: read_if T [len],
        /// The normalised rows.
        y: write T [rows, len],
        /// The rstd of each row.
        rstd: write f32 [rows],
    }
    sizes(self) {
        let NormParams { rows, len, .. } = *self.params;
    }
    flop(self) {
        each(4, self.y.len())
    }
}

op! {
    /// The gradients of [`RmsNorm`].
    ///
    /// With `a = g gamma` and `h = x rstd`: `dx = rstd (a - h mean(a h))`,
    /// `dgamma = sum over rows of g h`, summed as in [`LayerNormBackward`].
    pub struct RmsNormBackward<'a, Q, T: Real> as "rms_norm_backward" {
        /// The shape, and eps.
        params: plain &'a NormParams,
        /// The rows.
        x: read T [rows, len],
        /// The factors of the columns, if there were any.
        gamma: read_if T [len],
        /// The rstd of each row.
        rstd: read f32 [rows],
        /// The gradient of the loss with respect to y.
        g: read T [rows, len],
        /// The gradient with respect to x.
        dx: write T [rows, len],
        /// The gradient with respect to gamma; optional.
        dgamma: write_if T [len],
    }
    sizes(self) {
        let NormParams { rows, len, .. } = *self.params;
    }
    flop(self) {
        each(9, self.dx.len())
    }
}

/// Which elements a softmax leaves out.
///
/// Masks hold `mask_period x len x inner` elements; the mask of outer index o is number
/// `o % mask_period`.
pub enum RowMask<'a, Q: Queue + 'a> {
    /// Nothing is left out.
    None,
    /// Elements with `false` are left out, whatever their value.
    Keep(Ref<'a, Q, bool>),
    /// Added to the input; elements with -inf are left out.
    Additive(Ref<'a, Q, f32>),
    /// Indices along the axis above `o % mask_period + causal_offset` are left out.
    ///
    /// Their values do not matter.
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

impl<'a, Q: Queue> RowMask<'a, Q> {
    /// The same mask with a shorter lifetime: see [`Buffer::shorten`].
    #[must_use]
    pub fn shorten<'s>(self) -> RowMask<'s, Q>
    where
        'a: 's,
    {
        match self {
            Self::None => RowMask::None,
            Self::Causal => RowMask::Causal,
            Self::Keep(view) => RowMask::Keep(Q::Buf::<bool>::shorten(view)),
            Self::Additive(view) => RowMask::Additive(Q::Buf::<f32>::shorten(view)),
        }
    }

    #[inline(always)]
    pub(crate) fn map_as<P: Queue>(
        self,
        views: &mut impl MapViews<Q, P>,
        op: &'static str,
    ) -> Result<RowMask<'a, P>, BackendError> {
        Ok(match self {
            Self::None => RowMask::None,
            Self::Causal => RowMask::Causal,
            Self::Keep(view) => RowMask::Keep(views.read(op, view)?),
            Self::Additive(view) => RowMask::Additive(views.read(op, view)?),
        })
    }

    /// Compares the mask with its length.
    pub(crate) fn compare(&self, lengths: &mut Lengths, period: u64, len: u64, inner: u64) {
        self.show(&mut |mask| lengths.exactly(mask.name, mask.len, &[period, len, inner]));
    }

    pub(crate) fn describe(see: &mut dyn FnMut(Described)) {
        let (name, access, length) = ("mask", Access::ReadIfGiven, "period, len, inner");
        see(Described { name, access, element: "(bool or f32)", length });
    }

    #[inline(always)]
    pub(crate) fn show(&self, see: &mut dyn FnMut(View)) {
        let len = match self {
            Self::None | Self::Causal => None,
            Self::Keep(view) => Some(view.len()),
            Self::Additive(view) => Some(view.len()),
        };
        see(View { name: "mask", len });
    }
}
