//! Features of trainings.

use core_types::params::correction::FEATURES;

use super::TrainingRecords;
use crate::ops::op;

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
    /// | 16 to 19 | means and standard deviations of the optimiser's moments |
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
