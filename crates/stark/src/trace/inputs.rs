//! The source data of a component's trace, on the device.

use core::ops::Range;

use backend_api::{BackendError, Buffer as _, Mut, Queue, Ref};
use core_types::field::M31;

use crate::Generated;

/// The source data of a component's trace, on the device.
///
/// Its inputs or tables come one after the other, then the row numbers if its generator reads them.
pub(crate) struct TraceInputs<Q: Queue> {
    words: Q::Buf<M31>,
    /// Where each input or table is.
    parts: Vec<Range<usize>>,
}

impl<Q: Queue> TraceInputs<Q> {
    /// Allocates room for the source data of a component.
    pub(crate) fn new(q: &Q, generated: &Generated<'_>) -> Result<Self, BackendError> {
        let mut end = 0;
        let parts = parts(generated).iter().map(|part| {
            let first = end;
            end += part.len();
            first..end
        });
        let parts: Vec<_> = parts.collect();
        let numbers = match generated {
            Generated::Rows { generator, .. } if generator.reads_numbers() => 1 << generator.log_rows(),
            _ => 0,
        };
        Ok(Self { words: q.alloc(end + numbers)?, parts })
    }

    /// Uploads the source data of a component; the sizes have to match the allocation.
    pub(crate) fn write(&mut self, q: &Q, generated: &Generated<'_>) -> Result<(), BackendError> {
        let end = self.end();
        q.write_parts(parts(generated), self.words.slice_mut(0..end)?)
    }

    /// Where the numbers of the rows are.
    pub(crate) fn numbers(&mut self) -> Result<Mut<'_, Q, M31>, BackendError> {
        let (first, end) = (self.end(), self.words.len());
        self.words.slice_mut(first..end)
    }

    /// All inputs, with the numbers of the rows.
    pub(crate) fn all(&self) -> Ref<'_, Q, M31> {
        self.words.view()
    }

    /// A table.
    pub(crate) fn table(&self, table: usize) -> Result<Ref<'_, Q, M31>, BackendError> {
        self.words.slice(self.parts[table].clone())
    }

    fn end(&self) -> usize {
        self.parts.last().map_or(0, |part| part.end)
    }
}

/// The uploaded slices.
const fn parts<'a>(generated: &Generated<'a>) -> &'a [&'a [M31]] {
    match *generated {
        Generated::Rows { inputs, .. } => inputs,
        Generated::Gathered { tables, .. } => tables,
        Generated::Counters => &[],
    }
}
