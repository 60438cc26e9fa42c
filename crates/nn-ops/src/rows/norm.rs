//! Layer norm and RMS norm along the last axis, forward and backward.

use backend_api::{
    Element, Mut, Queue, Real, Ref,
    ops::linalg::{AddLayerNorm, LayerNorm, LayerNormBackward, RmsNorm, RmsNormBackward, RowOps},
};
use core_types::params::rows::NormParams;

use crate::{
    error::NnError,
    tensor::{
        layout::Layout,
        views::{TensorMut, TensorRef},
    },
};

/// Factors and addends of the columns of a layer norm, `[columns]` each.
///
/// Missing factors are ones, and missing addends zeros. The default has neither.
pub struct NormAffine<'a, Q: RowOps + 'a, T: Real> {
    /// The factors, if any.
    pub gamma: Option<TensorRef<'a, Q, T>>,
    /// The addends, if any.
    pub beta: Option<TensorRef<'a, Q, T>>,
}

impl<'a, Q: RowOps + 'a, T: Real> Clone for NormAffine<'a, Q, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<'a, Q: RowOps + 'a, T: Real> Copy for NormAffine<'a, Q, T> {}

impl<'a, Q: RowOps + 'a, T: Real> Default for NormAffine<'a, Q, T> {
    fn default() -> Self {
        Self { gamma: None, beta: None }
    }
}

impl<'a, Q: RowOps + 'a, T: Real> core::fmt::Debug for NormAffine<'a, Q, T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("NormAffine").field("gamma", &self.gamma).field("beta", &self.beta).finish()
    }
}

/// Where the results of a normalisation go.
#[derive(Debug)]
pub struct NormResults<'a, Q: RowOps + 'a, T: Real> {
    /// The normalised rows, of the shape of the input.
    pub y: TensorMut<'a, Q, T>,
    /// The statistics of the rows: `[2, rows]` for a layer norm, `[rows]` for an RMS norm.
    pub stats: TensorMut<'a, Q, f32>,
}

/// Where the gradients of a layer norm go.
#[derive(Debug)]
pub struct NormGradients<'a, Q: RowOps + 'a, T: Real> {
    /// Gradient of x, of its shape.
    pub x: TensorMut<'a, Q, T>,
    /// Gradient of gamma, `[columns]`; `None` if it is not needed.
    pub gamma: Option<TensorMut<'a, Q, T>>,
    /// Gradient of beta, `[columns]`; `None` if it is not needed.
    pub beta: Option<TensorMut<'a, Q, T>>,
}

/// Values saved by the forward pass of a normalisation for its backward pass.
pub struct NormSaved<'a, Q: RowOps + 'a, T: Real> {
    /// The input.
    pub x: TensorRef<'a, Q, T>,
    /// The factors of the columns, if there were any.
    pub gamma: Option<TensorRef<'a, Q, T>>,
    /// The statistics of the rows, as the forward pass wrote them.
    pub stats: TensorRef<'a, Q, f32>,
}

impl<'a, Q: RowOps + 'a, T: Real> core::fmt::Debug for NormSaved<'a, Q, T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("NormSaved").finish_non_exhaustive()
    }
}

