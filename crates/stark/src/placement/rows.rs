//! The rows that look-ups of a component read.
//!
//! They are kept before they become coefficients. If coefficients are on the host, they are
//! recomputed from the coefficients instead, in a separate buffer.

use backend_api::{
    Buffer as _, BufferMut as _, BufferRef as _, Mut, Ref,
    ops::circle::{CircleEvaluate, CircleInterpolate, CircleRestrict},
};
use core::ops::Range;
use core_types::{
    field::M31,
    params::{
        air::MaskAt,
        circle::{CircleFftParams, CircleRestrictParams},
    },
};
use stark_air::{MaskRead, MaskSource, Program};
use stark_fft::{CanonicDomain, TwiddleTree};

use crate::{
    Component, Prover, ProverError, StarkOps,
    plan::shape::{INTERACTION, StatementShape, TRACE},
};

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
            // With `Host`, keys are recomputed.
            let is_gathered = has_look_ups && !preprocessed.is_empty();
            let keys = usize::from(self.on_host && is_gathered);
            let is_apart = self.is_made_apart(has_look_ups, is_gathered);
            if is_apart { (self.trace_columns(index).len() + keys) << air.log_rows() } else { 0 }
        });
        words.max().unwrap_or(0)
    }

    /// The columns of a component in the trace.
    fn trace_columns(&self, index: usize) -> Range<usize> {
        self.components[index].columns.get(TRACE).cloned().unwrap_or(0..0)
    }

    /// The masks of a component's look-ups in the rows that they read.
    ///
    /// In the rows of one component, the columns of its trace come first, then the preprocessed
    /// columns by slot.
    pub(crate) fn fraction_masks(&self, index: usize, component: &Component) -> Vec<MaskAt> {
        let (log_rows, trace) = (component.air.log_rows(), self.trace_columns(index).len() as u64);
        let first = |mask: &MaskRead| match mask.source {
            _ if !self.on_host => self.column(index, component, &mask.source).coefficients.first,
            MaskSource::Preprocessed { slot } => (trace + u64::from(slot)) << log_rows,
            MaskSource::Column { column, .. } => u64::from(column) << log_rows,
        };
        let masks = component.air.fraction_program().map_or(&[][..], Program::masks);
        masks.iter().map(|mask| MaskAt { first: first(mask), offset: mask.offset, reserved: 0 }).collect()
    }
}

impl<Q: StarkOps> Prover<Q> {
    /// Keeps the rows of a tree before they become coefficients, if look-ups read them.
    pub(crate) fn keep_rows(&mut self, q: &Q, tree: usize) -> Result<(), ProverError> {
        if let Some(look_ups) = &mut self.memory.look_ups
            && tree < INTERACTION
        {
            let rows = self.shape.trees[tree].coefficients();
            q.copy(self.memory.coefficients.slice(rows.clone())?, look_ups.rows.slice_mut(rows)?)?;
        }
        Ok(())
    }

    /// Recomputes the rows that look-ups of a component read, unless they were kept.
    pub(crate) fn bring_rows(&mut self, q: &Q, index: usize) -> Result<(), ProverError> {
        let (shape, component) = (&self.shape, &self.components[index]);
        let look_ups = self.memory.look_ups.as_mut().filter(|_| component.air.fraction_program().is_some());
        let (Some(host), Some(look_ups)) = (&self.host, look_ups) else { return Ok(()) };
        let log_rows = component.air.log_rows();
        let trace = shape.trees[TRACE].columns.get(shape.trace_columns(index)).unwrap_or(&[]);
        let slots = component.preprocessed.iter().map(|&column| &shape.trees[0].columns[column]);
        for (number, column) in trace.iter().chain(slots).enumerate() {
            let place = look_ups.rows.slice_mut(number << log_rows..(number + 1) << log_rows)?;
            host.bring(column.coefficients.first as usize, place)?;
        }
        let columns = trace.len() + component.preprocessed.len();
        evaluate(q, &self.twiddles, log_rows, look_ups.rows.slice_mut(0..columns << log_rows)?)
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

/// Evaluates columns on a block of `2^log_block` positions of a domain of `2^log_domain`.
pub(crate) fn restrict<Q: StarkOps>(
    q: &Q,
    twiddles: &TwiddleTree<Q>,
    [log_coefficients, log_domain, log_block]: [u32; 3],
    block: usize,
    coefficients: Ref<'_, Q, M31>,
    values: Mut<'_, Q, M31>,
) -> Result<(), ProverError> {
    let params = CircleRestrictParams {
        log_coefficients,
        log_domain,
        log_block,
        block: block as u32, // below 2^30, the number of blocks
        columns: (coefficients.len() >> log_coefficients) as u32,
    };
    let twiddles = twiddles.forward(CanonicDomain::new(log_domain)?)?;
    let (coefficients, values) = (q.shorten(coefficients), q.shorten_mut(values));
    Ok(q.circle_restrict(CircleRestrict { params: &params, twiddles, coefficients, values })?)
}
