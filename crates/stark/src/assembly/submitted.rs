//! A proof whose work was submitted, and its data read back by the host.

use core::fmt;

use core_types::field::QM31;
use stark_verifier::Proof;

use crate::{Prover, ProverError, StarkOps, storage::answers::Read};

/// A proof whose work was submitted, all of it: the device may still be at it.
pub struct Submitted<'p, Q: StarkOps> {
    pub(crate) prover: &'p Prover<Q>,
    pub(crate) q: &'p Q,
}

/// The data computed by the device, read back to the host but not checked yet.
pub struct Found<'p, Q: StarkOps> {
    prover: &'p Prover<Q>,
    read: Read,
}

impl<'p, Q: StarkOps> Submitted<'p, Q> {
    /// Waits for the device, once.
    ///
    /// # Errors
    /// Any error that the device reports.
    pub fn wait(self) -> Result<Found<'p, Q>, ProverError> {
        let Self { prover, q } = self;
        Ok(Found { prover, read: prover.memory.answers.read(q)? })
    }
}

impl<Q: StarkOps> Found<'_, Q> {
    /// The challenges of relations, by slot.
    #[must_use]
    pub fn challenges(&self) -> &[QM31] {
        &self.read.challenges
    }

    /// The claimed sum of each component; none without look-ups.
    #[must_use]
    pub fn claimed_sums(&self) -> &[QM31] {
        &self.read.secure[self.prover.memory.answers.places.claimed_sums.clone()]
    }

    /// Checks that the constraints hold, and puts the proof together.
    ///
    /// # Errors
    /// [`ProverError::Constraints`] if the trace breaks a constraint, and [`ProverError::Point`].
    pub fn proof(&self) -> Result<Proof, ProverError> {
        self.prover.assemble(&self.read)
    }
}

impl<Q: StarkOps> fmt::Debug for Submitted<'_, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Submitted").finish_non_exhaustive()
    }
}

impl<Q: StarkOps> fmt::Debug for Found<'_, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Found").field("claimed_sums", &self.claimed_sums().len()).finish_non_exhaustive()
    }
}
