//! Secrets in device memory, cleared before the memory is returned.

use backend_api::{BackendError, Buffer, Element, Mut, Queue, Ref};

/// A secret's copy in device memory, overwritten with zeros before the memory is returned.
pub(crate) struct StagedSecret<'q, Q: Queue, T: Element> {
    q: &'q Q,
    buffer: Q::Buf<T>,
}

impl<'q, Q: Queue, T: Element> StagedSecret<'q, Q, T> {
    pub(crate) fn upload(q: &'q Q, host: &[T]) -> Result<Self, BackendError> {
        Ok(Self { q, buffer: q.upload_secret(host)? })
    }

    /// Room for something that an op writes in full.
    pub(crate) fn alloc(q: &'q Q, len: usize) -> Result<Self, BackendError> {
        Ok(Self { q, buffer: q.alloc(len)? })
    }

    pub(crate) fn view(&self) -> Ref<'_, Q, T> {
        self.buffer.view()
    }

    pub(crate) fn view_mut(&mut self) -> Mut<'_, Q, T> {
        self.buffer.view_mut()
    }

    pub(crate) fn download(&self) -> Result<Vec<T>, BackendError> {
        self.q.download_secret(&self.buffer)
    }
}

impl<Q: Queue, T: Element> Drop for StagedSecret<'_, Q, T> {
    fn drop(&mut self) {
        // A queue that can no longer clear a buffer has lost its memory, and its next op returns that error.
        let _ = self.q.clear(self.buffer.view_mut());
    }
}
