//! Estimates of the residuals of predictions.

use core_types::params::correction::{EstimateParams, MOST_SIMILAR};

use crate::{
    BackendError, Queue,
    ops::{Op, linalg::shape::elements, op},
};

op! {
    /// Two estimates of the residual of each query.
    ///
    /// `history` is the weighted mean of the residuals of similar states. A state that is d steps
    /// before the query has weight `decay^(d / 100)` in f32 times its confidence (d is 0 if it is
    /// after the query); weights that do not add up to more than 0 are taken as they are. `model`
    /// is the scalar product of the coefficients and the first features, plus the bias. Both are 0
    /// for a query with no similar state.
    pub struct EstimateResiduals<'a, Q> as "estimate_residuals" {
        /// Sizes and the decay, which is above 0 and at most 1.
        params: plain &'a EstimateParams,
        /// Outcomes of the states of the ring, `[capacity, 3]`: residual, step and confidence.
        known: read f32,
        /// Places of similar states, `[queries, count]`.
        ///
        /// Places outside the ring are ignored.
        places: read u32,
        /// `[queries, width]`.
        features: read f32,
        /// The step of each query, `[queries]`.
        steps: read f32,
        /// The coefficients of the linear model, and then its bias: `[coefficients + 1]`.
        model: read f32,
        /// `[queries]`.
        history: write f32,
        /// `[queries]`.
        modelled: write f32,
    }
}

impl<Q: Queue> EstimateResiduals<'_, Q> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`CorrectionOps`](super::CorrectionOps).
    pub fn check(&self) -> Result<(), BackendError> {
        let EstimateParams { capacity, width, queries, count, coefficients, .. } = *self.params;
        let of = |rows, len| elements(&[rows, len]);
        let (per_query, model) = (of(queries, 1), of(coefficients.saturating_add(1), 1));
        let lengths = [of(capacity, 3), of(queries, count), of(queries, width), per_query, model, per_query, per_query];
        self.expect(lengths)?;
        let why = if coefficients > width {
            "the linear model has more coefficients than there are features"
        } else if count > MOST_SIMILAR {
            "expected at most 32 similar states per query"
        } else if !(self.params.decay > 0.0 && self.params.decay <= 1.0) {
            "expected a decay above 0 and at most 1"
        } else {
            return Ok(());
        };
        Err(BackendError::Unsupported { op: Self::NAME, why })
    }
}