/// Layer and RMS normalisation along the last axis, forward and backward.
///
/// Tensors are row-major and of one shape.
///
/// Factors `gamma` and addends `beta` have the shape `[columns]` of that axis; if left out, they
/// stand for ones and zeros. Statistics are f32 for every element type, of the shape `[2, rows]`
/// for a layer norm and `[rows]` for an RMS norm, where the rows are all leading axes together. The
/// order of each sum depends only on the shape. The mean is corrected by the mean of the residuals,
/// which keeps full accuracy even for means of 10^4 standard deviations and more; rows whose
/// squares leave the range of f32 keep it too.
///
/// ```
/// use backend_api::{Buffer, Queue};
/// use nn_ops::{NormAffine, NormGradients, NormPlan, NormResults, NormSaved, TensorMut, TensorRef};
///
/// let q = runtime::cpu()?;
/// let plan = NormPlan::new(&[2, 4], 1e-5)?;
/// let x = q.upload(&[1.0f32, 2.0, 3.0, 4.0, 1e4, 1e4 + 2.0, 1e4 + 4.0, 1e4 + 6.0])?;
/// let (gamma, beta) = (q.upload(&[1.0f32; 4])?, q.upload(&[0.0f32; 4])?);
/// let (mut y, mut stats) = (q.zeros::<f32>(8)?, plan.layer_stats(&q)?);
///
/// let x = TensorRef::contiguous(x.view(), &[2, 4])?;
/// let (gamma, beta) = (TensorRef::contiguous(gamma.view(), &[4])?, TensorRef::contiguous(beta.view(), &[4])?);
/// let affine = NormAffine { gamma: Some(gamma), beta: Some(beta) };
/// let results = NormResults {
///     y: TensorMut::contiguous(y.view_mut(), &[2, 4])?,
///     stats: TensorMut::contiguous(stats.view_mut(), &[2, 2])?,
/// };
/// plan.layer_norm(&q, x, affine, results)?;
/// let h = q.download(&y)?;
/// assert!((h[0] + 1.341_635).abs() < 1e-5 && (h[4] + 1.341_640).abs() < 1e-5);
///
/// let g = q.upload(&[1.0f32; 8])?;
/// let (mut dx, mut dbeta) = (q.zeros::<f32>(8)?, q.zeros::<f32>(4)?);
/// let saved = NormSaved { x, gamma: Some(gamma), stats: TensorRef::contiguous(stats.view(), &[2, 2])? };
/// let g = TensorRef::contiguous(g.view(), &[2, 4])?;
/// let gradients = NormGradients {
///     x: TensorMut::contiguous(dx.view_mut(), &[2, 4])?,
///     gamma: None,
///     beta: Some(TensorMut::contiguous(dbeta.view_mut(), &[4])?),
/// };
/// plan.layer_norm_backward(&q, saved, g, gradients)?;
/// assert_eq!(q.download(&dbeta)?, [2.0; 4]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NormPlan {
    layout: Layout,
    columns: Layout,
    layer_stats: Layout,
    rms_stats: Layout,
    params: NormParams,
}

impl NormPlan {
    /// A plan for tensors of `shape`.
    ///
    /// `eps` is added to the variance or mean square inside the root.
    ///
    /// # Errors
    /// [`NnError::TooFewAxes`] for no axes, [`NnError::EmptyReduction`] for rows without elements,
    /// [`NnError::Parameter`] unless eps is finite and not negative, [`NnError::TooManyAxes`] or
    /// [`NnError::Overflow`] if no tensor has the shape.
    pub fn new(shape: &[usize], eps: f32) -> Result<Self, NnError> {
        const OP: &str = "norm";
        let layout = Layout::of(OP, shape)?;
        let Some((&columns, leading)) = shape.split_last() else {
            return Err(NnError::TooFewAxes { op: OP, min: 1, got: 0 });
        };
        let rows = leading.iter().product(); // at most what `contiguous` has counted
        if columns == 0 && rows > 0 {
            return Err(NnError::EmptyReduction { op: OP });
        }
        if !(eps.is_finite() && eps >= 0.0) {
            let domain = "finite and not negative";
            return Err(NnError::Parameter { op: OP, name: "eps", domain, value: f64::from(eps) });
        }
        Ok(Self {
            layout,
            columns: Layout::of(OP, &[columns])?,
            layer_stats: Layout::of(OP, &[2, rows])?,
            rms_stats: Layout::of(OP, &[rows])?,
            params: NormParams { rows: rows as u64, len: columns as u64, eps },
        })
    }

    /// Room for the statistics of a layer norm: every mean, then every 1 / sqrt(variance + eps).
    ///
    /// # Errors
    /// [`NnError::Backend`] if memory is short.
    pub fn layer_stats<Q: Queue>(&self, q: &Q) -> Result<Q::Buf<f32>, NnError> {
        Ok(q.alloc(self.layer_stats.numel())?)
    }

