//! The queue: allocation, copies, and the wait for what was submitted.

use crate::{BackendError, Budget, Buffer, Caps, Element, PlainElement};

/// A shared view into a buffer of queue `Q`.
pub type Ref<'a, Q, T> = <<Q as Queue>::Buf<T> as Buffer<T>>::Ref<'a>;

/// An exclusive view into a buffer of queue `Q`.
pub type Mut<'a, Q, T> = <<Q as Queue>::Buf<T> as Buffer<T>>::Mut<'a>;

/// An in-order queue of work on one device.
///
/// Ops are methods on it ([`ops`](crate::ops)); there is no global device.
///
/// Work may run after the call returns; [`read`](Self::read), [`download`](Self::download) and
/// [`finish`](Self::finish) wait. Every buffer holds a reservation in [`budget`](Self::budget).
///
/// A backend may copy through internal host memory, which it keeps and reuses. Secrets are copied
/// with [`write_secret`](Self::write_secret), [`read_secret`](Self::read_secret) and their
/// siblings, which leave nothing there. The caller's own memory and device memory are the caller's
/// to wipe.
pub trait Queue: Sized {
    /// Device memory for `T`.
    type Buf<T: Element>: Buffer<T>;

    /// Properties and capabilities of the device.
    fn caps(&self) -> &Caps;

    /// The byte budget that every allocation of this queue draws on.
    fn budget(&self) -> &Budget;

    /// Budget bytes of a buffer of `len` elements of `element_bytes` each.
    ///
    /// `u64::MAX` if they cannot be counted.
    fn buffer_bytes(&self, len: usize, element_bytes: usize) -> u64;

    /// Allocates `len` elements of unspecified content, for results that are written in full.
    ///
    /// # Errors
    /// [`BackendError::BudgetExceeded`], [`BackendError::OutOfMemory`] or
    /// [`BackendError::LengthOverflow`]; nothing is allocated then.
    fn alloc<T: Element>(&self, len: usize) -> Result<Self::Buf<T>, BackendError>;

    /// Fills a view with zero bytes, even if nothing reads them afterwards.
    ///
    /// This wipes secrets.
    ///
    /// # Errors
    /// [`BackendError::MixedBackend`] for a view of another device, and errors that the device
    /// reports.
    fn clear<T: Element>(&self, dst: Mut<'_, Self, T>) -> Result<(), BackendError>;

    /// Copies host elements into a view of equal length.
    ///
    /// # Errors
    /// [`BackendError::Length`] if the lengths differ; nothing is written then.
    fn write<T: Element>(&self, host: &[T], dst: Mut<'_, Self, T>) -> Result<(), BackendError>;

    /// Writes separate host slices to a view, one after the other.
    ///
    /// It takes the number of copies that [`write`](Self::write) of one slice takes.
    ///
    /// # Errors
    /// [`BackendError::Length`] if they are not as long together as the view; nothing is written
    /// then.
    fn write_parts<T: Element>(&self, parts: &[&[T]], dst: Mut<'_, Self, T>) -> Result<(), BackendError>;

    /// Waits, copies a view to the host and checks every bit pattern.
    ///
    /// # Errors
    /// [`BackendError::Corrupt`] if an element is not a valid value of `T`.
    fn read<T: Element>(&self, src: Ref<'_, Self, T>) -> Result<Vec<T>, BackendError>;

    /// Writes a secret, as [`write`](Self::write).
    ///
    /// When [`finish`](Self::finish) has returned, no host memory of the backend holds it.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    fn write_secret<T: Element>(&self, host: &[T], dst: Mut<'_, Self, T>) -> Result<(), BackendError>;

    /// Writes separate host slices with secrets to a view, one after the other.
    ///
    /// It takes the number of copies that [`write_secret`](Self::write_secret) of one slice takes.
    ///
    /// # Errors
    /// As [`write_parts`](Self::write_parts).
    fn write_secret_parts<T: Element>(&self, parts: &[&[T]], dst: Mut<'_, Self, T>) -> Result<(), BackendError>;

    /// Writes public lists to a view, and secret slices after them.
    ///
    /// It takes the number of copies that [`write_secret`](Self::write_secret) of one slice takes.
    /// The lists are terms of ops. A device with separate memory may note them. Until anything else
    /// is written to the buffer, an op that names the place of its list does not copy it again.
    ///
    /// # Errors
    /// As [`write_parts`](Self::write_parts).
    fn write_with_lists<T: Element>(
        &self,
        lists: &[&[T]],
        secret: &[&[T]],
        dst: Mut<'_, Self, T>,
    ) -> Result<(), BackendError> {
        self.write_secret_parts(&[lists, secret].concat(), dst)
    }

    /// [`read`](Self::read) of a secret: on return no host memory of the backend holds it.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    fn read_secret<T: Element>(&self, src: Ref<'_, Self, T>) -> Result<Vec<T>, BackendError>;

    /// Copies a view to another of equal length.
    ///
    /// # Errors
    /// [`BackendError::Length`] if the lengths differ; nothing is written then.
    fn copy<T: Element>(&self, src: Ref<'_, Self, T>, dst: Mut<'_, Self, T>) -> Result<(), BackendError>;

    /// The view with a shorter lifetime: see [`Buffer::shorten`].
    fn shorten<'s, 'l: 's, T: Element>(&self, view: Ref<'l, Self, T>) -> Ref<'s, Self, T>
    where
        Self::Buf<T>: 'l,
    {
        Self::Buf::<T>::shorten(view)
    }

    /// The exclusive view with a shorter lifetime: see [`Buffer::shorten_mut`].
    fn shorten_mut<'s, 'l: 's, T: Element>(&self, view: Mut<'l, Self, T>) -> Mut<'s, Self, T>
    where
        Self::Buf<T>: 'l,
    {
        Self::Buf::<T>::shorten_mut(view)
    }

    /// The bytes of a view as words, without a copy.
    ///
    /// Elements of several types can thus be read as one buffer, and converted back by
    /// [`from_words`](crate::from_words). Types that are not made of words do not compile.
    fn words<'a, T: Element>(&self, view: Ref<'a, Self, T>) -> Ref<'a, Self, u32>
    where
        Self::Buf<T>: 'a,
        Self::Buf<u32>: 'a;

    /// The elements that lie in a view of words, without a copy.
    ///
    /// This is the inverse of [`words`](Self::words). A buffer with elements of several types is
    /// written in one copy, as words, and its parts are read as elements.
    ///
    /// # Errors
    /// [`BackendError::Unsupported`] for words that are no whole number of elements, or that start
    /// inside an element, counted from the start of the buffer.
    fn elements<'a, T: PlainElement>(&self, words: Ref<'a, Self, u32>) -> Result<Ref<'a, Self, T>, BackendError>
    where
        Self::Buf<T>: 'a,
        Self::Buf<u32>: 'a;

    /// The host's own memory as a view that ops read in place.
    ///
    /// `None` on a device with separate memory: elements must be copied there.
    fn host_view<'a, T: Element>(&self, _host: &'a [T]) -> Option<Ref<'a, Self, T>>
    where
        Self::Buf<T>: 'a,
    {
        None
    }

