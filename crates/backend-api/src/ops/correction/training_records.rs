//! The records of trainings.

use core_types::params::correction::{LOSSES, NORMS, SCALARS};

use crate::ops::op::views;

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
