use backend_api::{
    Element, Mut, Queue, Real, Ref,
    ops::linalg::{LayerNorm, LayerNormBackward, RmsNorm, RmsNormBackward, RowOps},
};
use core_types::params::rows::NormParams;

use crate::{
    Layout, NnError,
    view::{first, first_mut},
};

/// What the backward pass of a normalisation needs from the forward pass.
pub struct NormSaved<'a, Q: RowOps + 'a, T: Real> {
    /// The input.
    pub x: Ref<'a, Q, T>,
    /// The factors of the columns, if there were any.
    pub gamma: Option<Ref<'a, Q, T>>,
    /// The statistics of the rows, as the forward pass wrote them.
    pub stats: Ref<'a, Q, f32>,
}

impl<'a, Q: RowOps + 'a, T: Real> core::fmt::Debug for NormSaved<'a, Q, T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("NormSaved").finish_non_exhaustive()
    }
}

/// Layer and RMS normalisation of the rows of a row-major matrix, forward and backward.
///
/// A tensor is a matrix whose columns are its last axis. Views hold at least the elements of the shape, from their start.
/// `gamma` and `beta` may be left out, and stand for ones and zeros then. Statistics are f32 sums for every element type; each
/// sum's order depends on the shape alone. The mean is corrected by the mean of the residuals, which keeps full accuracy up
/// to means of 10^4 standard deviations and more; rows whose squares leave the range of f32 keep it too.
///
/// ```
/// use backend_api::{Buffer, Queue};
/// use nn_ops::{NormPlan, NormSaved};
///
/// let q = runtime::cpu()?;
/// let plan = NormPlan::new(2, 4, 1e-5)?;
/// let x = q.upload(&[1.0f32, 2.0, 3.0, 4.0, 1e4, 1e4 + 2.0, 1e4 + 4.0, 1e4 + 6.0])?;
/// let (gamma, beta) = (q.upload(&[1.0f32; 4])?, q.upload(&[0.0f32; 4])?);
/// let (mut y, mut stats) = (q.zeros::<f32>(8)?, plan.layer_stats(&q)?);
///
/// plan.layer_norm(&q, x.view(), Some(gamma.view()), Some(beta.view()), y.view_mut(), stats.view_mut())?;
/// let h = q.download(&y)?;
/// assert!((h[0] + 1.341_635).abs() < 1e-5 && (h[4] + 1.341_640).abs() < 1e-5);
///
/// let g = q.upload(&[1.0f32; 8])?;
/// let (mut dx, mut dgamma, mut dbeta) = (q.zeros::<f32>(8)?, q.zeros::<f32>(4)?, q.zeros::<f32>(4)?);
/// let saved = NormSaved { x: x.view(), gamma: Some(gamma.view()), stats: stats.view() };
/// plan.layer_norm_backward(&q, saved, g.view(), dx.view_mut(), Some(dgamma.view_mut()), Some(dbeta.view_mut()))?;
/// assert_eq!(q.download(&dbeta)?, [2.0; 4]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NormPlan {
    rows: usize,
    columns: usize,
    params: NormParams,
}

impl NormPlan {
    /// A plan for `rows` rows of `columns` elements; `eps` is added to the variance or mean square inside the root.
    ///
    /// # Errors
    /// [`NnError::EmptyReduction`] for rows without elements, [`NnError::Parameter`] unless eps is finite and not negative,
    /// [`NnError::Overflow`] if no matrix has the shape.
    pub fn new(rows: usize, columns: usize, eps: f32) -> Result<Self, NnError> {
        const OP: &str = "norm";
        Layout::contiguous(&[rows, columns, 2])?;
        if columns == 0 && rows > 0 {
            return Err(NnError::EmptyReduction { op: OP });
        }
        if !(eps.is_finite() && eps >= 0.0) {
            let domain = "finite and not negative";
            return Err(NnError::Parameter { op: OP, name: "eps", domain, value: f64::from(eps) });
        }
        Ok(Self { rows, columns, params: NormParams { rows: rows as u64, len: columns as u64, eps } })
    }

