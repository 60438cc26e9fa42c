//! Corrections of predictions by the residuals of similar states.
//!
//! The ops compute features of trainings and their codes, store states with their residuals in a
//! ring, and estimate corrections from them.

use core_types::params::correction::{
    CorrectionParams, EncodeParams, EstimateParams, FEATURES, LOSSES, MOST_SIMILAR, NORMS, SCALARS, SimilarParams,
    StoreParams,
};

pub use super::sets::CorrectionOps;
use crate::{
    BufferMut,
    ops::{op, views},
};

/// The table of the set, for [`op_sets!`](crate::op_sets!).
#[doc(hidden)]
#[macro_export]
macro_rules! correction_ops {
    ($with:ident $($queue:ident)?) => {
        $with! {
            $([$queue])?
            /// Device steps of corrections.
            ///
            /// Features of trainings and their codes, rings of states, and estimates from
            /// residuals.
            ///
            /// Every op returns [`BackendError::Length`] if a view does not have the length its
            /// parameters state, and [`BackendError::Unsupported`] for sizes out of range. Nothing
            /// is written then. No op waits.
            correction::CorrectionOps: Queue {
                apply_correction(ApplyCorrection),
                encode_states(EncodeStates),
                estimate_residuals(EstimateResiduals),
                similar_states(SimilarStates),
                store_states(StoreStates),
                training_features(TrainingFeatures),
            }
        }
    };
}

op! {
    /// `y = p + c`, element by element, with a clamped correction c.
    ///
    /// `c` is `history a + model b`, clamped to within `limit |p|` of zero. NaN stays. No operation
    /// is fused, so results are the same to the bit on every backend.
    pub struct ApplyCorrection<'a, Q> as "apply_correction" {
        /// The factors.
        params: plain &'a CorrectionParams,
        /// The predictions, p; without this view, what y holds.
        predictions: read_if f32 [len],
        /// History estimates.
        a: read f32 [len],
        /// Model estimates.
        b: read f32 [len],
        /// The results.
        y: write f32 [len],
    }
    sizes(self) {
        let len = self.y.len();
        let fault = self.params.fault();
    }
    valid(self) {
        fault.is_none(), fault.unwrap_or_default();
    }
}

op! {
    /// Codes of trainings, `relu(f W + b)`.
    ///
    /// `f` are the features of a training, as in [`TrainingFeatures`]. Sums begin with b and run
    /// over the features in their order. A code does not depend on the other trainings. A NaN
    /// feature makes the code NaN.
    pub struct EncodeStates<'a, Q> as "encode_states" {
        /// Sizes.
        params: plain &'a EncodeParams,
        /// The records of the trainings.
        records: views TrainingRecords<'a, Q> [batch],
        /// W.
        weights: read f32 [FEATURES, outputs],
        /// b.
        bias: read f32 [outputs],
        /// The features.
        features: write_if f32 [batch, FEATURES],
        /// The codes.
        codes: write f32 [batch, outputs],
    }
    sizes(self) {
        let EncodeParams { batch, outputs } = *self.params;
    }
}

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

op! {
    /// Finds the nearest neighbours of each query among the states of a ring.
    ///
    /// Places are ordered by falling similarity, equal ones from the oldest state on, NaN last. The
    /// similarity is the cosine of the angle between two states: their scalar product divided by
    /// the product of their lengths, or 0 if a length is below 1e-8. If the ring has fewer states
    /// than requested, the other places are [`NO_STATE`](core_types::params::correction::NO_STATE),
    /// with a similarity of 0.
    ///
    /// Scalar products are sums of f32 that do not depend on the other states.
    pub struct SimilarStates<'a, Q> as "similar_states" {
        /// Sizes. A ring without places and more than 32 similar states are refused.
        params: plain &'a SimilarParams,
        /// The features of the states in the ring.
        states: read f32 [capacity, width],
        /// The lengths of the states.
        norms: read f32 [capacity],
        /// How many states have ever been put into the ring.
        stored: read u64 [1],
        /// The features of each query.
        queries: read f32 [queries, width],
        /// The places of the neighbours.
        places: write u32 [queries, count],
        /// Their similarities.
        similarities: write f32 [queries, count],
    }
    sizes(self) {
        let SimilarParams { capacity, width, queries, count } = *self.params;
    }
    valid(self) {
        (1..u64::from(u32::MAX)).contains(&capacity), "expected a ring capacity of 1..=2^32 - 2";
        count <= MOST_SIMILAR, "expected at most 32 similar states per query";
    }
}

