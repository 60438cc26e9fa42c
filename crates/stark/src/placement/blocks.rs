//! Work on one block of positions after the other, where committed values are not in memory.
//!
//! All ranks gather the coefficients of all columns. A prover alone gathers nothing.
//!
//! Block `q` of `2^B` has the positions `q 2^(h-B) .. (q+1) 2^(h-B)` of a column of `2^h` values.
//! For `2^n` rows, constraints are evaluated on the blocks of the first `2^(n+1)` positions,
//! numerators on the blocks of the first `2^n`.

use core::ops::Range;

use backend_api::{
    Buffer as _,
    ops::{
        air::{AirEvaluate, GatherColumn},
        circle::CircleEvalAtPoints,
        deep::DeepNumerators,
    },
};
use core_types::{
    field::M31,
    params::{
        air::{AirParams, GatherColumnParams},
        deep::{DeepBatch, DeepNumeratorsParams},
    },
};

use crate::{
    Prover, ProverError, StarkOps,
    placement::rows::{interpolate, restrict},
    plan::neighbours::NeighbourGather,
    storage::answers::Answers,
    storage::memory::{BlockMemory, ProverMemory},
};

/// Keys that are uploaded at once.
const KEYS: u32 = 1 << 20;

impl<Q: StarkOps> Prover<Q> {
    /// Copies the rows of this rank's share of a tree's columns to their coefficients' places.
    ///
    /// The rows of all columns are copied if look-ups read them.
    pub(crate) fn upload_share(&mut self, q: &Q, tree: usize, mut parts: &[&[M31]]) -> Result<(), ProverError> {
        if self.shape.place.is_alone() || self.memory.look_ups.is_some() {
            let words = self.shape.trees[tree].coefficients();
            return Ok(q.write_parts(parts, self.memory.coefficients.slice_mut(words)?)?);
        }
        // Columns that other ranks interpolate come as coefficients.
        for run in &self.shape.trees[tree].runs {
            let columns;
            (columns, parts) = parts.split_at(run.columns as usize);
            let own = self.shape.place.share(columns.len());
            let words = run.words(own.clone());
            q.write_parts(&columns[own], self.memory.coefficients.slice_mut(words)?)?;
        }
        Ok(())
    }

    /// Interpolates this rank's share of a tree's columns, and gathers the others.
    pub(crate) fn interpolate_share(&mut self, q: &Q, tree: usize) -> Result<(), ProverError> {
        self.keep_rows(q, tree)?;
        for run in &self.shape.trees[tree].runs {
            let (place, columns) = (self.shape.place, run.columns as usize);
            let own = place.share(columns);
            if !own.is_empty() {
                let own = self.memory.coefficients.slice_mut(run.words(own))?;
                interpolate(q, &self.twiddles, run.log_rows, own)?;
            }
            let shares = place.shares(columns).map(|columns| run.words(columns));
            self.group.all_gather(q, &mut self.memory.coefficients.resident, shares)?;
        }
        Ok(())
    }

    /// Takes this rank's share of the samples, and gathers the others.
    pub(crate) fn sample_share(&mut self, q: &Q) -> Result<(), ProverError> {
        let (place, samples) = (self.shape.place, &self.samples.samples);
        let ProverMemory { coefficients, points, answers: Answers { secure, places, .. }, .. } = &mut self.memory;
        let first = places.sampled.start;
        let of = |share: Range<usize>| first + share.start..first + share.end;
        let own = place.share(samples.len());
        if !own.is_empty() {
            q.circle_eval_at_points(CircleEvalAtPoints {
                columns: &self.shape.all_coefficients(),
                samples: &samples[own.clone()],
                coefficients: coefficients.resident.view(),
                points: points.view(),
                sampled: secure.slice_mut(of(own))?,
            })?;
        }
        Ok(self.group.all_gather(q, secure, place.shares(samples.len()).map(of))?)
    }

    /// Computes the values of a tree's columns on a block, one of this rank's by `number`.
    pub(crate) fn restrict_to_block(
        &mut self,
        q: &Q,
        tree: usize,
        number: usize,
        block: usize,
    ) -> Result<(), ProverError> {
        let slot = self.shape.slot(number).start;
        for run in &self.shape.trees[tree].runs {
            let (log_domain, log_block) = (run.log_rows + self.shape.log_blowup, self.shape.log_block(run.log_rows));
            let first = slot + self.shape.run_in_block(run).start;
            // Pieces of a run are small enough to be brought to the device.
            for columns in self.shape.pieces(run) {
                let words = run.words(columns.clone());
                self.memory.coefficients.bring(self.host.as_ref(), &words)?;
                // Only the values on the block are computed.
                let values = first + (columns.start << log_block)..first + (columns.end << log_block);
                let (from, to) = (self.memory.coefficients.slice(words)?, self.memory.values.slice_mut(values)?);
                restrict(q, &self.twiddles, [run.log_rows, log_domain, log_block], block, from, to)?;
            }
        }
        Ok(())
    }