    /// Room for the statistics of an RMS norm: every 1 / sqrt(mean(x^2) + eps).
    ///
    /// # Errors
    /// [`NnError::Backend`] if memory is short.
    pub fn rms_stats<Q: Queue>(&self, q: &Q) -> Result<Q::Buf<f32>, NnError> {
        Ok(q.alloc(self.rms_stats.numel())?)
    }

    /// `y = (x - mean) / sqrt(variance + eps) gamma + beta` for each row.
    ///
    /// The variance is the biased one. Ba, Kiros, Hinton, arXiv 1607.06450.
    ///
    /// # Errors
    /// [`NnError::ShapeMismatch`] or [`NnError::InvalidStride`] for a tensor of another layout;
    /// [`NnError::Backend`] after that, with
    /// [`BackendError::Undefined`](backend_api::BackendError::Undefined) for the first row where
    /// variance and eps are zero.
    pub fn layer_norm<Q: RowOps, T: Real>(
        &self,
        q: &Q,
        x: TensorRef<'_, Q, T>,
        affine: NormAffine<'_, Q, T>,
        results: NormResults<'_, Q, T>,
    ) -> Result<(), NnError> {
        const OP: &str = "layer_norm";
        let (x, y) = (x.planned(OP, "x", &self.layout)?, results.y.planned(OP, "y", &self.layout)?);
        let (gamma, beta) = (self.column(OP, "gamma", affine.gamma)?, self.column(OP, "beta", affine.beta)?);
        let stats = results.stats.planned(OP, "stats", &self.layer_stats)?;
        Ok(q.layer_norm(LayerNorm { params: &self.params, x, gamma, beta, y, stats })?)
    }