op! {
    /// Stores states in a ring, each in the place of the oldest, and counts them.
    ///
    /// State i is stored in place `(stored + i) mod capacity`.
    pub struct StoreStates<'a, Q> as "store_states" {
        /// Sizes. More states than the ring holds are refused, and so is a ring without places.
        params: plain &'a StoreParams,
        /// The features of the new states.
        features: read f32 [count, width],
        /// Outcome of each state: residual, step and confidence.
        ///
        /// The residual is observed less predicted. The confidence is the confidence of the
        /// prediction.
        outcomes: read f32 [count, 3],
        /// The features of the states in the ring.
        states: write f32 [capacity, width],
        /// Their lengths.
        norms: write f32 [capacity],
        /// The outcomes of the states in the ring.
        known: write f32 [capacity, 3],
        /// How many states have ever been put in.
        stored: write u64 [1],
    }
    sizes(self) {
        let StoreParams { capacity, width, count } = *self.params;
    }
    valid(self) {
        (1..u64::from(u32::MAX)).contains(&capacity), "expected a ring capacity of 1..=2^32 - 2";
        count <= capacity, "more states than the capacity of the ring";
    }
}

op! {
    /// The features of each training.
    ///
    /// They match `TrainingState::compute_features` of hybrid-predict-trainer-rs:
    ///
    /// | places | features |
    /// | --- | --- |
    /// | 0 | the loss |
    /// | 1 to 4 | mean, standard deviation (as of a population), least and greatest of the last losses |
    /// | 5, 6 | the mean of the last 16 losses less the mean of the 16 before, and their quotient; 0 and 1 with fewer than 32 losses |
    /// | 7 | the step, by 10^4 |
    /// | 8 | the norm of the gradient, g |
    /// | 9 to 12 | as 1 to 4, of the last norms |
    /// | 13 | log10 g, -10 at least |
    /// | 14, 15 | g by the mean norm, at most 10; the standard deviation of the norms by their mean |
    /// | 16 to 19 | means and standard deviations of the optimizer's moments |
    /// | 20 | log10 of the rate, -10 at least |
    /// | 21, 22, 24 | powers of the betas, the phase |
    /// | 25 | the step of the phase, by 100 |
    ///
    /// Others are zero. Quotients are by 1e-8 at least. Statistics of empty rings are zero. The
    /// statistics are sums in f64, the same to the bit on every backend; a loss that is NaN makes
    /// mean and deviation NaN, while least and greatest leave it out (infinity and its negative if
    /// nothing is left), and a clamped feature falls to its bound: 13 and 20 to -10, 14 to 10.
    pub struct TrainingFeatures<'a, Q> as "training_features" {
        /// Number of trainings.
        batch: plain usize,
        /// Their records.
        records: views TrainingRecords<'a, Q> [batch],
        /// The features.
        features: write f32 [batch, FEATURES],
    }
    sizes(self) {
        let batch = self.batch as u64;
    }
}

views! {
    /// The records of a batch of trainings.
    ///
    /// Loss i, counted from 0, is at place `i mod 256` of its ring, the norm of a gradient at place
    /// `i mod 64`; places that nothing was recorded at are not read.
    pub struct TrainingRecords<'a, Q> {
        /// The last losses.
        losses: read f32 [batch, LOSSES],
        /// The norms of the last gradients.
        norms: read f32 [batch, NORMS],
        /// The scalars of the records.
        ///
        /// See [`Scalar`](core_types::params::correction::Scalar).
        scalars: read f32 [batch, SCALARS],
        /// How many losses and how many norms have been recorded.
        recorded: read u64 [batch, 2],
    }
    sizes(batch: u64) {}
}