    /// Uploads where each position's neighbours are.
    pub(crate) fn upload_keys(&mut self, q: &Q) -> Result<(), ProverError> {
        let Some(blocks) = &mut self.memory.blocks else { return Ok(()) };
        for (step, keys) in self.neighbours.steps.iter().zip(&mut blocks.keys) {
            let end = 1 << step.log_positions();
            for first in (0..end).step_by(KEYS as usize) {
                let positions = first..end.min(first + KEYS);
                let place = positions.start as usize..positions.end as usize;
                q.write(&step.keys(positions), keys.slice_mut(place)?)?;
            }
        }
        Ok(())
    }

    /// Adds the constraints of all components to the sums of their heights.
    pub(crate) fn add_constraints_by_blocks(&mut self, q: &Q) -> Result<(), ProverError> {
        // Constraints are evaluated on the first `2^(n+1)` positions, for `2^n` rows.
        let log_copies = self.shape.log_blocks - self.shape.log_blowup;
        let blocks = 2 << log_copies;
        let constrained = self.constrained();
        for (number, block) in self.shape.place.own_blocks(blocks) {
            for tree in 0..self.shape.trace_trees() {
                self.fill_block(q, tree, [number, block], false)?;
            }
            for &index in &constrained {
                self.gather_neighbours(q, index, number, block)?;
                self.add_constraints_on_block(q, index, number, block)?;
            }
        }
        // Ranks exchange their blocks of the sums of each height.
        let ProverMemory { sums, coefficients, .. } = &mut self.memory;
        let heights = sums.iter_mut().map(|(log_rows, sums)| (*log_rows, sums, 0));
        let composition = (self.shape.log_rows, &mut coefficients.resident, self.shape.composition_on_device().start);
        for (log_rows, sums, start) in heights.chain([composition]) {
            let len = 1 << self.shape.log_block(log_rows);
            for plane in 0..4 {
                let first = start + ((2 * plane) << log_rows);
                self.group.gather_blocks(q, self.shape.place, sums, blocks, [first, len])?;
            }
        }
        Ok(())
    }

    /// Computes the columns that are read at neighbouring rows from their coefficients.
    pub(crate) fn extend_planes(&mut self, q: &Q) -> Result<(), ProverError> {
        let Some(blocks) = &mut self.memory.blocks else { return Ok(()) };
        for plane in &self.neighbours.planes {
            let log_rows = plane.coefficients.log_len;
            let log_domain = log_rows + self.shape.log_blowup;
            let (log_block, first) = (log_rows + 1, plane.coefficients.first as usize);
            let words = first..first + (1 << log_rows);
            self.memory.coefficients.bring(self.host.as_ref(), &words)?;
            let values = blocks.planes.slice_mut(plane.first..plane.first + (1 << log_block))?;
            let coefficients = self.memory.coefficients.slice(words)?;
            restrict(q, &self.twiddles, [log_rows, log_domain, log_block], 0, coefficients, values)?;
        }
        Ok(())
    }

    /// Gathers the neighbouring values that a component reads for one block.
    fn gather_neighbours(&mut self, q: &Q, index: usize, number: usize, block: usize) -> Result<(), ProverError> {
        let Some(blocks) = &self.memory.blocks else { return Ok(()) };
        let log_block = self.shape.log_block(self.components[index].air.log_rows());
        let mut first = self.shape.slot(number).start + self.shape.values_in_block();
        for &NeighbourGather { plane, step } in &self.neighbours.gathers[index] {
            let plane = &self.neighbours.planes[plane];
            let words = 2 << plane.coefficients.log_len;
            q.gather_column(GatherColumn {
                params: &GatherColumnParams { log_rows: log_block, words },
                keys: blocks.keys[step].slice(block << log_block..(block + 1) << log_block)?,
                table: blocks.planes.slice(plane.first..plane.first + words as usize)?,
                column: self.memory.values.slice_mut(first..first + (1 << log_block))?,
            })?;
            first += 1 << log_block;
        }
        Ok(())
    }

