//! Corrections of whole tensors.

use backend_api::{Queue, ops::correction::ApplyCorrection};

use crate::{
    CorrectionOps, CorrectionParams,
    error::Result,
    tensor::{Layout, Planned, TensorMut, TensorRef},
};

const OP: &str = "apply_correction";

/// Two estimates of the errors of predictions, each of the predictions' shape.
#[derive(Clone, Copy, Debug)]
pub struct CorrectionEstimates<'a, Q: Queue + 'a> {
    /// The estimate from stored residuals, whose factor is [`CorrectionParams::history`].
    pub history: TensorRef<'a, Q, f32>,
    /// The estimate of a model, whose factor is [`CorrectionParams::model`].
    pub model: TensorRef<'a, Q, f32>,
}

/// `y = p + c`, element by element, with a clamped correction c.
///
/// `c` is the sum of the estimates times their factors, clamped to within `limit |p|` of zero. NaN
/// stays. All tensors are row-major and of one shape.
///
/// ```
/// use nn_ops::{CorrectionEstimates, CorrectionParams, Tensor, apply_correction};
///
/// let q = runtime::cpu()?;
/// let of = |values: [f32; 2]| Tensor::from_values(&q, &[2], &values);
/// let (p, a, b, mut y) = (of([2.0, 2.0])?, of([0.1, 9.0])?, of([0.1, 9.0])?, Tensor::alloc(&q, &[2])?);
/// let factors = CorrectionParams::default(); // 0.7 a + 0.3 b, at most a fifth
/// let estimates = CorrectionEstimates { history: a.at(), model: b.at() };
/// apply_correction(&q, factors, p.at(), estimates, y.at_mut())?;
/// let y = y.values(&q)?;
/// assert!((y[0] - 2.1).abs() < 1e-6 && (y[1] - 2.4).abs() < 1e-6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`NnError::ShapeMismatch`](crate::NnError::ShapeMismatch) if a shape differs from the
/// predictions' shape, [`NnError::InvalidStride`](crate::NnError::InvalidStride) for a tensor that
/// is not row-major, [`NnError::Backend`](crate::NnError::Backend) from the device, also for a
/// factor that is NaN or a limit that is not 0 or more.
pub fn apply_correction<Q: CorrectionOps>(
    q: &Q,
    factors: CorrectionParams,
    predictions: TensorRef<'_, Q, f32>,
    estimates: CorrectionEstimates<'_, Q>,
    y: TensorMut<'_, Q, f32>,
) -> Result<()> {
    let layout = Layout::contiguous(predictions.layout().shape())?;
    let predictions = predictions.planned(OP, "predictions", &layout)?;
    let (a, b) = (estimates.history.planned(OP, "history", &layout)?, estimates.model.planned(OP, "model", &layout)?);
    let y = y.planned(OP, "y", &layout)?;
    Ok(q.apply_correction(ApplyCorrection { params: &factors, predictions: Some(predictions), a, b, y })?)
}

/// [`apply_correction`] in the place of the predictions.
///
/// # Errors
/// As [`apply_correction`].
pub fn apply_correction_in_place<Q: CorrectionOps>(
    q: &Q,
    factors: CorrectionParams,
    estimates: CorrectionEstimates<'_, Q>,
    predictions: TensorMut<'_, Q, f32>,
) -> Result<()> {
    let layout = Layout::contiguous(predictions.layout().shape())?;
    let (a, b) = (estimates.history.planned(OP, "history", &layout)?, estimates.model.planned(OP, "model", &layout)?);
    let y = predictions.planned(OP, "predictions", &layout)?;
    Ok(q.apply_correction(ApplyCorrection { params: &factors, predictions: None, a, b, y })?)
}
