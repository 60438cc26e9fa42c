//! The trace of the next proof, brought to the device apart from what can be recorded, since it is another one for each proof.

use core_types::field::M31;

use crate::{Generated, Prover, ProverError, StarkOps, session::TRACE};

impl<Q: StarkOps> Prover<Q> {
    /// Uploads the trace of the next proof, the columns of all components, one after the other, in stored order, for
    /// [`commit_loaded`](crate::Session::commit_loaded).
    ///
    /// # Errors
    /// [`ProverError::Columns`] or [`ProverError::Rows`] if the columns are not those of the statement, and what the device
    /// reports.
    pub fn load(&mut self, q: &Q, trace: &[&[M31]]) -> Result<(), ProverError> {
        self.loaded = None;
        let uploaded = self.upload(q, TRACE, trace);
        self.group.or_end(uploaded)?;
        self.loaded = Some(TRACE);
        Ok(())
    }

    /// Makes the trace of the next proof on the device, as [`load`](Self::load) uploads one.
    ///
    /// # Errors
    /// [`ProverError::Generators`], [`ProverError::Generator`] or [`ProverError::Keys`] if generators, inputs or tables are not those
    /// of a trace of the statement, and what the device reports.
    pub fn load_generated(&mut self, q: &Q, components: &[Generated<'_>]) -> Result<(), ProverError> {
        self.loaded = None;
        let generated = self.generate(q, components);
        self.group.or_end(generated)?;
        self.loaded = Some(TRACE);
        Ok(())
    }
}
