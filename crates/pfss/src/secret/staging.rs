//! Secrets where ops read them: in place, or in device memory that is cleared when returned.

use backend_api::{BackendError, Buffer, Element, Mut, Queue, Ref};
use zeroize::{Zeroize, Zeroizing};

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

/// A secret that ops read: in the host's memory, or as a copy in device memory.
pub(crate) enum SecretInput<'a, Q: Queue + 'a, T: Element> {
    InPlace(Ref<'a, Q, T>),
    Staged(StagedSecret<'a, Q, T>),
}

impl<'a, Q: Queue + 'a, T: Element> SecretInput<'a, Q, T> {
    /// Reads `host` in place if `q` can, and else uploads it.
    pub(crate) fn of(q: &'a Q, host: &'a [T]) -> Result<Self, BackendError> {
        match q.host_view(host) {
            Some(view) => Ok(Self::InPlace(view)),
            None => StagedSecret::upload(q, host).map(Self::Staged),
        }
    }

    pub(crate) fn view(&self) -> Ref<'_, Q, T> {
        match self {
            Self::InPlace(view) => Q::Buf::<T>::shorten(*view),
            Self::Staged(staged) => staged.view(),
        }
    }
}

/// Runs `op`, which writes all of `host`, in place if `q` can.
///
/// Else `op` writes device memory, which is then copied to `host`.
pub(crate) fn write_secret_into<Q: Queue, T: Element + Zeroize>(
    q: &Q,
    host: &mut [T],
    op: impl FnOnce(Mut<'_, Q, T>) -> Result<(), BackendError>,
) -> Result<(), BackendError> {
    match q.host_view_mut(host) {
        Ok(view) => op(view),
        Err(host) => {
            let mut staged = StagedSecret::alloc(q, host.len())?;
            op(staged.view_mut())?;
            host.copy_from_slice(&Zeroizing::new(staged.download()?));
            Ok(())
        }
    }
}
