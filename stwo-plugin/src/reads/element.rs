//! Elements on the host.

use std::sync::PoisonError;

use backend_api::{Buffer as _, BufferRef as _, Queue};

use super::{
    ahead::{ReadAhead, read_ahead},
    counts::ReadCounts,
};
use crate::{
    device::{done, queue, reads_wait},
    memory::{
        arena::{DeviceArena, Slice},
        known::KnownElements,
    },
};

/// The most elements that are copied to the host as a whole when one of them is read.
const WHOLE: usize = 1 << 10;

impl<D: ReadAhead> DeviceArena<D> {
    /// One element.
    fn at(&self, index: usize) -> D {
        let one = |index| done(queue().read(done(self.buf.slice(index..index + 1))))[0];
        if !reads_wait() {
            return one(index);
        }
        let known = &mut *self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = self.whole(known).map(|whole| whole[index]).or_else(|| known.values.get(&index).copied()) {
            return value;
        }
        read_ahead(self, index, known);
        *known.values.entry(index).or_insert_with(|| {
            ReadCounts::count_single();
            one(index)
        })
    }

    /// All elements, if there are few of them.
    fn whole<'k>(&self, known: &'k mut KnownElements<D>) -> Option<&'k Vec<D>> {
        if self.len() > WHOLE {
            return None;
        }
        Some(known.whole.get_or_insert_with(|| {
            ReadCounts::count_ahead();
            done(queue().read(self.view()))
        }))
    }
}

impl<D: ReadAhead> Slice<D> {
    /// One element.
    pub(crate) fn at(&self, index: usize) -> D {
        assert!(index < self.len, "index {index} of a column of {}", self.len);
        self.arena.at(self.start + index * self.stride)
    }

    /// All elements.
    pub(crate) fn to_host(&self) -> Vec<D> {
        let range = self.start..self.start + self.len.saturating_sub(1) * self.stride + usize::from(self.len > 0);
        if reads_wait() {
            let known = &mut *self.arena.known.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(whole) = self.arena.whole(known) {
                return whole[range].iter().copied().step_by(self.stride).collect();
            }
        }
        let values = done(queue().read(done(self.arena.view().slice(range))));
        if self.stride == 1 { values } else { values.into_iter().step_by(self.stride).collect() }
    }
}