    /// The host's own memory as an exclusive view that ops write in place.
    ///
    /// # Errors
    /// The slice itself, where [`host_view`](Self::host_view) gives no view.
    fn host_view_mut<'a, T: Element>(&self, host: &'a mut [T]) -> Result<Mut<'a, Self, T>, &'a mut [T]>
    where
        Self::Buf<T>: 'a,
    {
        Err(host)
    }

    /// Waits for all work on the queue and reports its faults.
    ///
    /// # Errors
    /// Whatever a pending op failed with.
    fn finish(&self) -> Result<(), BackendError>;

    /// Allocates `len` elements of all-zero bytes.
    ///
    /// # Errors
    /// As [`alloc`](Self::alloc).
    fn zeros<T: Element>(&self, len: usize) -> Result<Self::Buf<T>, BackendError> {
        let mut buf = self.alloc(len)?;
        self.clear(buf.view_mut())?;
        Ok(buf)
    }

    /// Allocates a buffer holding a copy of `host`.
    ///
    /// # Errors
    /// As [`alloc`](Self::alloc).
    fn upload<T: Element>(&self, host: &[T]) -> Result<Self::Buf<T>, BackendError> {
        let mut buf = self.alloc(host.len())?;
        self.write(host, buf.view_mut())?;
        Ok(buf)
    }

    /// Waits and copies a whole buffer to the host.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    fn download<T: Element>(&self, buf: &Self::Buf<T>) -> Result<Vec<T>, BackendError> {
        self.read(buf.view())
    }

    /// [`upload`](Self::upload) of a secret, copied as by [`write_secret`](Self::write_secret).
    ///
    /// # Errors
    /// As [`alloc`](Self::alloc).
    fn upload_secret<T: Element>(&self, host: &[T]) -> Result<Self::Buf<T>, BackendError> {
        let mut buf = self.alloc(host.len())?;
        self.write_secret(host, buf.view_mut())?;
        Ok(buf)
    }

    /// [`download`](Self::download) of a secret, copied as by [`read_secret`](Self::read_secret).
    ///
    /// # Errors
    /// As [`read`](Self::read).
    fn download_secret<T: Element>(&self, buf: &Self::Buf<T>) -> Result<Vec<T>, BackendError> {
        self.read_secret(buf.view())
    }
}