    /// Room for the statistics of a layer norm: every mean, then every 1 / sqrt(variance + eps).
    ///
    /// # Errors
    /// [`NnError::Backend`] if memory is short.
    pub fn layer_stats<Q: Queue>(&self, q: &Q) -> Result<Q::Buf<f32>, NnError> {
        Ok(q.alloc(self.layer_stats_len())?)
    }

    /// Room for the statistics of an RMS norm: every 1 / sqrt(mean(x^2) + eps).
    ///
    /// # Errors
    /// [`NnError::Backend`] if memory is short.
    pub fn rms_stats<Q: Queue>(&self, q: &Q) -> Result<Q::Buf<f32>, NnError> {
        Ok(q.alloc(self.rows)?)
    }

    fn layer_stats_len(&self) -> usize {
        2 * self.rows // checked when built
    }

    fn count(&self) -> usize {
        self.rows * self.columns // checked when built
    }

    /// `y = (x - mean) / sqrt(variance + eps) gamma + beta` for each row, with the biased variance. Ba, Kiros, Hinton, arXiv
    /// 1607.06450.
    ///
    /// # Errors
    /// [`NnError::ViewTooShort`]; [`NnError::Backend`] after that, with
    /// [`BackendError::Undefined`](backend_api::BackendError::Undefined) for the first row where variance and eps are
    /// zero.
    pub fn layer_norm<Q: RowOps, T: Real>(
        &self,
        q: &Q,
        x: Ref<'_, Q, T>,
        gamma: Option<Ref<'_, Q, T>>,
        beta: Option<Ref<'_, Q, T>>,
        y: Mut<'_, Q, T>,
        stats: Mut<'_, Q, f32>,
    ) -> Result<(), NnError> {
        let (x, y) = (first(q, x, self.count())?, first_mut(q, y, self.count())?);
        let (gamma, beta) = (self.columns_of(q, gamma)?, self.columns_of(q, beta)?);
        Ok(q.layer_norm(LayerNorm {
            params: &self.params,
            x,
            gamma,
            beta,
            y,
            stats: first_mut(q, stats, self.layer_stats_len())?,
        })?)
    }

    /// The gradients of [`layer_norm`](Self::layer_norm) by x and, where asked for, gamma and beta for the gradient g of the
    /// loss by y.
    ///
    /// # Errors
    /// [`NnError::ViewTooShort`]; [`NnError::Backend`] after that.
    pub fn layer_norm_backward<Q: RowOps, T: Real>(
        &self,
        q: &Q,
        saved: NormSaved<'_, Q, T>,
        g: Ref<'_, Q, T>,
        dx: Mut<'_, Q, T>,
        dgamma: Option<Mut<'_, Q, T>>,
        dbeta: Option<Mut<'_, Q, T>>,
    ) -> Result<(), NnError> {
        let (x, gamma) = (first(q, saved.x, self.count())?, self.columns_of(q, saved.gamma)?);
        let stats = first(q, saved.stats, self.layer_stats_len())?;
        let (g, dx) = (first(q, g, self.count())?, first_mut(q, dx, self.count())?);
        let (dgamma, dbeta) = (self.columns_of_mut(q, dgamma)?, self.columns_of_mut(q, dbeta)?);
        Ok(q.layer_norm_backward(LayerNormBackward { params: &self.params, x, gamma, stats, g, dx, dgamma, dbeta })?)
    }

    /// `y = x / sqrt(mean(x^2) + eps) gamma` for each row. Zhang, Sennrich, arXiv 1910.07467.
    ///
    /// # Errors
    /// As [`layer_norm`](Self::layer_norm), where the mean square takes the place of the variance.
    pub fn rms_norm<Q: RowOps, T: Real>(
        &self,
        q: &Q,
        x: Ref<'_, Q, T>,
        gamma: Option<Ref<'_, Q, T>>,
        y: Mut<'_, Q, T>,
        stats: Mut<'_, Q, f32>,
    ) -> Result<(), NnError> {
        let (x, y) = (first(q, x, self.count())?, first_mut(q, y, self.count())?);
        let (gamma, stats) = (self.columns_of(q, gamma)?, first_mut(q, stats, self.rows)?);
        Ok(q.rms_norm(RmsNorm { params: &self.params, x, gamma, y, rstd: stats })?)
    }

