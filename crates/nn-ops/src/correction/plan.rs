//! Corrections of predictions by stored residuals.

use backend_api::{
    Buffer, Queue,
    ops::correction::{ApplyCorrection, EstimateResiduals},
};
use core_types::params::correction::{EstimateParams, MOST_SIMILAR};

use super::store::{ResidualStore, SimilarStates};
use crate::{
    CorrectionOps, CorrectionParams,
    error::{NnError, Result},
    tensor::{Layout, Planned, TensorMut, TensorRef},
};

const OP: &str = "correction";

/// Options of a correction. The defaults follow hybrid-predict-trainer-rs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CorrectionOptions {
    /// Similar states whose residuals count, at most 32: 10.
    pub similar: usize,
    /// Factor of a residual's weight per 100 steps of age, above 0 and at most 1: 0.95.
    pub decay: f32,
    /// Features that the linear model sees, the first ones: 32.
    pub coefficients: usize,
    /// Factors of the two estimates, and the limit of a correction.
    ///
    /// The limit is the greatest part of a prediction that a correction may be.
    pub factors: CorrectionParams,
}

impl Default for CorrectionOptions {
    fn default() -> Self {
        Self { similar: 10, decay: 0.95, coefficients: 32, factors: CorrectionParams::default() }
    }
}

/// The states at which predictions are made, and the linear model that they are corrected by.
#[derive(Clone, Copy, Debug)]
pub struct CorrectionOperands<'a, Q: Queue + 'a> {
    /// Features of the states, `[queries, width]`.
    pub features: TensorRef<'a, Q, f32>,
    /// Steps of the states, `[queries]`.
    pub steps: TensorRef<'a, Q, f32>,
    /// Coefficients of the linear model, then its bias, `[coefficients + 1]`.
    pub model: TensorRef<'a, Q, f32>,
}

/// A checked correction of predictions by residuals of similar states and a linear model.
///
/// The linear model is a model of the features.
///
/// Nothing waits, and the step can be recorded as a graph.
///
/// ```
/// use nn_ops::{CorrectionOperands, CorrectionOptions, CorrectionPlan, ResidualStore, Tensor};
///
/// let q = runtime::cpu()?;
/// let mut store = ResidualStore::new(&q, 100, 2)?;
/// // the loss came out 0.5 above the prediction in a state like (1, 0), and 0.3 below it in one like (0, 1)
/// let features = Tensor::from_values(&q, &[2, 2], &[1.0f32, 0.0, 0.0, 1.0])?;
/// let outcomes = Tensor::from_values(&q, &[2, 3], &[0.5f32, 10.0, 1.0, -0.3, 20.0, 1.0])?;
/// store.store(&q, features.at(), outcomes.at())?;
///
/// let options = CorrectionOptions { similar: 1, coefficients: 2, ..CorrectionOptions::default() };
/// let plan = CorrectionPlan::new(1, 2, options)?;
/// let mut workspace = plan.workspace(&q)?;
/// let (state, step) = (Tensor::from_values(&q, &[1, 2], &[0.9f32, 0.1])?, Tensor::from_values(&q, &[1], &[30.0f32])?);
/// let model = Tensor::from_values(&q, &[3], &[0.0f32; 3])?;
/// let mut predictions = Tensor::from_values(&q, &[1], &[4.0f32])?;
/// let operands = CorrectionOperands { features: state.at(), steps: step.at(), model: model.at() };
/// plan.correct(&q, &store, operands, predictions.at_mut(), &mut workspace)?;
/// assert!((predictions.values(&q)?[0] - 4.35).abs() < 1e-6); // 4 + 0.7 * 0.5
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CorrectionPlan {
    options: CorrectionOptions,
    queries: usize,
    features: Layout,
    per_query: Layout,
    model: Layout,
}

/// Memory and results of a correction: the similar states, and both estimates.
pub struct CorrectionWorkspace<Q: Queue> {
    similar: SimilarStates<Q>,
    history: Q::Buf<f32>,
    modelled: Q::Buf<f32>,
}

impl<Q: Queue> CorrectionWorkspace<Q> {
    /// The states that the last correction found.
    #[must_use]
    pub fn similar(&self) -> &SimilarStates<Q> {
        &self.similar
    }

    /// What their residuals said, `[queries]`.
    #[must_use]
    pub fn history(&self) -> &Q::Buf<f32> {
        &self.history
    }

    /// The estimate of the linear model, `[queries]`.
    #[must_use]
    pub fn modelled(&self) -> &Q::Buf<f32> {
        &self.modelled
    }
}

debug_fields!(CorrectionWorkspace<Q: Queue> similar);

impl CorrectionPlan {
    /// A plan for `queries` predictions at states of `width` features.
    ///
    /// # Errors
    /// [`NnError::Parameter`] for more than 32 similar states, a decay or factor out of its range,
    /// and more coefficients than features; [`NnError::Overflow`] if the elements of a tensor
    /// cannot be counted.
    pub fn new(queries: usize, width: usize, options: CorrectionOptions) -> Result<Self> {
        let refuse = |name, domain, value: f64| Err(NnError::parameter(OP, name, domain, value));
        let CorrectionOptions { similar, decay, coefficients, factors } = options;
        if similar as u64 > MOST_SIMILAR {
            return refuse("the number of similar states", "at most 32", similar as f64);
        }
        if !(decay > 0.0 && decay <= 1.0) {
            return refuse("the decay", "above 0 and at most 1", decay.into());
        }
        for (name, factor) in [("the factor of residuals", factors.history), ("the factor of the model", factors.model)]
        {
            if factor.is_nan() {
                return refuse(name, "a number", factor.into());
            }
        }
        if factors.limit.is_nan() || factors.limit < 0.0 {
            return refuse("the limit", "0 or more", factors.limit.into());
        }
        if coefficients > width {
            return refuse("the number of coefficients", "at most the number of features", coefficients as f64);
        }
        Ok(Self {
            options,
            queries,
            features: Layout::contiguous(&[queries, width])?,
            per_query: Layout::contiguous(&[queries])?,
            model: Layout::contiguous(&[coefficients.checked_add(1).ok_or(NnError::Overflow { op: OP })?])?,
        })
    }

