//! The records of trainings.

use core_types::params::correction::{LOSSES, NORMS, SCALARS};

use crate::{
    Queue,
    ops::{linalg::shape::elements, op::views},
};

views! {
    /// The records of a batch of trainings.
    ///
    /// Loss i, counted from 0, is at place `i mod 256` of its ring, the norm of a gradient at place
    /// `i mod 64`; places that nothing was recorded at are not read.
    pub struct TrainingRecords<'a, Q> {
        /// The last losses, `[batch, 256]`.
        losses: read f32,
        /// The norms of the last gradients, `[batch, 64]`.
        norms: read f32,
        /// The scalars of the records, `[batch, 12]`.
        ///
        /// See [`Scalar`](core_types::params::correction::Scalar).
        scalars: read f32,
        /// How many losses and how many norms have been recorded, `[batch, 2]`.
        recorded: read u64,
    }
}

impl<'a, Q: Queue + 'a> Clone for TrainingRecords<'a, Q> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<'a, Q: Queue + 'a> Copy for TrainingRecords<'a, Q> {}

impl<Q: Queue> TrainingRecords<'_, Q> {
    /// The lengths of the four views.
    pub(super) fn lengths(batch: u64) -> [usize; 4] {
        [LOSSES, NORMS, SCALARS, 2].map(|len| elements(&[batch, len]))
    }
}
