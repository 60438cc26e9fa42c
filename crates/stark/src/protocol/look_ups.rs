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

use crate::{
    Prover, ProverError, StarkOps, placement::exchange::Whole, placement::rows::interpolate, plan::shape::INTERACTION,
};

impl<Q: StarkOps> Prover<Q> {
    /// Makes the interaction columns of a component, its claimed sum and its mean.
    ///
    /// The columns are written in the place of their coefficients.
    pub(crate) fn make_look_ups(&mut self, q: &Q, index: usize) -> Result<(), ProverError> {
        // Each lookup column is four interaction columns.
        let (air, inputs) = (&self.components[index].air, &self.inputs[index]);
        let columns = self.shape.components[index].columns.get(INTERACTION).cloned().unwrap_or(0..0);
        let made = air.fraction_program().map_or(0, |program| program.outputs() as usize / 2);
        if columns.len() != 4 * made {
            return Err(ProverError::Interaction { component: index, expected: 4 * made, got: columns.len() });
        }
        let (Some(program), Some(look_ups)) = (air.fraction_program(), &mut self.memory.look_ups) else {
            return Ok(());
        };
        // A component's columns are of one size, so they follow each other.
        let first = self.shape.trees[INTERACTION].columns[columns.start].coefficients.first as usize;
        let log_rows = air.log_rows();
        let words = first..first + ((4 * made) << log_rows);
        if let Some(host) = &self.host {
            self.shape.bring_rows(q, host, &self.twiddles, index, &self.components[index], &mut look_ups.rows)?;
        }
        let params =
            AirParams { log_rows, log_size: log_rows, registers: program.registers(), outputs: program.outputs() };
        // The program reads the drawn challenges among the component's inputs.
        let read = 0..self.shape.challenges;
        let answers = &mut self.memory.answers;
        let challenges = answers.places.inputs[index].clone();
        let own = challenges.start..challenges.start + read.end;
        q.copy(self.memory.challenges.slice(read)?, answers.secure.slice_mut(own)?)?;
        // Numerators and denominators of all fractions; from them columns, claimed sum and mean.
        q.air_fractions(AirFractions {
            params: &params,
            instructions: program.instructions(),
            masks: &inputs.fraction_masks,
            constants: program.constants(),
            values: look_ups.rows.view(),
            challenges: answers.secure.slice(challenges.clone())?,
            fractions: look_ups.fractions.slice_mut(0..(8 * made) << log_rows)?,
        })?;
        q.logup_columns(LogUpColumns {
            params: &LogUpColumnsParams { log_rows, columns: made as u32 },
            fractions: look_ups.fractions.slice(0..(8 * made) << log_rows)?,
            // With coefficients on the host, the rows have been read, and the columns take their place.
            columns: match &self.host {
                Some(_) => look_ups.rows.slice_mut(0..words.len())?,
                None if self.shape.place.partitioned => look_ups.made.slice_mut(0..words.len())?,
                None => self.memory.coefficients.slice_mut(words.clone())?,
            },
            sums: look_ups.sums[index].view_mut(),
        })?;
        // Columns that are not yet in the place of their coefficients are moved there.
        if let Some(host) = &mut self.host {
            interpolate(q, &self.twiddles, log_rows, look_ups.rows.slice_mut(0..words.len())?)?;
            host.keep(look_ups.rows.slice(0..words.len())?, words.start)?;
        } else if self.shape.place.partitioned {
            let whole = Whole { tree: INTERACTION, words, columns: &look_ups.made, first: 0 };
            self.memory.coefficients.keep_own(q, &self.shape, &whole)?;
        }
        // Constraints read the mean after the component's challenges.
        let mean = challenges.start + air.challenges() as usize;
        q.copy(look_ups.sums[index].slice(1..2)?, answers.secure.slice_mut(mean..mean + 1)?)?;
        Ok(())
    }
}
