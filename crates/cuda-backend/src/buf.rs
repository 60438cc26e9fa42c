//! Buffers in device memory and the views into them, each a range of elements of a block.

use core::{fmt, marker::PhantomData, ops::Range};
use std::sync::Arc;

use backend_api::{BackendError, Buffer, BufferMut, BufferRef, Element, PlainElement, not_elements, words_of};

use crate::mem::{BlockRegion, DeviceBlock};

/// Device memory for a fixed number of elements.
pub struct CudaBuf<T> {
    block: Option<Arc<DeviceBlock>>,
    len: usize,
    element: PhantomData<T>,
}

/// A shared view into a [`CudaBuf`].
pub struct CudaRef<'a, T> {
    span: ElementSpan<'a>,
    element: PhantomData<&'a [T]>,
}

/// An exclusive view into a [`CudaBuf`].
pub struct CudaMut<'a, T> {
    span: ElementSpan<'a>,
    element: PhantomData<&'a mut [T]>,
}

/// Elements `start .. start + len` of a block; there is no block if there is nothing to hold.
#[derive(Clone, Copy)]
struct ElementSpan<'a> {
    block: Option<&'a Arc<DeviceBlock>>,
    start: usize,
    len: usize,
}

impl<'a> ElementSpan<'a> {
    fn slice(self, range: Range<usize>) -> Result<Self, BackendError> {
        let Range { start, end } = range;
        if start > end || end > self.len {
            return Err(BackendError::OutOfRange { start, end, len: self.len });
        }
        Ok(Self { block: self.block, start: self.start + start, len: end - start })
    }

    fn region(self, element_bytes: usize) -> Option<BlockRegion<'a>> {
        let bytes = |elements: usize| (elements * element_bytes) as u64; // within a block, whose bytes were counted
        self.block.filter(|_| self.len > 0).map(|block| BlockRegion::new(block, bytes(self.start), bytes(self.len)))
    }
}

impl<T> CudaBuf<T> {
    /// A buffer in `block`, which holds `len` elements; none is needed for no bytes.
    pub(crate) fn new(block: Option<Arc<DeviceBlock>>, len: usize) -> Self {
        Self { block, len, element: PhantomData }
    }

    fn span(&self) -> ElementSpan<'_> {
        ElementSpan { block: self.block.as_ref(), start: 0, len: self.len }
    }
}

impl<'a, T> CudaRef<'a, T> {
    /// The bytes, if there are any.
    pub(crate) fn region(&self) -> Option<BlockRegion<'a>> {
        self.span.region(size_of::<T>())
    }
}

impl<'a, T: Element> CudaRef<'a, T> {
    /// The same bytes as words.
    #[must_use]
    pub fn words(self) -> CudaRef<'a, u32> {
        let ElementSpan { block, start, len } = self.span;
        let words = words_of::<T>();
        CudaRef { span: ElementSpan { block, start: start * words, len: len * words }, element: PhantomData }
    }
}

impl<'a> CudaRef<'a, u32> {
    /// The same bytes as elements.
    ///
    /// # Errors
    /// [`BackendError::Unsupported`] unless the view starts and ends at a multiple of an element's
    /// size in its buffer. Blocks are aligned for every element.
    pub fn elements<T: PlainElement>(self) -> Result<CudaRef<'a, T>, BackendError> {
        let (ElementSpan { block, start, len }, words) = (self.span, words_of::<T>());
        if !start.is_multiple_of(words) || !len.is_multiple_of(words) {
            return Err(not_elements());
        }
        Ok(CudaRef { span: ElementSpan { block, start: start / words, len: len / words }, element: PhantomData })
    }
}

impl<'a, T> CudaMut<'a, T> {
    /// The bytes, if there are any.
    pub(crate) fn region(&self) -> Option<BlockRegion<'a>> {
        self.span.region(size_of::<T>())
    }

    /// The same elements as a shared view, during which this view is not used.
    pub fn as_ref(&self) -> CudaRef<'_, T> {
        CudaRef { span: self.span, element: PhantomData }
    }
}

impl<T> Clone for CudaRef<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for CudaRef<'_, T> {}

impl<T: Element> Buffer<T> for CudaBuf<T> {
    type Ref<'a>
        = CudaRef<'a, T>
    where
        Self: 'a;
    type Mut<'a>
        = CudaMut<'a, T>
    where
        Self: 'a;

    fn len(&self) -> usize {
        self.len
    }

    fn view(&self) -> CudaRef<'_, T> {
        CudaRef { span: self.span(), element: PhantomData }
    }

    fn view_mut(&mut self) -> CudaMut<'_, T> {
        CudaMut { span: self.span(), element: PhantomData }
    }

    fn shorten<'s, 'l: 's>(view: CudaRef<'l, T>) -> CudaRef<'s, T>
    where
        Self: 'l,
    {
        view
    }

    fn shorten_mut<'s, 'l: 's>(view: CudaMut<'l, T>) -> CudaMut<'s, T>
    where
        Self: 'l,
    {
        view
    }

    fn reborrow_mut<'s, 'l: 's>(view: &'s mut CudaMut<'l, T>) -> CudaMut<'s, T>
    where
        Self: 'l,
    {
        view.reborrow()
    }

    fn read_only<'a>(view: CudaMut<'a, T>) -> CudaRef<'a, T>
    where
        Self: 'a,
    {
        CudaRef { span: view.span, element: PhantomData }
    }
}

impl<'a, T: Element> BufferRef<'a, T> for CudaRef<'a, T> {
    fn len(&self) -> usize {
        self.span.len
    }

    fn slice(self, range: Range<usize>) -> Result<Self, BackendError> {
        Ok(Self { span: self.span.slice(range)?, element: PhantomData })
    }
}

impl<'a, T: Element> BufferMut<'a, T> for CudaMut<'a, T> {
    type Reborrow<'b>
        = CudaMut<'b, T>
    where
        Self: 'b;

    fn len(&self) -> usize {
        self.span.len
    }

    fn reborrow(&mut self) -> CudaMut<'_, T> {
        CudaMut { span: self.span, element: PhantomData }
    }

    fn slice(self, range: Range<usize>) -> Result<Self, BackendError> {
        Ok(Self { span: self.span.slice(range)?, element: PhantomData })
    }

    fn split_at(self, mid: usize) -> Result<(Self, Self), BackendError> {
        let end = self.span.len;
        let half = |span| Self { span, element: PhantomData };
        Ok((half(self.span.slice(0..mid)?), half(self.span.slice(mid..end)?)))
    }
}

impl<T> fmt::Debug for CudaBuf<T> {
    /// Length only: buffers may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CudaBuf").field("len", &self.len).finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for CudaRef<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CudaRef").field("len", &self.span.len).finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for CudaMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CudaMut").field("len", &self.span.len).finish_non_exhaustive()
    }
}
