//! Buffers in host memory, aligned to cache lines and counted in the budget.

use core::fmt;
use std::sync::Arc;

use backend_api::{BackendError, Buffer, Element, Reservation};

use crate::blocks::FreedBlocks;

/// Every buffer starts on a cache line, so that vector loads from its start are aligned.
const ALIGN_BYTES: usize = 64;

/// Host memory for a fixed number of elements, starting on a 64-byte boundary.
///
/// Elements are typed from the start, so every bit pattern in it is valid by construction.
pub struct CpuBuf<T> {
    storage: Vec<T>,
    start: usize,
    len: usize,
    blocks: Arc<FreedBlocks>,
    /// [`FreedBlocks::give_back`] of the type, which only constructors know to be an element.
    give_back: fn(&FreedBlocks, Vec<T>),
    /// Until the memory is given back.
    reserved: Option<Reservation>,
}

/// Extra elements, so that some element begins on a line.
fn slack(element_bytes: usize) -> usize {
    ALIGN_BYTES.div_ceil(element_bytes.max(1))
}

/// Bytes of `len` elements and the slack; `None` if they exceed the address space.
pub(crate) fn padded_bytes(len: usize, element_bytes: usize) -> Option<usize> {
    let bytes = len.checked_add(slack(element_bytes))?.checked_mul(element_bytes)?;
    (bytes <= isize::MAX as usize).then_some(bytes)
}

impl<T: Element> CpuBuf<T> {
    /// A buffer of zeros, or else of what was last in its memory.
    pub(crate) fn new(len: usize, zeroed: bool, blocks: &Arc<FreedBlocks>) -> Result<Self, BackendError> {
        let overflow = BackendError::LengthOverflow { len, element_bytes: size_of::<T>() };
        padded_bytes(len, size_of::<T>()).ok_or(overflow)?;
        let slack = slack(size_of::<T>());
        let (mut storage, is_zeroed, reserved) = blocks.take::<T>(len + slack)?;
        if zeroed && !is_zeroed {
            storage.fill(T::zeroed());
        }
        let start = match storage.as_ptr().align_offset(ALIGN_BYTES) {
            offset if offset <= slack => offset,
            _ => 0, // element sizes that do not divide a line keep their natural alignment
        };
        Ok(Self {
            storage,
            start,
            len,
            blocks: Arc::clone(blocks),
            give_back: FreedBlocks::give_back,
            reserved: Some(reserved),
        })
    }
}

impl<T> Drop for CpuBuf<T> {
    fn drop(&mut self) {
        drop(self.reserved.take());
        (self.give_back)(&self.blocks, core::mem::take(&mut self.storage));
    }
}

impl<T: Element> Buffer<T> for CpuBuf<T> {
    type Ref<'a>
        = &'a [T]
    where
        Self: 'a;
    type Mut<'a>
        = &'a mut [T]
    where
        Self: 'a;

    fn len(&self) -> usize {
        self.len
    }

    fn view(&self) -> &[T] {
        &self.storage[self.start..self.start + self.len]
    }

    fn view_mut(&mut self) -> &mut [T] {
        &mut self.storage[self.start..self.start + self.len]
    }

    fn shorten<'s, 'l: 's>(view: &'l [T]) -> &'s [T]
    where
        Self: 'l,
    {
        view
    }

    fn shorten_mut<'s, 'l: 's>(view: &'l mut [T]) -> &'s mut [T]
    where
        Self: 'l,
    {
        view
    }

    fn reborrow_mut<'s, 'l: 's>(view: &'s mut &'l mut [T]) -> &'s mut [T]
    where
        Self: 'l,
    {
        view
    }

    fn read_only<'a>(view: &'a mut [T]) -> &'a [T]
    where
        Self: 'a,
    {
        view
    }
}

impl<T> fmt::Debug for CpuBuf<T> {
    /// Only the length: buffers may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CpuBuf").field("len", &self.len).finish_non_exhaustive()
    }
}
