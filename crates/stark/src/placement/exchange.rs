//! The all-to-all exchange of [column-partitioned](crate::placement::column_partition) ranks.
//!
//! For copy `c` of the trace in its extension, rank `s` of `G` receives block `c G + s` of all
//! columns.

use core::ops::Range;

use backend_api::{BackendError, Buffer as _, ops::circle::CircleEvalAtPoints};
use core_types::field::M31;

use crate::{
    Prover, ProverError, StarkOps,
    placement::column_partition::PartitionedSamples,
    placement::rows::{interpolate, restrict},
    plan::shape::StatementShape,
    storage::answers::Answers,
    storage::coefficients::DeviceCoefficients,
    storage::memory::{BlockMemory, ProverMemory},
};

/// Columns of a tree that follow each other and are all on this rank.
pub(crate) struct Whole<'a, Q: StarkOps> {
    pub(crate) tree: usize,
    /// Words of their coefficients, if all were here.
    pub(crate) words: Range<usize>,
    /// Where they are.
    pub(crate) columns: &'a Q::Buf<M31>,
    /// The first word of them there.
    pub(crate) first: usize,
}

impl<Q: StarkOps> DeviceCoefficients<Q> {
    /// Copies this rank's columns to the place of their coefficients.
    pub(crate) fn keep_own(&mut self, q: &Q, shape: &StatementShape, whole: &Whole<'_, Q>) -> Result<(), BackendError> {
        for (among, own) in shape.own_among(whole.tree, &whole.words) {
            let from = whole.first + among.start..whole.first + among.end;
            q.copy(whole.columns.slice(from)?, self.resident.slice_mut(own)?)?;
        }
        Ok(())
    }
}

impl<Q: StarkOps> Prover<Q> {
    /// Copies the rows of this rank's columns of a tree to the places of their coefficients.
    ///
    /// The rows of all columns are kept instead if look-ups read them.
    pub(crate) fn upload_own(&mut self, q: &Q, tree: usize, mut parts: &[&[M31]]) -> Result<(), ProverError> {
        let shape = &self.shape.trees[tree];
        if let Some(look_ups) = self.memory.look_ups.as_mut().filter(|_| tree < 2) {
            return Ok(q.write_parts(parts, look_ups.rows.slice_mut(shape.coefficients())?)?);
        }
        for run in &shape.runs {
            let columns;
            (columns, parts) = parts.split_at(run.columns as usize);
            for (own, words) in self.shape.own_columns(run) {
                q.write_parts(&columns[own], self.memory.coefficients.resident.slice_mut(words)?)?;
            }
        }
        Ok(())
    }

    /// Interpolates this rank's columns of a tree.
    ///
    /// Then receives the values of all columns on this rank's blocks.
    pub(crate) fn exchange(&mut self, q: &Q, tree: usize) -> Result<(), ProverError> {
        let words = self.shape.trees[tree].coefficients();
        let ProverMemory { look_ups, coefficients, .. } = &mut self.memory;
        if let Some(look_ups) = look_ups.as_ref().filter(|_| tree < 2) {
            let first = words.start;
            coefficients.keep_own(q, &self.shape, &Whole { tree, words, columns: &look_ups.rows, first })?;
        }
        for run in 0..self.shape.trees[tree].runs.len() {
            self.exchange_run(q, tree, run)?;
        }
        Ok(())
    }

    fn exchange_run(&mut self, q: &Q, tree: usize, run: usize) -> Result<(), ProverError> {
        let (shape, run) = (&self.shape, &self.shape.trees[tree].runs[run]);
        let ProverMemory { coefficients, values, blocks: Some(BlockMemory { sent, .. }), .. } = &mut self.memory else {
            return Ok(());
        };
        let (log_rows, log_domain) = (run.log_rows, run.log_rows + shape.log_blowup);
        let (ranks, log_block) = (shape.place.ranks(), shape.log_block(log_rows));
        let first = shape.run_in_block(run).start;
        // Each round interpolates some columns of every rank and exchanges their blocks.
        for (round, (own, words)) in shape.rounds(run).zip(shape.own_columns(run)) {
            if !own.is_empty() {
                interpolate(q, &self.twiddles, log_rows, coefficients.resident.slice_mut(words.clone())?)?;
            }
            let part = round.width << log_block;
            for copy in 0..shape.slots() {
                // The part of each rank: the values on its block of this copy.
                for rank in (0..ranks).filter(|_| !own.is_empty()) {
                    let values = rank * part..rank * part + (own.len() << log_block);
                    let (from, to) = (coefficients.resident.slice(words.clone())?, sent.slice_mut(values)?);
                    let block = copy * ranks + rank;
                    restrict(q, &self.twiddles, [log_rows, log_domain, log_block], block, from, to)?;
                }
                // Columns of all ranks arrive in the order of the run.
                let start = shape.slot(copy).start + first + (round.first << log_block);
                let brought = values.slice_mut(start..start + ranks * part)?;
                self.group.all_to_all(q, sent.slice(0..ranks * part)?, brought)?;
            }
        }
        Ok(())
    }

    /// Gathers the columns that are read at neighbouring rows.
    ///
    /// They are gathered at every position at which constraints are evaluated.
    pub(crate) fn gather_planes(&mut self, q: &Q) -> Result<(), ProverError> {
        let (shape, place) = (&self.shape, self.shape.place);
        let ProverMemory { values, blocks: Some(BlockMemory { planes, .. }), .. } = &mut self.memory else {
            return Ok(());
        };
        let blocks = 2 * place.ranks();
        for plane in &self.neighbours.planes {
            let len = 1 << shape.log_block(plane.coefficients.log_len);
            for (number, block) in place.own_blocks(blocks) {
                let from = shape.slot(number).start + shape.in_block(plane.values).first as usize;
                let to = plane.first + block * len;
                q.copy(values.slice(from..from + len)?, planes.slice_mut(to..to + len)?)?;
            }
            self.group.gather_blocks(q, place, planes, blocks, [plane.first, len])?;
        }
        Ok(())
    }

    /// Samples this rank's columns and gathers the samples of the other ranks.
    pub(crate) fn sample_own(&mut self, q: &Q) -> Result<(), ProverError> {
        let PartitionedSamples { columns, samples, shares, moves } = self.shape.partitioned_samples(&self.samples);
        let ProverMemory { coefficients, points, answers, blocks: Some(BlockMemory { sampled, .. }), .. } =
            &mut self.memory
        else {
            return Ok(());
        };
        let Answers { secure, places, .. } = answers;
        if !samples.is_empty() {
            q.circle_eval_at_points(CircleEvalAtPoints {
                columns: &columns,
                samples: &samples,
                coefficients: coefficients.resident.view(),
                points: points.view(),
                sampled: sampled.slice_mut(shares[self.shape.place.rank].clone())?,
            })?;
        }
        self.group.all_gather(q, sampled, shares.into_iter())?;
        let start = places.sampled.start;
        for (first, here) in moves {
            let from = sampled.slice(first..first + here.len())?;
            q.copy(from, secure.slice_mut(start + here.start..start + here.end)?)?;
        }
        Ok(())
    }
}
