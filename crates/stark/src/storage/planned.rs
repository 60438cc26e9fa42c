//! A queue without a device: it counts buffers, so that what allocates memory also plans it.

use core::{cell::RefCell, marker::PhantomData, ops::Range};

use backend_api::{
    BackendError, BackendKind, Budget, Buffer, BufferMut, BufferRef, Caps, Element, PlainElement, Queue,
};

/// A queue that only counts buffer allocations.
///
/// Their contents do not matter, so nothing is copied.
pub(crate) struct CountingQueue {
    caps: Caps,
    budget: Budget,
    /// Elements of each buffer, and the bytes of one.
    buffers: RefCell<Vec<(usize, usize)>>,
}

/// A buffer or view of a number of elements without storage.
pub(crate) struct Nowhere<T>(usize, PhantomData<T>);

impl CountingQueue {
    pub(crate) fn new() -> Self {
        let caps = Caps { kind: BackendKind::Cpu, device: String::new(), path: String::new(), threads: 1 };
        Self { caps, budget: Budget::unlimited(), buffers: RefCell::default() }
    }

    /// Elements of each buffer, and the bytes of one.
    pub(crate) fn into_buffers(self) -> Vec<(usize, usize)> {
        self.buffers.into_inner()
    }
}

impl Queue for CountingQueue {
    type Buf<T: Element> = Nowhere<T>;

    fn caps(&self) -> &Caps {
        &self.caps
    }

    fn budget(&self) -> &Budget {
        &self.budget
    }

    fn buffer_bytes(&self, len: usize, element_bytes: usize) -> u64 {
        (len as u64).saturating_mul(element_bytes as u64)
    }

    fn alloc<T: Element>(&self, len: usize) -> Result<Nowhere<T>, BackendError> {
        self.buffers.borrow_mut().push((len, size_of::<T>()));
        Ok(Nowhere(len, PhantomData))
    }

    fn clear<T: Element>(&self, _: Nowhere<T>) -> Result<(), BackendError> {
        Ok(())
    }

    fn write<T: Element>(&self, _: &[T], _: Nowhere<T>) -> Result<(), BackendError> {
        Ok(())
    }

    fn write_parts<T: Element>(&self, _: &[&[T]], _: Nowhere<T>) -> Result<(), BackendError> {
        Ok(())
    }

    fn read<T: Element>(&self, src: Nowhere<T>) -> Result<Vec<T>, BackendError> {
        Ok(vec![T::zeroed(); src.0])
    }

    fn write_secret<T: Element>(&self, _: &[T], _: Nowhere<T>) -> Result<(), BackendError> {
        Ok(())
    }

    fn write_secret_parts<T: Element>(&self, _: &[&[T]], _: Nowhere<T>) -> Result<(), BackendError> {
        Ok(())
    }

    fn read_secret<T: Element>(&self, src: Nowhere<T>) -> Result<Vec<T>, BackendError> {
        self.read(src)
    }

    fn copy<T: Element>(&self, _: Nowhere<T>, _: Nowhere<T>) -> Result<(), BackendError> {
        Ok(())
    }

    fn words<'a, T: Element>(&self, view: Nowhere<T>) -> Nowhere<u32>
    where
        Nowhere<T>: 'a,
    {
        Nowhere(view.0 * size_of::<T>() / size_of::<u32>(), PhantomData)
    }

    fn elements<'a, T: PlainElement>(&self, words: Nowhere<u32>) -> Result<Nowhere<T>, BackendError>
    where
        Nowhere<T>: 'a,
    {
        Ok(Nowhere(words.0 * size_of::<u32>() / size_of::<T>(), PhantomData))
    }

    fn finish(&self) -> Result<(), BackendError> {
        Ok(())
    }
}

impl<T: Element> Nowhere<T> {
    fn part(&self, range: Range<usize>) -> Result<Self, BackendError> {
        let Range { start, end } = range;
        if start > end || end > self.0 {
            return Err(BackendError::OutOfRange { start, end, len: self.0 });
        }
        Ok(Self(end - start, PhantomData))
    }
}

impl<T> Clone for Nowhere<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Nowhere<T> {}

impl<T: Element> Buffer<T> for Nowhere<T> {
    type Ref<'a>
        = Self
    where
        Self: 'a;
    type Mut<'a>
        = Self
    where
        Self: 'a;

    fn len(&self) -> usize {
        self.0
    }

    fn view(&self) -> Self {
        *self
    }

    fn view_mut(&mut self) -> Self {
        *self
    }

    fn shorten<'s, 'l: 's>(view: Self) -> Self
    where
        Self: 'l,
    {
        view
    }

    fn shorten_mut<'s, 'l: 's>(view: Self) -> Self
    where
        Self: 'l,
    {
        view
    }

    fn reborrow_mut<'s, 'l: 's>(view: &'s mut Self) -> Self
    where
        Self: 'l,
    {
        *view
    }

    fn read_only<'a>(view: Self) -> Self
    where
        Self: 'a,
    {
        view
    }
}

impl<'a, T: Element> BufferRef<'a, T> for Nowhere<T> {
    fn len(&self) -> usize {
        self.0
    }

    fn slice(self, range: Range<usize>) -> Result<Self, BackendError> {
        self.part(range)
    }
}

impl<'a, T: Element> BufferMut<'a, T> for Nowhere<T> {
    type Reborrow<'b>
        = Self
    where
        Self: 'b;

    fn len(&self) -> usize {
        self.0
    }

    fn reborrow(&mut self) -> Self {
        *self
    }

    fn slice(self, range: Range<usize>) -> Result<Self, BackendError> {
        self.part(range)
    }

    fn split_at(self, mid: usize) -> Result<(Self, Self), BackendError> {
        Ok((self.part(0..mid)?, self.part(mid..self.0)?))
    }
}