    /// Adds the constraints of a component on the block in memory to the sums of its height.
    fn add_constraints_on_block(
        &mut self,
        q: &Q,
        index: usize,
        number: usize,
        block: usize,
    ) -> Result<(), ProverError> {
        let (air, inputs) = (&self.components[index].air, &self.inputs[index]);
        let (program, log_rows) = (air.constraint_program(), air.log_rows());
        let log_block = self.shape.log_block(log_rows);
        let memory = &mut self.memory;
        let Some(BlockMemory { sums: on_block, .. }) = &mut memory.blocks else { return Ok(()) };
        // The largest height adds to the place of the composition, the others to their sums.
        let (sums, start) = match memory.sums.iter_mut().find(|(height, _)| *height == log_rows) {
            Some((_, sums)) => (sums, 0),
            None => (&mut memory.coefficients.resident, self.shape.composition_on_device().start),
        };
        // The block of each plane of the sums, and of each plane on the block.
        let planes = (0..4).map(|plane| {
            let first = start + ((2 * plane) << log_rows) + (block << log_block);
            (first..first + (1 << log_block), plane << log_block..(plane + 1) << log_block)
        });
        for (whole, part) in planes.clone() {
            q.copy(sums.slice(whole)?, on_block.slice_mut(part)?)?;
        }
        let first = self.shape.components[index].first_constraint;
        // The block is among positions where the vanishing polynomial has one value: to the program they are a trace.
        let copy = block >> (self.shape.log_blocks - self.shape.log_blowup);
        let (registers, outputs) = (program.registers(), program.outputs());
        let challenges = memory.answers.places.inputs[index].clone();
        q.air_evaluate(AirEvaluate {
            params: &AirParams { log_rows: log_block, log_size: log_block, registers, outputs },
            instructions: program.instructions(),
            masks: &inputs.constraint_masks,
            constants: program.constants(),
            vanishing_inverses: &inputs.vanishing_inverses[copy..=copy],
            values: memory.values.slice(self.shape.slot(number))?,
            challenges: memory.answers.secure.slice(challenges)?,
            powers: memory.composition_powers.slice(first..first + air.constraints())?,
            sums: on_block.slice_mut(0..4 << log_block)?,
        })?;
        // The sums on the block go back to their planes.
        for (whole, part) in planes {
            q.copy(on_block.slice(part)?, sums.slice_mut(whole)?)?;
        }
        Ok(())
    }

    /// Adds up the numerators of all batches.
    pub(crate) fn add_numerators_by_blocks(&mut self, q: &Q) -> Result<(), ProverError> {
        // Numerators are computed on the first `2^n` positions, for `2^n` rows.
        let columns = self.shape.all_values();
        let blocks = 1 << (self.shape.log_blocks - self.shape.log_blowup);
        for (number, block) in self.shape.place.own_blocks(blocks) {
            for tree in 0..self.shape.trees.len() {
                self.fill_block(q, tree, [number, block], false)?;
            }
            let (memory, samples) = (&mut self.memory, &self.samples);
            let Some(BlockMemory { sums: on_block, .. }) = &mut memory.blocks else { return Ok(()) };
            // On a block, each height in turn; planes are copied to their places.
            let mut start = 0;
            for batches in samples.heights() {
                let log_rows = batches[0].log_size;
                let log_size = self.shape.log_block(log_rows);
                let batches: Vec<DeepBatch> = batches.iter().map(|batch| DeepBatch { log_size, ..*batch }).collect();
                let planes = 4 * batches.len();
                q.deep_numerators(DeepNumerators {
                    params: &DeepNumeratorsParams { log_size },
                    columns: &columns,
                    terms: &samples.terms,
                    batches: &batches,
                    values: memory.values.slice(self.shape.slot(number))?,
                    factors: memory.factors.view(),
                    numerators: on_block.slice_mut(0..planes << log_size)?,
                })?;
                for plane in 0..planes {
                    let first = start + (plane << log_rows) + (block << log_size);
                    let part = on_block.slice(plane << log_size..(plane + 1) << log_size)?;
                    q.copy(part, memory.numerators.slice_mut(first..first + (1 << log_size))?)?;
                }
                start += planes << log_rows;
            }
        }
        // Ranks exchange their blocks of every batch.
        let mut start = 0;
        for batch in &self.samples.batches {
            let len = 1 << self.shape.log_block(batch.log_size);
            for first in (0..4).map(|plane| start + (plane << batch.log_size)) {
                self.group.gather_blocks(q, self.shape.place, &mut self.memory.numerators, blocks, [first, len])?;
            }
            start += 4 << batch.log_size;
        }
        Ok(())
    }
}