    /// A residual connection and the normalisation after it.
    ///
    /// `sum = x + r`, added in f32 and rounded. y is [`layer_norm`](Self::layer_norm) of `sum`. A
    /// GPU reads each element once less than for the two alone, if rows fit in registers. The
    /// gradients with respect to x and to r both equal the gradient of `layer_norm` with respect to
    /// `sum`, plus the gradient that reaches `sum` from elsewhere.
    ///
    /// # Errors
    /// As [`layer_norm`](Self::layer_norm).
    pub fn add_layer_norm<Q: RowOps, T: Real>(
        &self,
        q: &Q,
        [x, r]: [TensorRef<'_, Q, T>; 2],
        affine: NormAffine<'_, Q, T>,
        sum: TensorMut<'_, Q, T>,
        results: NormResults<'_, Q, T>,
    ) -> Result<(), NnError> {
        const OP: &str = "add_layer_norm";
        let (x, r) = (x.planned(OP, "x", &self.layout)?, r.planned(OP, "r", &self.layout)?);
        let (sum, y) = (sum.planned(OP, "sum", &self.layout)?, results.y.planned(OP, "y", &self.layout)?);
        let (gamma, beta) = (self.column(OP, "gamma", affine.gamma)?, self.column(OP, "beta", affine.beta)?);
        let stats = results.stats.planned(OP, "stats", &self.layer_stats)?;
        Ok(q.add_layer_norm(AddLayerNorm { params: &self.params, x, r, gamma, beta, sum, y, stats })?)
    }

    /// The gradients of [`layer_norm`](Self::layer_norm) with respect to x, gamma and beta.
    ///
    /// `g` is the gradient of the loss with respect to y.
    ///
    /// # Errors
    /// [`NnError::ShapeMismatch`] or [`NnError::InvalidStride`] for a tensor of another layout;
    /// [`NnError::Backend`] after that.
    pub fn layer_norm_backward<Q: RowOps, T: Real>(
        &self,
        q: &Q,
        saved: NormSaved<'_, Q, T>,
        g: TensorRef<'_, Q, T>,
        gradients: NormGradients<'_, Q, T>,
    ) -> Result<(), NnError> {
        const OP: &str = "layer_norm_backward";
        let NormGradients { x: dx, gamma: dgamma, beta: dbeta } = gradients;
        let (x, gamma) = (saved.x.planned(OP, "x", &self.layout)?, self.column(OP, "gamma", saved.gamma)?);
        let stats = saved.stats.planned(OP, "stats", &self.layer_stats)?;
        let (g, dx) = (g.planned(OP, "g", &self.layout)?, dx.planned(OP, "dx", &self.layout)?);
        let (dgamma, dbeta) = (self.column_mut(OP, "dgamma", dgamma)?, self.column_mut(OP, "dbeta", dbeta)?);
        Ok(q.layer_norm_backward(LayerNormBackward { params: &self.params, x, gamma, stats, g, dx, dgamma, dbeta })?)
    }

    /// `y = x / sqrt(mean(x^2) + eps) gamma` for each row. Zhang, Sennrich, arXiv 1910.07467.
    ///
    /// # Errors
    /// As [`layer_norm`](Self::layer_norm), where the mean square takes the place of the variance.
    pub fn rms_norm<Q: RowOps, T: Real>(
        &self,
        q: &Q,
        x: TensorRef<'_, Q, T>,
        gamma: Option<TensorRef<'_, Q, T>>,
        results: NormResults<'_, Q, T>,
    ) -> Result<(), NnError> {
        const OP: &str = "rms_norm";
        let (x, y) = (x.planned(OP, "x", &self.layout)?, results.y.planned(OP, "y", &self.layout)?);
        let gamma = self.column(OP, "gamma", gamma)?;
        let rstd = results.stats.planned(OP, "stats", &self.rms_stats)?;
        Ok(q.rms_norm(RmsNorm { params: &self.params, x, gamma, y, rstd })?)
    }

    /// The gradients of [`rms_norm`](Self::rms_norm) with respect to x and gamma.
    ///
    /// `g` is the gradient of the loss with respect to y; the gradient of gamma is optional.
    ///
    /// # Errors
    /// [`NnError::ShapeMismatch`] or [`NnError::InvalidStride`] for a tensor of another layout;
    /// [`NnError::Backend`] after that.
    pub fn rms_norm_backward<Q: RowOps, T: Real>(
        &self,
        q: &Q,
        saved: NormSaved<'_, Q, T>,
        g: TensorRef<'_, Q, T>,
        dx: TensorMut<'_, Q, T>,
        dgamma: Option<TensorMut<'_, Q, T>>,
    ) -> Result<(), NnError> {
        const OP: &str = "rms_norm_backward";
        let (x, gamma) = (saved.x.planned(OP, "x", &self.layout)?, self.column(OP, "gamma", saved.gamma)?);
        let rstd = saved.stats.planned(OP, "stats", &self.rms_stats)?;
        let (g, dx) = (g.planned(OP, "g", &self.layout)?, dx.planned(OP, "dx", &self.layout)?);
        let dgamma = self.column_mut(OP, "dgamma", dgamma)?;
        Ok(q.rms_norm_backward(RmsNormBackward { params: &self.params, x, gamma, rstd, g, dx, dgamma })?)
    }

    fn column<'s, 'l: 's, Q: Queue, T: Element>(
        &self,
        op: &'static str,
        tensor: &'static str,
        values: Option<TensorRef<'l, Q, T>>,
    ) -> Result<Option<Ref<'s, Q, T>>, NnError> {
        values.map(|values| values.planned(op, tensor, &self.columns)).transpose()
    }

    fn column_mut<'s, 'l: 's, Q: Queue, T: Element>(
        &self,
        op: &'static str,
        tensor: &'static str,
        values: Option<TensorMut<'l, Q, T>>,
    ) -> Result<Option<Mut<'s, Q, T>>, NnError> {
        values.map(|values| values.planned(op, tensor, &self.columns)).transpose()
    }
}

#[cfg(test)]
mod tests {
    use backend_api::{BackendError, Buffer};