    /// Memory for corrections.
    ///
    /// # Errors
    /// [`NnError::Backend`] if memory is short.
    pub fn workspace<Q: Queue>(&self, q: &Q) -> Result<CorrectionWorkspace<Q>> {
        Ok(CorrectionWorkspace {
            similar: SimilarStates::new(q, self.queries, self.options.similar)?,
            history: q.alloc(self.queries)?,
            modelled: q.alloc(self.queries)?,
        })
    }

    /// Corrects `predictions [queries]`.
    ///
    /// Without a stored state, predictions stay as they are.
    ///
    /// # Errors
    /// [`NnError::ShapeMismatch`] or [`NnError::InvalidStride`] for a tensor with another layout
    /// than the plan's, for a store of states of another width, and for the workspace of another
    /// plan; [`NnError::Backend`] from the device.
    pub fn correct<Q: CorrectionOps>(
        &self,
        q: &Q,
        store: &ResidualStore<Q>,
        operands: CorrectionOperands<'_, Q>,
        predictions: TensorMut<'_, Q, f32>,
        workspace: &mut CorrectionWorkspace<Q>,
    ) -> Result<()> {
        let Self { options, queries, features: layout, per_query, model: of_model } = self;
        layout.admit(OP, "states of the store", &Layout::contiguous(&[*queries, store.width()])?)?;
        let CorrectionWorkspace { similar, history, modelled } = workspace;
        let places = Layout::contiguous(&[*queries, options.similar])?;
        places.admit(OP, "the workspace", &Layout::contiguous(&similar.shape())?)?;
        let CorrectionOperands { features, steps, model } = operands;
        let of_features = features.planned(OP, "features", layout)?;
        let steps = steps.planned(OP, "steps", per_query)?;
        let model = model.planned(OP, "model", of_model)?;
        let predictions = predictions.planned(OP, "predictions", per_query)?;
        store.similar(q, features, similar)?;
        let [capacity, width, queries, count, coefficients] =
            [store.capacity(), store.width(), *queries, options.similar, options.coefficients].map(|len| len as u64);
        let decay = options.decay;
        q.estimate_residuals(EstimateResiduals {
            params: &EstimateParams { capacity, width, queries, count, coefficients, decay, reserved: 0 },
            known: store.known().view(),
            places: similar.places().view(),
            features: of_features,
            steps,
            model,
            history: history.view_mut(),
            modelled: modelled.view_mut(),
        })?;
        Ok(q.apply_correction(ApplyCorrection {
            params: &options.factors,
            predictions: None,
            a: history.view(),
            b: modelled.view(),
            y: predictions,
        })?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::Tensor;

    #[test]
    fn options_out_of_range_and_stores_of_other_states_are_refused() {
        let q = runtime::cpu().unwrap();
        let plain = CorrectionOptions { similar: 3, coefficients: 4, ..CorrectionOptions::default() };
        for options in [
            CorrectionOptions { similar: 33, ..plain },
            CorrectionOptions { decay: 0.0, ..plain },
            CorrectionOptions { decay: f32::NAN, ..plain },
            CorrectionOptions { decay: 1.5, ..plain },
            CorrectionOptions { coefficients: 6, ..plain },
            CorrectionOptions { factors: CorrectionParams { history: f32::NAN, ..plain.factors }, ..plain },
            CorrectionOptions { factors: CorrectionParams { model: f32::NAN, ..plain.factors }, ..plain },
            CorrectionOptions { factors: CorrectionParams { limit: -0.2, ..plain.factors }, ..plain },
            CorrectionOptions { factors: CorrectionParams { limit: f32::NAN, ..plain.factors }, ..plain },
        ] {
            let refused = CorrectionPlan::new(2, 5, options);
            assert!(matches!(refused, Err(NnError::Parameter { op: "correction", .. })), "{refused:?}");
        }
        let plan = CorrectionPlan::new(2, 5, plain).unwrap();
        let correct = |width: usize, other: CorrectionOptions| {
            let store = ResidualStore::new(&q, 7, width)?;
            let mut workspace = CorrectionPlan::new(2, 5, other)?.workspace(&q)?;
            let zeros = |shape: &[usize]| Tensor::from_values(&q, shape, &vec![0.0f32; shape.iter().product()]);
            let (features, steps, model) = (zeros(&[2, 5])?, zeros(&[2])?, zeros(&[5])?);
            let mut predictions = Tensor::from_values(&q, &[2], &[1.0f32, 2.0])?;
            let operands = CorrectionOperands { features: features.at(), steps: steps.at(), model: model.at() };
            plan.correct(&q, &store, operands, predictions.at_mut(), &mut workspace)?;
            predictions.values(&q)
        };
        assert_eq!(correct(5, plain), Ok(vec![1.0, 2.0])); // nothing is stored
        for (width, options, of) in
            [(4, plain, "states of the store"), (5, CorrectionOptions { similar: 2, ..plain }, "the workspace")]
        {
            let refused = correct(width, options);
            assert!(matches!(&refused, Err(NnError::ShapeMismatch { tensor, .. }) if *tensor == of), "{refused:?}");
        }
    }
}
