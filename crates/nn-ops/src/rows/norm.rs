//! Layer norm and RMS norm along the last axis, forward and backward.

use backend_api::{
    Queue, Real,
    ops::linalg::{AddLayerNorm, LayerNorm, LayerNormBackward, RmsNorm, RmsNormBackward},
};
use core_types::params::rows::NormParams;

use crate::{
    RowOps, TensorOps,
    error::{NnError, Result},
    movement::{Fit, Packed, Unpacked},
    tensor::{Layout, TensorMut, TensorRef},
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

copied_views!(NormAffine<'a, Q: RowOps, T: Real>);

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
/// Tensors have one shape. All operands and results have any layout; those that are not row-major
/// are packed by a copy.
///
/// Factors `gamma` and addends `beta` have the shape `[columns]` of that axis; if left out, they
/// stand for ones and zeros. Statistics are f32 for every element type, of the shape `[2, rows]`
/// for a layer norm and `[rows]` for an RMS norm, where the rows are all leading axes together. The
/// order of each sum depends only on the shape. The mean is corrected by the mean of the residuals,
/// which keeps full accuracy even for means of 10^4 standard deviations and more; rows whose
/// squares leave the range of f32 keep it too.
///
/// ```
/// use nn_ops::{NormAffine, NormGradients, NormPlan, NormResults, NormSaved, Tensor};
///
/// let q = runtime::cpu()?;
/// let plan = NormPlan::new(&[2, 4], 1e-5)?;
/// let x = Tensor::from_values(&q, &[2, 4], &[1.0f32, 2.0, 3.0, 4.0, 1e4, 1e4 + 2.0, 1e4 + 4.0, 1e4 + 6.0])?;
/// let (gamma, beta) = (Tensor::from_values(&q, &[4], &[1.0f32; 4])?, Tensor::from_values(&q, &[4], &[0.0f32; 4])?);
/// let (mut y, mut stats) = (Tensor::alloc(&q, &[2, 4])?, Tensor::from_buffer(plan.layer_stats(&q)?, &[2, 2])?);
///
/// let affine = NormAffine { gamma: Some(gamma.at()), beta: Some(beta.at()) };
/// plan.layer_norm(&q, x.at(), affine, NormResults { y: y.at_mut(), stats: stats.at_mut() })?;
/// let h = y.values(&q)?;
/// assert!((h[0] + 1.341_635).abs() < 1e-5 && (h[4] + 1.341_640).abs() < 1e-5);
///
/// let g = Tensor::from_values(&q, &[2, 4], &[1.0f32; 8])?;
/// let (mut dx, mut dbeta) = (Tensor::alloc(&q, &[2, 4])?, Tensor::alloc(&q, &[4])?);
/// let saved = NormSaved { x: x.at(), gamma: Some(gamma.at()), stats: stats.at() };
/// let gradients = NormGradients { x: dx.at_mut(), gamma: None, beta: Some(dbeta.at_mut()) };
/// plan.layer_norm_backward(&q, saved, g.at(), gradients)?;
/// assert_eq!(dbeta.values(&q)?, [2.0; 4]);
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
    pub fn new(shape: &[usize], eps: f32) -> Result<Self> {
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
            return Err(NnError::parameter(OP, "eps", "finite and not negative", eps));
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
    pub fn layer_stats<Q: Queue>(&self, q: &Q) -> Result<Q::Buf<f32>> {
        Ok(q.alloc(self.layer_stats.numel())?)
    }

    /// Room for the statistics of an RMS norm: every 1 / sqrt(mean(x^2) + eps).
    ///
    /// # Errors
    /// [`NnError::Backend`] if memory is short.
    pub fn rms_stats<Q: Queue>(&self, q: &Q) -> Result<Q::Buf<f32>> {
        Ok(q.alloc(self.rms_stats.numel())?)
    }

    /// `y = (x - mean) / sqrt(variance + eps) gamma + beta` for each row.
    ///
    /// The variance is the biased one. Ba, Kiros, Hinton, arXiv 1607.06450.
    ///
    /// # Errors
    /// [`NnError::ShapeMismatch`] for a tensor of another shape; [`NnError::Backend`] after that,
    /// with [`BackendError::Undefined`](backend_api::BackendError::Undefined) for the first row
    /// where variance and eps are zero.
    pub fn layer_norm<Q: RowOps + TensorOps, T: Real>(
        &self,
        q: &Q,
        x: TensorRef<'_, Q, T>,
        affine: NormAffine<'_, Q, T>,
        results: NormResults<'_, Q, T>,
    ) -> Result<()> {
        const OP: &str = "layer_norm";
        let (mut x, [mut gamma, mut beta]) = (x.fit(OP, "x", &self.layout)?, self.affine(OP, affine)?);
        let y = results.y.fit(OP, "y", &self.layout)?;
        let stats = results.stats.fit(OP, "stats", &self.layer_stats)?;
        let (mut of_y, mut of_stats) = (Unpacked::new(), Unpacked::new());
        q.layer_norm(LayerNorm {
            params: &self.params,
            x: Some(x.view(q)?),
            gamma: Packed::view_some(&mut gamma, q)?,
            beta: Packed::view_some(&mut beta, q)?,
            y: of_y.target(q, y)?,
            stats: of_stats.target(q, stats)?,
        })?;
        of_y.finish(q)?;
        of_stats.finish(q)
    }

    /// [`layer_norm`](Self::layer_norm) of x with the results in x, bit for bit.
    ///
    /// It is for inference: the gradients need x, which is overwritten.
    ///
    /// # Errors
    /// As [`layer_norm`](Self::layer_norm). After
    /// [`BackendError::Undefined`](backend_api::BackendError::Undefined), x is unspecified.
    pub fn layer_norm_in_place<Q: RowOps + TensorOps, T: Real>(
        &self,
        q: &Q,
        x: TensorMut<'_, Q, T>,
        affine: NormAffine<'_, Q, T>,
        stats: TensorMut<'_, Q, f32>,
    ) -> Result<()> {
        const OP: &str = "layer_norm_in_place";
        let [mut gamma, mut beta] = self.affine(OP, affine)?;
        let (x, stats) = (x.fit(OP, "x", &self.layout)?, stats.fit(OP, "stats", &self.layer_stats)?);
        let (mut of_x, mut of_stats) = (Unpacked::new(), Unpacked::new());
        q.layer_norm(LayerNorm {
            params: &self.params,
            x: None,
            gamma: Packed::view_some(&mut gamma, q)?,
            beta: Packed::view_some(&mut beta, q)?,
            y: of_x.updated(q, x)?,
            stats: of_stats.target(q, stats)?,
        })?;
        of_x.finish(q)?;
        of_stats.finish(q)
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
    pub fn add_layer_norm<Q: RowOps + TensorOps, T: Real>(
        &self,
        q: &Q,
        [x, r]: [TensorRef<'_, Q, T>; 2],
        affine: NormAffine<'_, Q, T>,
        sum: TensorMut<'_, Q, T>,
        results: NormResults<'_, Q, T>,
    ) -> Result<()> {
        const OP: &str = "add_layer_norm";
        let (mut x, mut r) = (x.fit(OP, "x", &self.layout)?, r.fit(OP, "r", &self.layout)?);
        let [mut gamma, mut beta] = self.affine(OP, affine)?;
        let (sum, y) = (sum.fit(OP, "sum", &self.layout)?, results.y.fit(OP, "y", &self.layout)?);
        let stats = results.stats.fit(OP, "stats", &self.layer_stats)?;
        let (mut of_sum, mut of_y, mut of_stats) = (Unpacked::new(), Unpacked::new(), Unpacked::new());
        q.add_layer_norm(AddLayerNorm {
            params: &self.params,
            x: x.view(q)?,
            r: r.view(q)?,
            gamma: Packed::view_some(&mut gamma, q)?,
            beta: Packed::view_some(&mut beta, q)?,
            sum: of_sum.target(q, sum)?,
            y: of_y.target(q, y)?,
            stats: of_stats.target(q, stats)?,
        })?;
        of_sum.finish(q)?;
        of_y.finish(q)?;
        of_stats.finish(q)
    }

    /// The gradients of [`layer_norm`](Self::layer_norm) with respect to x, gamma and beta.
    ///
    /// `g` is the gradient of the loss with respect to y.
    ///
    /// # Errors
    /// [`NnError::ShapeMismatch`] for a tensor of another shape, [`NnError::Backend`] after that.
    pub fn layer_norm_backward<Q: RowOps + TensorOps, T: Real>(
        &self,
        q: &Q,
        saved: NormSaved<'_, Q, T>,
        g: TensorRef<'_, Q, T>,
        gradients: NormGradients<'_, Q, T>,
    ) -> Result<()> {
        const OP: &str = "layer_norm_backward";
        let mut x = saved.x.fit(OP, "x", &self.layout)?;
        let mut gamma = saved.gamma.fit(OP, "gamma", &self.columns)?;
        let mut stats = saved.stats.fit(OP, "stats", &self.layer_stats)?;
        let mut g = g.fit(OP, "g", &self.layout)?;
        let dx = gradients.x.fit(OP, "dx", &self.layout)?;
        let dgamma = gradients.gamma.fit(OP, "dgamma", &self.columns)?;
        let dbeta = gradients.beta.fit(OP, "dbeta", &self.columns)?;
        let [mut of_x, mut of_gamma, mut of_beta] = [(); 3].map(|()| Unpacked::new());
        q.layer_norm_backward(LayerNormBackward {
            params: &self.params,
            x: x.view(q)?,
            gamma: Packed::view_some(&mut gamma, q)?,
            stats: stats.view(q)?,
            g: g.view(q)?,
            dx: of_x.target(q, dx)?,
            dgamma: dgamma.map(|dgamma| of_gamma.target(q, dgamma)).transpose()?,
            dbeta: dbeta.map(|dbeta| of_beta.target(q, dbeta)).transpose()?,
        })?;
        [of_x, of_gamma, of_beta].into_iter().try_for_each(|gradient| gradient.finish(q))
    }

    /// `y = x / sqrt(mean(x^2) + eps) gamma` for each row. Zhang, Sennrich, arXiv 1910.07467.
    ///
    /// # Errors
    /// As [`layer_norm`](Self::layer_norm), where the mean square takes the place of the variance.
    pub fn rms_norm<Q: RowOps + TensorOps, T: Real>(
        &self,
        q: &Q,
        x: TensorRef<'_, Q, T>,
        gamma: Option<TensorRef<'_, Q, T>>,
        results: NormResults<'_, Q, T>,
    ) -> Result<()> {
        const OP: &str = "rms_norm";
        let (mut x, mut gamma) = (x.fit(OP, "x", &self.layout)?, gamma.fit(OP, "gamma", &self.columns)?);
        let y = results.y.fit(OP, "y", &self.layout)?;
        let stats = results.stats.fit(OP, "stats", &self.rms_stats)?;
        let (mut of_y, mut of_stats) = (Unpacked::new(), Unpacked::new());
        q.rms_norm(RmsNorm {
            params: &self.params,
            x: Some(x.view(q)?),
            gamma: Packed::view_some(&mut gamma, q)?,
            y: of_y.target(q, y)?,
            rstd: of_stats.target(q, stats)?,
        })?;
        of_y.finish(q)?;
        of_stats.finish(q)
    }

    /// [`rms_norm`](Self::rms_norm) of x with the results in x, bit for bit.
    ///
    /// It is for inference: the gradients need x, which is overwritten.
    ///
    /// # Errors
    /// As [`layer_norm_in_place`](Self::layer_norm_in_place), where the mean square takes the place
    /// of the variance.
    pub fn rms_norm_in_place<Q: RowOps + TensorOps, T: Real>(
        &self,
        q: &Q,
        x: TensorMut<'_, Q, T>,
        gamma: Option<TensorRef<'_, Q, T>>,
        stats: TensorMut<'_, Q, f32>,
    ) -> Result<()> {
        const OP: &str = "rms_norm_in_place";
        let mut gamma = gamma.fit(OP, "gamma", &self.columns)?;
        let (x, stats) = (x.fit(OP, "x", &self.layout)?, stats.fit(OP, "stats", &self.rms_stats)?);
        let (mut of_x, mut of_stats) = (Unpacked::new(), Unpacked::new());
        q.rms_norm(RmsNorm {
            params: &self.params,
            x: None,
            gamma: Packed::view_some(&mut gamma, q)?,
            y: of_x.updated(q, x)?,
            rstd: of_stats.target(q, stats)?,
        })?;
        of_x.finish(q)?;
        of_stats.finish(q)
    }

    /// The gradients of [`rms_norm`](Self::rms_norm) with respect to x and gamma.
    ///
    /// `g` is the gradient of the loss with respect to y; the gradient of gamma is optional.
    ///
    /// # Errors
    /// [`NnError::ShapeMismatch`] for a tensor of another shape, [`NnError::Backend`] after that.
    pub fn rms_norm_backward<Q: RowOps + TensorOps, T: Real>(
        &self,
        q: &Q,
        saved: NormSaved<'_, Q, T>,
        g: TensorRef<'_, Q, T>,
        dx: TensorMut<'_, Q, T>,
        dgamma: Option<TensorMut<'_, Q, T>>,
    ) -> Result<()> {
        const OP: &str = "rms_norm_backward";
        let mut x = saved.x.fit(OP, "x", &self.layout)?;
        let mut gamma = saved.gamma.fit(OP, "gamma", &self.columns)?;
        let mut rstd = saved.stats.fit(OP, "stats", &self.rms_stats)?;
        let mut g = g.fit(OP, "g", &self.layout)?;
        let (dx, dgamma) = (dx.fit(OP, "dx", &self.layout)?, dgamma.fit(OP, "dgamma", &self.columns)?);
        let (mut of_x, mut of_gamma) = (Unpacked::new(), Unpacked::new());
        q.rms_norm_backward(RmsNormBackward {
            params: &self.params,
            x: x.view(q)?,
            gamma: Packed::view_some(&mut gamma, q)?,
            rstd: rstd.view(q)?,
            g: g.view(q)?,
            dx: of_x.target(q, dx)?,
            dgamma: dgamma.map(|dgamma| of_gamma.target(q, dgamma)).transpose()?,
        })?;
        of_x.finish(q)?;
        of_gamma.finish(q)
    }

    /// Factors and addends of the columns, with checked shapes.
    fn affine<'a, Q: RowOps, T: Real>(
        &self,
        op: &'static str,
        given: NormAffine<'a, Q, T>,
    ) -> Result<[Option<Packed<'a, Q, T>>; 2]> {
        Ok([given.gamma.fit(op, "gamma", &self.columns)?, given.beta.fit(op, "beta", &self.columns)?])
    }
}

#[cfg(test)]
mod tests {
    use backend_api::BackendError;

    use super::*;
    use crate::tensor::Tensor;

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
        let ones = |shape: &[usize]| Tensor::from_values(&q, shape, &[1.0f32; 6]);
        let run = |r: &[usize], sum: &[usize]| {
            let (x, r, mut sum) = (ones(&[2, 3])?, ones(r)?, ones(sum)?);
            let (mut y, mut stats) = (ones(&[2, 3])?, Tensor::alloc(&q, &[2, 2])?);
            let results = NormResults { y: y.at_mut(), stats: stats.at_mut() };
            plan.add_layer_norm(&q, [x.at(), r.at()], NormAffine::default(), sum.at_mut(), results)?;
            sum.values(&q)
        };
        let refused = |r: &[usize], sum: &[usize]| match run(r, sum) {
            Err(NnError::ShapeMismatch { op: "add_layer_norm", tensor, .. }) => tensor,
            other => panic!("{other:?}"),
        };
        assert_eq!([refused(&[3, 2], &[2, 3]), refused(&[2, 3], &[3, 2])], ["r", "sum"]);
        assert_eq!(run(&[2, 3], &[2, 3]), Ok(vec![2.0; 6]));
    }

    #[test]
    fn an_operand_in_place_of_another_shape_is_refused_by_name() {
        let q = runtime::cpu().unwrap();
        let plan = NormPlan::new(&[2, 3], 1e-5).unwrap();
        let mut x = Tensor::from_values(&q, &[3, 2], &[1.0f32; 6]).unwrap();
        let mut stats = Tensor::from_values(&q, &[2], &[0.0f32; 2]).unwrap();
        let refused = plan.rms_norm_in_place(&q, x.at_mut(), None, stats.at_mut()).unwrap_err();
        assert_eq!(refused.to_string(), "`rms_norm_in_place` expected x of shape [2, 3], got [3, 2]");
        let refused = plan.layer_norm_in_place(&q, x.at_mut(), NormAffine::default(), stats.at_mut()).unwrap_err();
        assert_eq!(refused.to_string(), "`layer_norm_in_place` expected x of shape [2, 3], got [3, 2]");
        let mut x = x.into_shape(&[2, 3]).unwrap();
        let refused = plan.layer_norm_in_place(&q, x.at_mut(), NormAffine::default(), stats.at_mut()).unwrap_err();
        assert_eq!(refused.to_string(), "`layer_norm_in_place` expected stats of shape [2, 2], got [2]");
        assert_eq!(x.values(&q), Ok(vec![1.0; 6]));
    }

    #[test]
    fn a_constant_row_needs_eps_and_the_error_names_the_row() {
        let q = runtime::cpu().unwrap();
        let x = Tensor::from_values(&q, &[3, 2], &[1.0f32, 2.0, 5.0, 5.0, 0.0, 0.0]).unwrap();
        let one = Tensor::from_values(&q, &[2], &[1.0f32; 2]).unwrap();
        let run = |centred: bool, eps| {
            let plan = NormPlan::new(&[3, 2], eps).unwrap();
            let mut y = Tensor::alloc(&q, &[3, 2])?;
            let mut stats = Tensor::alloc(&q, if centred { &[2, 3][..] } else { &[3] })?;
            let results = NormResults { y: y.at_mut(), stats: stats.at_mut() };
            if centred {
                let affine = NormAffine { gamma: Some(one.at()), beta: Some(one.at()) };
                plan.layer_norm(&q, x.at(), affine, results)
            } else {
                plan.rms_norm(&q, x.at(), Some(one.at()), results)
            }
        };
        assert!(matches!(run(true, 0.0), Err(NnError::Backend(BackendError::Undefined { index: 1, .. }))));
        assert_eq!(run(true, 1e-30), Ok(()));
        assert!(matches!(run(false, 0.0), Err(NnError::Backend(BackendError::Undefined { index: 2, .. }))));
    }
}
