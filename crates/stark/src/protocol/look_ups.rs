//! Interaction columns of look-ups (LogUp, <https://eprint.iacr.org/2022/1530>).
//!
//! Column `k` of a component holds, on each row, the sum of fractions `0..=k`. The last column is
//! replaced by its running sum over the rows, less the mean on each row, so that it is cyclic. The
//! claimed sum is the sum over all rows (stwo 2.3, `constraint-framework/src/prover/logup.rs`).

use backend_api::{
    Buffer as _,
    ops::air::{AirFractions, LogUpColumns},
};
use core_types::params::air::{AirParams, LogUpColumnsParams};

use crate::{Prover, ProverError, StarkOps, plan::shape::INTERACTION, storage::memory::LookUps};

impl<Q: StarkOps> Prover<Q> {
    /// Makes the interaction columns of a component, its claimed sum and its mean.
    ///
    /// The columns are written to the place of their coefficients.
    pub(crate) fn make_look_ups(&mut self, q: &Q, index: usize) -> Result<(), ProverError> {
        // Each lookup column is four interaction columns.
        let columns = self.shape.components[index].columns.get(INTERACTION).cloned().unwrap_or(0..0);
        let program = self.components[index].air.fraction_program();
        let count = program.map_or(0, |program| program.outputs() as usize / 2);
        if columns.len() != 4 * count {
            return Err(ProverError::Interaction { component: index, expected: 4 * count, got: columns.len() });
        }
        self.bring_rows(q, index)?;
        let (air, inputs) = (&self.components[index].air, &self.inputs[index]);
        let (Some(program), Some(look_ups)) = (air.fraction_program(), &mut self.memory.look_ups) else {
            return Ok(());
        };
        let LookUps { rows, fractions, made, sums } = look_ups;
        // A component's columns are of one size, so they follow each other.
        let first = self.shape.trees[INTERACTION].columns[columns.start].coefficients.first as usize;
        let log_rows = air.log_rows();
        let words = first..first + ((4 * count) << log_rows);
        let params =
            AirParams { log_rows, log_size: log_rows, registers: program.registers(), outputs: program.outputs() };
        // The program reads the drawn challenges among the component's inputs.
        let read = 0..self.shape.challenges;
        let answers = &mut self.memory.answers;
        let challenges = answers.places.inputs[index].clone();
        let own = challenges.start..challenges.start + read.end;
        q.copy(self.memory.challenges.slice(read)?, answers.secure.slice_mut(own)?)?;
        let mean = challenges.start + air.challenges() as usize;
        // Numerators and denominators of all fractions; from them columns, claimed sum and mean.
        q.air_fractions(AirFractions {
            params: &params,
            instructions: program.instructions(),
            masks: &inputs.fraction_masks,
            constants: program.constants(),
            values: rows.view(),
            challenges: answers.secure.slice(challenges)?,
            fractions: fractions.slice_mut(0..(8 * count) << log_rows)?,
        })?;
        q.logup_columns(LogUpColumns {
            params: &LogUpColumnsParams { log_rows, columns: count as u32 },
            fractions: fractions.slice(0..(8 * count) << log_rows)?,
            columns: self.shape.interaction_place(&mut self.memory.coefficients, words.clone(), rows, made)?,
            sums: sums[index].view_mut(),
        })?;
        self.keep_interaction(q, log_rows, words)?;
        // Constraints read the mean after the component's challenges.
        if let Some(look_ups) = &self.memory.look_ups {
            q.copy(look_ups.sums[index].slice(1..2)?, self.memory.answers.secure.slice_mut(mean..mean + 1)?)?;
        }
        Ok(())
    }
}
