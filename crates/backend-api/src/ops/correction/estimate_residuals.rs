//! Estimates of the residuals of predictions.

use core_types::params::correction::{EstimateParams, MOST_SIMILAR};

use crate::ops::op;

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
        /// Outcomes of the states of the ring: residual, step and confidence.
        known: read f32 [capacity, 3],
        /// Places of similar states.
        ///
        /// Places outside the ring are ignored.
        places: read u32 [queries, count],
        /// The features of each query.
        features: read f32 [queries, width],
        /// The step of each query.
        steps: read f32 [queries],
        /// The coefficients of the linear model, and then its bias.
        model: read f32 [coefficients.saturating_add(1)],
        /// The estimates from similar states.
        history: write f32 [queries],
        /// The estimates of the linear model.
        modelled: write f32 [queries],
    }
    sizes(self) {
        let EstimateParams { capacity, width, queries, count, coefficients, decay, .. } = *self.params;
    }
    valid(self) {
        coefficients <= width, "the linear model has more coefficients than there are features";
        count <= MOST_SIMILAR, "expected at most 32 similar states per query";
        decay > 0.0 && decay <= 1.0, "expected a decay above 0 and at most 1";
    }
}
