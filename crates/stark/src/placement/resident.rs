//! Work on coefficients and committed values that are all in the memory of one device.

use backend_api::{
    Buffer as _,
    ops::{
        air::AirEvaluate,
        circle::{CircleExtend, CircleLde},
        deep::DeepNumerators,
    },
};
use core_types::params::{air::AirParams, circle::CircleExtendParams, deep::DeepNumeratorsParams};
use stark_fft::CanonicDomain;

use crate::{Prover, ProverError, StarkOps};

impl<Q: StarkOps> Prover<Q> {
    /// Interpolates and extends a tree's columns, a run in one op.
    pub(crate) fn extend_all(&mut self, q: &Q, tree: usize) -> Result<(), ProverError> {
        self.keep_rows(q, tree)?;
        for run in &self.shape.trees[tree].runs {
            let log_size = run.log_rows + self.shape.log_blowup;
            let (small, large) = (CanonicDomain::new(run.log_rows)?, CanonicDomain::new(log_size)?);
            let params = CircleExtendParams { log_coefficients: run.log_rows, log_size, columns: run.columns };
            q.circle_lde(CircleLde {
                params: &params,
                inverse_twiddles: self.twiddles.inverse(small)?,
                twiddles: self.twiddles.forward(large)?,
                columns: self.memory.coefficients.slice_mut(run.coefficients.clone())?,
                values: self.memory.values.slice_mut(run.values.clone())?,
            })?;
        }
        Ok(())
    }

    /// Adds the constraints of each component to the sums of its height.
    pub(crate) fn add_constraints_everywhere(&mut self, q: &Q) -> Result<(), ProverError> {
        for index in self.constrained() {
            let (air, inputs) = (&self.components[index].air, &self.inputs[index]);
            let (program, log_rows) = (air.constraint_program(), air.log_rows());
            let memory = &mut self.memory;
            let challenges = memory.answers.places.inputs[index].clone();
            let first = self.shape.components[index].first_constraint;
            let (registers, outputs) = (program.registers(), program.outputs());
            let params = AirParams { log_rows, log_size: log_rows + 1, registers, outputs };
            let sums = match memory.sums.iter_mut().find(|(height, _)| *height == log_rows) {
                Some((_, sums)) => sums.view_mut(),
                None => memory.coefficients.slice_mut(self.shape.composition().coefficients())?,
            };
            q.air_evaluate(AirEvaluate {
                params: &params,
                instructions: program.instructions(),
                masks: &inputs.constraint_masks,
                constants: program.constants(),
                vanishing_inverses: &inputs.vanishing_inverses,
                values: memory.values.view(),
                challenges: memory.answers.secure.slice(challenges)?,
                powers: memory.composition_powers.slice(first..first + air.constraints())?,
                sums,
            })?;
        }
        Ok(())
    }

    /// Extends the eight columns of the composition polynomial to the committed domain.
    pub(crate) fn extend_composition(&mut self, q: &Q) -> Result<(), ProverError> {
        let tree = self.shape.composition();
        let (log_coefficients, log_size) = (self.shape.log_rows, self.shape.log_rows + self.shape.log_blowup);
        for run in &tree.runs {
            q.circle_extend(CircleExtend {
                params: &CircleExtendParams { log_coefficients, log_size, columns: run.columns },
                twiddles: self.twiddles.forward(CanonicDomain::new(log_size)?)?,
                coefficients: self.memory.coefficients.slice(tree.coefficients())?,
                values: self.memory.values.slice_mut(run.values.clone())?,
            })?;
        }
        Ok(())
    }

    /// Adds up the numerators of all batches, a height in one op.
    pub(crate) fn add_numerators_everywhere(&mut self, q: &Q) -> Result<(), ProverError> {
        let (memory, samples) = (&mut self.memory, &self.samples);
        let columns = self.shape.all_values();
        let mut first = 0;
        for batches in samples.heights() {
            let log_size = batches[0].log_size;
            let words = (4 * batches.len()) << log_size;
            q.deep_numerators(DeepNumerators {
                params: &DeepNumeratorsParams { log_size },
                columns: &columns,
                terms: &samples.terms,
                batches,
                values: memory.values.view(),
                factors: memory.factors.view(),
                numerators: memory.numerators.slice_mut(first..first + words)?,
            })?;
            first += words;
        }
        Ok(())
    }
}
