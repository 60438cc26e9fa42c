//! The rows that look-ups of a component read, if coefficients are on the host.
//!
//! They are recomputed from the coefficients, in a separate buffer.

use backend_api::{
    Buffer as _, BufferMut as _, Mut,
    ops::circle::{CircleEvaluate, CircleInterpolate},
};
use core::ops::Range;
use core_types::{
    air::Tree,
    field::M31,
    params::{air::MaskAt, circle::CircleFftParams},
};
use stark_air::{MaskSource, Program};
use stark_fft::{CanonicDomain, TwiddleTree};

use crate::{Component, ProverError, StarkOps, plan::shape::StatementShape, storage::host::HostColumns};

impl StatementShape {
    /// Words of the rows that look-ups of a component read.
    ///
    /// If the interaction columns that replace them have more words, it is the words of these
    /// columns.
    pub(crate) fn rows_of_component(&self, index: usize, components: &[Component]) -> usize {
        let Component { air, preprocessed } = &components[index];
        let made = air.fraction_program().map(|program| 2 * program.outputs() as usize);
        let read = self.trace_columns(index).len() + preprocessed.len();
        made.map_or(0, |made| made.max(read) << air.log_rows())
    }

    /// Words of the room in which a trace is made on the device, component by component.
    ///
    /// It is 0 if the trace is made in the place of its coefficients or of the rows that look-ups
    /// read.
    pub(crate) fn making_words(&self, components: &[Component]) -> usize {
        let has_look_ups = components.iter().any(|component| component.air.fraction_program().is_some());
        let words = components.iter().enumerate().map(|(index, Component { air, preprocessed })| {
            // With column-partitioned ranks, gathers read from the buffer that they write to; with `Host`, keys
            // are recomputed.
            let is_gathered = has_look_ups && !preprocessed.is_empty();
            let is_apart = self.on_host || (self.place.partitioned && (!has_look_ups || is_gathered));
            let keys = usize::from(self.on_host && is_gathered);
            if is_apart { (self.trace_columns(index).len() + keys) << air.log_rows() } else { 0 }
        });
        words.max().unwrap_or(0)
    }

    /// The columns of a component in the trace.
    fn trace_columns(&self, index: usize) -> Range<usize> {
        self.components[index].columns.get(Tree::TRACE.0 as usize).cloned().unwrap_or(0..0)
    }

    /// The masks of a component's look-ups in these rows.
    ///
    /// The columns of its trace come first, then the preprocessed columns by slot.
    pub(crate) fn masks_in_rows(&self, index: usize, component: &Component, program: &Program) -> Vec<MaskAt> {
        let (log_rows, trace) = (component.air.log_rows(), self.trace_columns(index).len() as u64);
        let masks = program.masks().iter().map(|mask| {
            let column = match mask.source {
                MaskSource::Preprocessed { slot } => trace + u64::from(slot),
                MaskSource::Column { column, .. } => u64::from(column),
            };
            MaskAt { first: column << log_rows, offset: mask.offset, reserved: 0 }
        });
        masks.collect()
    }

    /// Makes the rows that look-ups of a component read.
    pub(crate) fn bring_rows<Q: StarkOps>(
        &self,
        q: &Q,
        host: &HostColumns<Q>,
        twiddles: &TwiddleTree<Q>,
        index: usize,
        component: &Component,
        rows: &mut Q::Buf<M31>,
    ) -> Result<(), ProverError> {
        let log_rows = component.air.log_rows();
        let trace = self.trees[Tree::TRACE.0 as usize].columns.get(self.trace_columns(index)).unwrap_or(&[]);
        let slots = component.preprocessed.iter().map(|&column| &self.trees[0].columns[column]);
        for (number, column) in trace.iter().chain(slots).enumerate() {
            let place = rows.slice_mut(number << log_rows..(number + 1) << log_rows)?;
            host.bring(column.coefficients.first as usize, place)?;
        }
        let columns = trace.len() + component.preprocessed.len();
        evaluate(q, twiddles, log_rows, rows.slice_mut(0..columns << log_rows)?)
    }
}

/// Makes rows of coefficients, in their place.
pub(crate) fn evaluate<Q: StarkOps>(
    q: &Q,
    twiddles: &TwiddleTree<Q>,
    log_rows: u32,
    columns: Mut<'_, Q, M31>,
) -> Result<(), ProverError> {
    let params = CircleFftParams { log_size: log_rows, columns: (columns.len() >> log_rows) as u32 };
    let twiddles = twiddles.forward(CanonicDomain::new(log_rows)?)?;
    let columns = q.shorten_mut(columns);
    Ok(q.circle_evaluate(CircleEvaluate { params: &params, twiddles, columns })?)
}

/// Makes coefficients of rows, in their place.
pub(crate) fn interpolate<Q: StarkOps>(
    q: &Q,
    twiddles: &TwiddleTree<Q>,
    log_rows: u32,
    columns: Mut<'_, Q, M31>,
) -> Result<(), ProverError> {
    let params = CircleFftParams { log_size: log_rows, columns: (columns.len() >> log_rows) as u32 };
    let inverse_twiddles = twiddles.inverse(CanonicDomain::new(log_rows)?)?;
    let columns = q.shorten_mut(columns);
    Ok(q.circle_interpolate(CircleInterpolate { params: &params, inverse_twiddles, columns })?)
}