    /// The gradients of [`rms_norm`](Self::rms_norm) by x and, where asked for, gamma for the gradient g of the loss by y.
    ///
    /// # Errors
    /// [`NnError::ViewTooShort`]; [`NnError::Backend`] after that.
    pub fn rms_norm_backward<Q: RowOps, T: Real>(
        &self,
        q: &Q,
        saved: NormSaved<'_, Q, T>,
        g: Ref<'_, Q, T>,
        dx: Mut<'_, Q, T>,
        dgamma: Option<Mut<'_, Q, T>>,
    ) -> Result<(), NnError> {
        let (x, gamma) = (first(q, saved.x, self.count())?, self.columns_of(q, saved.gamma)?);
        let stats = first(q, saved.stats, self.rows)?;
        let (g, dx) = (first(q, g, self.count())?, first_mut(q, dx, self.count())?);
        Ok(q.rms_norm_backward(RmsNormBackward {
            params: &self.params,
            x,
            gamma,
            rstd: stats,
            g,
            dx,
            dgamma: self.columns_of_mut(q, dgamma)?,
        })?)
    }

    fn columns_of<'s, 'l: 's, Q: Queue, T: Element>(
        &self,
        q: &Q,
        values: Option<Ref<'l, Q, T>>,
    ) -> Result<Option<Ref<'s, Q, T>>, NnError>
    where
        Q::Buf<T>: 'l,
    {
        values.map(|values| first(q, values, self.columns)).transpose()
    }

    fn columns_of_mut<'s, 'l: 's, Q: Queue, T: Element>(
        &self,
        q: &Q,
        values: Option<Mut<'l, Q, T>>,
    ) -> Result<Option<Mut<'s, Q, T>>, NnError>
    where
        Q::Buf<T>: 'l,
    {
        values.map(|values| first_mut(q, values, self.columns)).transpose()
    }
}

#[cfg(test)]
mod tests {
    use backend_api::{BackendError, Buffer};

    use super::*;

    #[test]
    fn rows_without_elements_and_wrong_eps_are_refused() {
        assert_eq!(NormPlan::new(1, 0, 1e-5), Err(NnError::EmptyReduction { op: "norm" }));
        assert!(NormPlan::new(0, 0, 0.0).is_ok());
        for eps in [-1e-5, f32::NAN, f32::INFINITY] {
            assert!(matches!(NormPlan::new(1, 1, eps), Err(NnError::Parameter { name: "eps", .. })));
        }
        assert!(matches!(NormPlan::new(usize::MAX, 1, 0.0), Err(NnError::Overflow { .. })));
    }

    #[test]
    fn a_constant_row_needs_eps_and_the_error_names_the_row() {
        let q = runtime::cpu().unwrap();
        let x = q.upload(&[1.0f32, 2.0, 5.0, 5.0, 0.0, 0.0]).unwrap();
        let one = q.upload(&[1.0f32; 2]).unwrap();
        let (mut y, mut stats) = (q.zeros::<f32>(6).unwrap(), q.zeros::<f32>(6).unwrap());
        let mut layer = |eps| {
            let plan = NormPlan::new(3, 2, eps).unwrap();
            plan.layer_norm(&q, x.view(), Some(one.view()), Some(one.view()), y.view_mut(), stats.view_mut())
        };
        assert!(matches!(layer(0.0), Err(NnError::Backend(BackendError::Undefined { index: 1, .. }))));
        assert_eq!(layer(1e-30), Ok(()));
        let rms = NormPlan::new(3, 2, 0.0).unwrap();
        let rms = rms.rms_norm(&q, x.view(), Some(one.view()), y.view_mut(), stats.view_mut());
        assert!(matches!(rms, Err(NnError::Backend(BackendError::Undefined { index: 2, .. }))));
    }
}
