//! Uploads of the trace of the next proof, and of interaction columns of the host.
//!
//! They differ for each proof, so they are separate from the work that can be recorded.

use backend_api::Buffer as _;
use core_types::field::{M31, QM31};

use crate::{
    Generated, Interaction, Prover, ProverError, StarkOps,
    plan::shape::{INTERACTION, TRACE},
};

impl<Q: StarkOps> Prover<Q> {
    /// Uploads the trace of the next proof.
    ///
    /// `trace` has the columns of all components, one after the other, in stored order.
    /// [`commit_loaded`](crate::ProofSession::commit_loaded) commits to it.
    ///
    /// # Errors
    /// [`ProverError::Columns`] or [`ProverError::Rows`] if the columns do not match the statement,
    /// and any error that the device reports.
    pub fn load(&mut self, q: &Q, trace: &[&[M31]]) -> Result<(), ProverError> {
        self.loaded = None;
        let uploaded = self.upload(q, TRACE, trace);
        self.group.or_end(uploaded)?;
        self.loaded = Some(TRACE);
        Ok(())
    }

    /// Waits until the device has done what was submitted.
    ///
    /// Of several ranks, one whose device failed ends the others.
    ///
    /// # Errors
    /// Any error that the device reports.
    pub fn wait(&self, q: &Q) -> Result<(), ProverError> {
        self.group.or_end(q.finish().map_err(ProverError::from))
    }

    /// Makes the trace of the next proof on the device, as [`load`](Self::load) uploads one.
    ///
    /// # Errors
    /// [`ProverError::Generators`], [`ProverError::Generator`] or [`ProverError::Keys`] if
    /// generators, inputs or tables do not match the trace of the statement, and any error that the
    /// device reports.
    pub fn load_generated(&mut self, q: &Q, components: &[Generated<'_>]) -> Result<(), ProverError> {
        self.loaded = None;
        let generated = self.generate(q, components);
        self.group.or_end(generated)?;
        self.loaded = Some(TRACE);
        Ok(())
    }
}

impl<Q: StarkOps> Prover<Q> {
    /// Checks that the statement has this tree.
    pub(crate) fn expect_tree_of_trace(&self, tree: usize) -> Result<(), ProverError> {
        let trees = self.shape.trace_trees();
        if tree < trees { Ok(()) } else { Err(ProverError::NoTree { trees, got: tree }) }
    }

    /// Checks that the columns of this tree were loaded.
    pub(crate) fn expect_loaded(&self, tree: usize) -> Result<(), ProverError> {
        if self.loaded == Some(tree) { Ok(()) } else { Err(ProverError::NotLoaded) }
    }

    /// Checks the number of claimed sums.
    pub(crate) fn expect_claimed_sums(&self, got: usize) -> Result<(), ProverError> {
        let expected = self.memory.answers.places.claimed_sums.len();
        if got == expected { Ok(()) } else { Err(ProverError::ClaimedSums { expected, got }) }
    }

    /// Uploads interaction columns, their claimed sums and the elements to absorb.
    ///
    /// The proof has committed to its trace before.
    pub(crate) fn load_interaction(&mut self, q: &Q, interaction: &Interaction) -> Result<(), ProverError> {
        let Interaction { claimed_sums, absorbed, columns } = interaction;
        self.expect_claimed_sums(claimed_sums.len())?;
        self.loaded = None;
        self.write_claimed_sums(q, claimed_sums)?;
        self.memory.load_absorbed(q, absorbed)?;
        let columns: Vec<&[M31]> = columns.iter().map(|column| &column[..]).collect();
        self.upload(q, INTERACTION, &columns)?;
        self.loaded = Some(INTERACTION);
        Ok(())
    }

    /// Writes claimed sums, and their means over the rows to where constraints read them.
    fn write_claimed_sums(&mut self, q: &Q, sums: &[QM31]) -> Result<(), ProverError> {
        let answers = &mut self.memory.answers;
        q.write(sums, answers.secure.slice_mut(answers.places.claimed_sums.clone())?)?;
        for ((component, inputs), sum) in self.components.iter().zip(&answers.places.inputs).zip(sums) {
            let (air, slot) = (&component.air, inputs.start + component.air.challenges() as usize);
            let mean = sum.coordinates().map(|coordinate| coordinate.div_power_of_two(air.log_rows()));
            q.write(&[QM31::from_coordinates(mean)], answers.secure.slice_mut(slot..slot + 1)?)?;
        }
        Ok(())
    }
}
