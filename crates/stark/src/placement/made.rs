//! Where columns that the device makes are written, and how they reach their storage.
//!
//! They are the trace and the interaction columns of look-ups, component by component.

use core::ops::Range;

use backend_api::{BackendError, Buffer as _, Mut};
use core_types::field::M31;

use crate::{
    Prover, ProverError, StarkOps,
    placement::exchange::Whole,
    placement::rows::interpolate,
    plan::residency::Storage,
    plan::shape::{INTERACTION, StatementShape, TRACE},
    storage::coefficients::DeviceCoefficients,
};

impl StatementShape {
    /// Whether the trace of a component is made in a separate buffer.
    ///
    /// Otherwise it is made in the place of its coefficients or of the rows that look-ups read.
    pub(crate) const fn is_made_apart(&self, has_look_ups: bool, is_gathered: bool) -> bool {
        match self.storage() {
            Storage::Resident | Storage::Blocks => false,
            Storage::Host => true,
            // Gathers read their keys from the buffer of the rows.
            Storage::Partitioned => !has_look_ups || is_gathered,
        }
    }

    /// Where the interaction columns of a component are made.
    ///
    /// `words` are the words of their coefficients. `rows` are those that look-ups read, and `made`
    /// is the memory for the columns of one component.
    pub(crate) fn interaction_place<'a, Q: StarkOps>(
        &self,
        coefficients: &'a mut DeviceCoefficients<Q>,
        words: Range<usize>,
        rows: &'a mut Q::Buf<M31>,
        made: &'a mut Q::Buf<M31>,
    ) -> Result<Mut<'a, Q, M31>, BackendError> {
        match self.storage() {
            Storage::Resident | Storage::Blocks => coefficients.slice_mut(words),
            // The rows have been read, and the columns take their place.
            Storage::Host => rows.slice_mut(0..words.len()),
            Storage::Partitioned => made.slice_mut(0..words.len()),
        }
    }
}

impl<Q: StarkOps> Prover<Q> {
    /// Room for the trace of a component while it is made, if it is nowhere whole then.
    pub(crate) fn trace_room(
        &self,
        q: &Q,
        words: &Range<usize>,
        is_gathered: bool,
    ) -> Result<Option<Q::Buf<M31>>, ProverError> {
        let is_apart = self.shape.is_made_apart(self.memory.look_ups.is_some(), is_gathered);
        Ok(if is_apart { Some(q.alloc(words.len())?) } else { None })
    }

    /// Where the trace of a component is made.
    pub(crate) fn trace_place<'a>(
        &'a mut self,
        room: &'a mut Option<Q::Buf<M31>>,
        words: Range<usize>,
    ) -> Result<Mut<'a, Q, M31>, BackendError> {
        match (room, &mut self.memory.look_ups) {
            (Some(room), _) => Ok(room.view_mut()),
            (None, Some(look_ups)) if self.shape.place.partitioned => look_ups.rows.slice_mut(words),
            (None, _) => self.memory.coefficients.slice_mut(words),
        }
    }

    /// Stores the trace of a component that was generated in a separate buffer.
    ///
    /// It keeps the coefficients if they are on the host. With several ranks it keeps the rows if
    /// look-ups read them, and otherwise the columns of this rank.
    pub(crate) fn keep_trace(
        &mut self,
        q: &Q,
        log_rows: u32,
        room: Option<Q::Buf<M31>>,
        words: Range<usize>,
    ) -> Result<(), ProverError> {
        let Some(mut made) = room else { return Ok(()) };
        match (&mut self.host, &mut self.memory.look_ups) {
            (Some(host), _) => {
                interpolate(q, &self.twiddles, log_rows, made.view_mut())?;
                host.keep(made.view(), words.start)?;
            }
            (None, Some(look_ups)) => q.copy(made.view(), look_ups.rows.slice_mut(words)?)?,
            (None, None) => {
                let whole = Whole { tree: TRACE, words, columns: &made, first: 0 };
                self.memory.coefficients.keep_own(q, &self.shape, &whole)?;
            }
        }
        Ok(())
    }

    /// Stores the interaction columns of a component that were made in a separate buffer.
    ///
    /// It keeps the coefficients if they are on the host, and the columns of this rank if ranks
    /// have their own columns.
    pub(crate) fn keep_interaction(&mut self, q: &Q, log_rows: u32, words: Range<usize>) -> Result<(), ProverError> {
        let Some(look_ups) = &mut self.memory.look_ups else { return Ok(()) };
        if let Some(host) = &mut self.host {
            interpolate(q, &self.twiddles, log_rows, look_ups.rows.slice_mut(0..words.len())?)?;
            host.keep(look_ups.rows.slice(0..words.len())?, words.start)?;
        } else if self.shape.place.partitioned {
            let whole = Whole { tree: INTERACTION, words, columns: &look_ups.made, first: 0 };
            self.memory.coefficients.keep_own(q, &self.shape, &whole)?;
        }
        Ok(())
    }
}