    use super::*;

    #[test]
    fn rows_without_elements_and_wrong_eps_are_refused() {
        assert_eq!(NormPlan::new(&[1, 0], 1e-5), Err(NnError::EmptyReduction { op: "norm" }));
        assert!(NormPlan::new(&[0, 0], 0.0).is_ok());
        for eps in [-1e-5, f32::NAN, f32::INFINITY] {
            assert!(matches!(NormPlan::new(&[1, 1], eps), Err(NnError::Parameter { name: "eps", .. })));
        }
        assert!(matches!(NormPlan::new(&[usize::MAX, 1], 0.0), Err(NnError::Overflow { .. })));
        assert_eq!(NormPlan::new(&[], 0.0), Err(NnError::TooFewAxes { op: "norm", min: 1, got: 0 }));
    }

    #[test]
    fn a_sum_of_another_shape_is_refused_by_name() {
        let q = runtime::cpu().unwrap();
        let plan = NormPlan::new(&[2, 3], 1e-5).unwrap();
        let x = q.upload(&[1.0f32; 6]).unwrap();
        let (mut sum, mut y, mut stats) = (q.zeros(6).unwrap(), q.zeros(6).unwrap(), plan.layer_stats(&q).unwrap());
        let mut run = |r: [usize; 2], sums: [usize; 2]| {
            let tensor = |shape: &[usize; 2]| TensorRef::contiguous(x.view(), shape);
            let sum = TensorMut::contiguous(sum.view_mut(), &sums)?;
            let y = TensorMut::contiguous(y.view_mut(), &[2, 3])?;
            let stats = TensorMut::contiguous(stats.view_mut(), &[2, 2])?;
            let addends = [tensor(&[2, 3])?, tensor(&r)?];
            plan.add_layer_norm(&q, addends, NormAffine::default(), sum, NormResults { y, stats })
        };
        let is_of = |outcome, tensor| match outcome {
            Err(NnError::ShapeMismatch { op, tensor: named, .. }) => (op, named) == ("add_layer_norm", tensor),
            _ => false,
        };
        assert!(is_of(run([3, 2], [2, 3]), "r") && is_of(run([2, 3], [3, 2]), "sum"));
        assert_eq!(run([2, 3], [2, 3]), Ok(()));
        assert_eq!(q.download(&sum).unwrap(), [2.0; 6]);
    }

    #[test]
    fn a_constant_row_needs_eps_and_the_error_names_the_row() {
        let q = runtime::cpu().unwrap();
        let x = q.upload(&[1.0f32, 2.0, 5.0, 5.0, 0.0, 0.0]).unwrap();
        let one = q.upload(&[1.0f32; 2]).unwrap();
        let (mut y, mut stats) = (q.zeros::<f32>(6).unwrap(), q.zeros::<f32>(6).unwrap());
        let (x, one) =
            (TensorRef::contiguous(x.view(), &[3, 2]).unwrap(), TensorRef::contiguous(one.view(), &[2]).unwrap());
        let mut run = |centred, eps| {
            let plan = NormPlan::new(&[3, 2], eps).unwrap();
            let y = TensorMut::contiguous(y.view_mut(), &[3, 2])?;
            match centred {
                true => {
                    let stats = TensorMut::contiguous(stats.view_mut(), &[2, 3])?;
                    let affine = NormAffine { gamma: Some(one), beta: Some(one) };
                    plan.layer_norm(&q, x, affine, NormResults { y, stats })
                }
                false => {
                    let stats = TensorMut::contiguous(stats.view_mut(), &[3])?;
                    plan.rms_norm(&q, x, Some(one), NormResults { y, stats })
                }
            }
        };
        assert!(matches!(run(true, 0.0), Err(NnError::Backend(BackendError::Undefined { index: 1, .. }))));
        assert_eq!(run(true, 1e-30), Ok(()));
        assert!(matches!(run(false, 0.0), Err(NnError::Backend(BackendError::Undefined { index: 2, .. }))));
    }
}
