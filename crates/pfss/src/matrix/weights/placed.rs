//! Opened words in device memory, copied once for all products on a device.
//!
//! A device with separate memory reads the words of every product by the same weights, and they
//! never change. A processor reads them where the host has them.

use std::sync::Arc;

use backend_api::{BackendError, Budget, Buffer as _, Queue, ops::fss::FssOps};

use crate::secret::kept::{Kept, KeptCopies, lacks_memory};

/// A queue that can be kept with a buffer on its device, shared between threads.
pub trait SharedQueue: FssOps<Buf<u64>: Send + Sync> + Clone + Send + Sync + 'static {}

impl<Q: FssOps<Buf<u64>: Send + Sync> + Clone + Send + Sync + 'static> SharedQueue for Q {}

/// Opened words in device memory, overwritten with zeros before the memory is returned.
pub(super) struct PlacedWords<Q: Queue> {
    q: Q,
    pub(super) words: Q::Buf<u64>,
}

impl<Q: Queue> Drop for PlacedWords<Q> {
    fn drop(&mut self) {
        // A queue that can no longer clear a buffer has lost its memory.
        let _ = self.q.clear(self.words.view_mut());
    }
}

impl<Q: SharedQueue> Kept for PlacedWords<Q> {
    fn budget(&self) -> &Budget {
        self.q.budget()
    }

    fn bytes(&self) -> u64 {
        self.q.buffer_bytes(self.words.len(), size_of::<u64>())
    }
}

/// The copies of one matrix of opened words: at most one for each device.
#[derive(Default)]
pub(super) struct DeviceCopies(KeptCopies);

impl DeviceCopies {
    /// The copy of `words` on the device of `q`, made now if there is none.
    ///
    /// `None` if `q` reads the host's memory, or if more than half of the device's budget would
    /// then be taken: gates need the rest for their keys.
    pub(super) fn on<Q: SharedQueue>(&self, q: &Q, words: &[u64]) -> Result<Option<Arc<PlacedWords<Q>>>, BackendError> {
        if words.is_empty() || q.host_view(words).is_some() {
            return Ok(None);
        }
        let budget = q.budget();
        self.0.on_device(budget, || {
            let bytes = q.buffer_bytes(words.len(), size_of::<u64>());
            if budget.live_bytes().saturating_add(bytes) > budget.limit_bytes() / 2 {
                return Ok(None);
            }
            match q.upload_secret(words) {
                Ok(words) => Ok(Some(PlacedWords { q: q.clone(), words })),
                // Another queue was faster, or other programs have the memory.
                Err(error) if lacks_memory(&error) => Ok(None),
                Err(error) => Err(error),
            }
        })
    }
}
