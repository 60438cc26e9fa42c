//! Corrections of whole tensors.

use backend_api::{
    Queue,
    ops::correction::{ApplyCorrection, ApplyCorrectionInPlace, CorrectionOps},
};
use core_types::params::correction::CorrectionParams;

use crate::{
    error::NnError,
    tensor::{
        layout::Layout,
        views::{TensorMut, TensorRef},
    },
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
/// use backend_api::{Buffer, Queue};
/// use nn_ops::{CorrectionEstimates, CorrectionParams, TensorMut, TensorRef, apply_correction};
///
/// let q = runtime::cpu()?;
/// let (p, a, b) = (q.upload(&[2.0f32, 2.0])?, q.upload(&[0.1f32, 9.0])?, q.upload(&[0.1f32, 9.0])?);
/// let mut y = q.alloc::<f32>(2)?;
/// let at = |x| TensorRef::contiguous(x, &[2]);
/// let factors = CorrectionParams::default(); // 0.7 a + 0.3 b, at most a fifth
/// let estimates = CorrectionEstimates { history: at(a.view())?, model: at(b.view())? };
/// apply_correction(&q, factors, at(p.view())?, estimates, TensorMut::contiguous(y.view_mut(), &[2])?)?;
/// let y = q.download(&y)?;
/// assert!((y[0] - 2.1).abs() < 1e-6 && (y[1] - 2.4).abs() < 1e-6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`NnError::ShapeMismatch`] if a shape differs from the predictions' shape,
/// [`NnError::InvalidStride`] for a tensor that is not row-major, [`NnError::Backend`] from the
/// device, also for a factor that is NaN or a limit that is not 0 or more.
pub fn apply_correction<Q: CorrectionOps>(
    q: &Q,
    factors: CorrectionParams,
    predictions: TensorRef<'_, Q, f32>,
    estimates: CorrectionEstimates<'_, Q>,
    y: TensorMut<'_, Q, f32>,
) -> Result<(), NnError> {
    let layout = Layout::contiguous(predictions.layout().shape())?;
    let predictions = q.shorten(predictions.planned(OP, "predictions", &layout)?);
    let a = q.shorten(estimates.history.planned(OP, "history", &layout)?);
    let b = q.shorten(estimates.model.planned(OP, "model", &layout)?);
    let y = q.shorten_mut(y.planned(OP, "y", &layout)?);
    Ok(q.apply_correction(ApplyCorrection { params: &factors, predictions, a, b, y })?)
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
) -> Result<(), NnError> {
    let layout = Layout::contiguous(predictions.layout().shape())?;
    let a = q.shorten(estimates.history.planned(OP, "history", &layout)?);
    let b = q.shorten(estimates.model.planned(OP, "model", &layout)?);
    let predictions = q.shorten_mut(predictions.planned(OP, "predictions", &layout)?);
    Ok(q.apply_correction_in_place(ApplyCorrectionInPlace { params: &factors, a, b, predictions })?)
}
