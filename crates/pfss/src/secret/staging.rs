//! Secrets where ops read them: in place, or in device memory that is cleared when returned.

use core::ops::Range;

use backend_api::{BackendError, Buffer, BufferMut as _, BufferRef as _, Element, Mut, Queue, Ref};
use zeroize::{Zeroize, Zeroizing};

use super::kept;

/// Elements to be read, and those after them to be written.
type ReadAndWritten<'a, Q, T> = (Ref<'a, Q, T>, Mut<'a, Q, T>);

/// A secret's copy in device memory, overwritten with zeros before the memory is returned.
///
/// Public elements may lie before it in the same buffer; they are not overwritten.
pub(crate) struct StagedSecret<'q, Q: Queue, T: Element> {
    q: &'q Q,
    buffer: Q::Buf<T>,
    /// Number of public elements.
    public: usize,
}

impl<'q, Q: Queue, T: Element> StagedSecret<'q, Q, T> {
    pub(crate) fn upload(q: &'q Q, host: &[T]) -> Result<Self, BackendError> {
        Self::upload_parts(q, &[], &[host])
    }

    /// Copies public slices and then secret ones to one buffer, in one copy.
    pub(crate) fn upload_parts(q: &'q Q, public: &[&[T]], secret: &[&[T]]) -> Result<Self, BackendError> {
        Self::upload_with_room(q, public, secret, 0)
    }

    /// [`upload_parts`](Self::upload_parts), followed by `room` elements of unspecified content.
    pub(crate) fn upload_with_room(
        q: &'q Q,
        public: &[&[T]],
        secret: &[&[T]],
        room: usize,
    ) -> Result<Self, BackendError> {
        Self::upload_with_lists(q, &[], [public, secret], room)
    }

    /// Like [`upload_with_room`](Self::upload_with_room), with public lists before the slices.
    pub(crate) fn upload_with_lists(
        q: &'q Q,
        lists: &[&[T]],
        parts: [&[&[T]]; 2],
        room: usize,
    ) -> Result<Self, BackendError> {
        let [public, secret] = parts;
        let [lists_len, before, after] =
            [lists, public, secret].map(|parts| parts.iter().map(|part| part.len()).sum::<usize>());
        let (public, end) = (lists_len + before, lists_len + before + after);
        let mut staged = Self::alloc(q, end + room)?;
        staged.public = public;
        q.write_with_lists(lists, &parts.concat(), staged.buffer.slice_mut(0..end)?)?;
        Ok(staged)
    }

    /// Room for something that an op writes in full.
    pub(crate) fn alloc(q: &'q Q, len: usize) -> Result<Self, BackendError> {
        Ok(Self { q, buffer: kept::alloc(q, len)?, public: 0 })
    }

    /// Zeros, which are public until something else is written there.
    pub(crate) fn zeros(q: &'q Q, len: usize) -> Result<Self, BackendError> {
        let mut zeros = Self::alloc(q, len)?;
        zeros.public = len;
        q.clear(zeros.view_mut())?;
        Ok(zeros)
    }

    /// States that all elements are public from here on, or that all are secret.
    pub(crate) fn set_public(&mut self, is_public: bool) {
        self.public = if is_public { self.buffer.len() } else { 0 };
    }

    pub(crate) fn view(&self) -> Ref<'_, Q, T> {
        self.buffer.view()
    }

    pub(crate) fn slice(&self, range: Range<usize>) -> Result<Ref<'_, Q, T>, BackendError> {
        self.buffer.slice(range)
    }

    pub(crate) fn view_mut(&mut self) -> Mut<'_, Q, T> {
        self.buffer.view_mut()
    }

    pub(crate) fn slice_mut(&mut self, range: Range<usize>) -> Result<Mut<'_, Q, T>, BackendError> {
        self.buffer.slice_mut(range)
    }

    /// The elements before `mid` to be read, and those from it on to be written.
    pub(crate) fn split_at(&mut self, mid: usize) -> Result<ReadAndWritten<'_, Q, T>, BackendError> {
        let (before, after) = self.buffer.view_mut().split_at(mid)?;
        Ok((Q::Buf::<T>::read_only(before), after))
    }

    pub(crate) fn download(&self) -> Result<Vec<T>, BackendError> {
        self.q.download_secret(&self.buffer)
    }
}

impl<Q: Queue, T: Element> Drop for StagedSecret<'_, Q, T> {
    fn drop(&mut self) {
        let secret = self.public..self.buffer.len();
        if secret.is_empty() {
            return;
        }
        if let Ok(secret) = self.buffer.slice_mut(secret) {
            // A queue that can no longer clear a buffer has lost its memory, and its next op returns that error.
            let _ = self.q.clear(secret);
        }
    }
}

/// Copies elements of a secret, on the device that they are on.
pub(crate) fn copy_on<'q, Q: Queue, T: Element>(
    q: &'q Q,
    secret: Ref<'_, Q, T>,
) -> Result<StagedSecret<'q, Q, T>, BackendError> {
    let mut copy = StagedSecret::alloc(q, secret.len())?;
    q.copy(secret, copy.view_mut())?;
    Ok(copy)
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
