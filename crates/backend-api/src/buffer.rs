//! Device memory and its views: owned, shared, exclusive.

use core::ops::Range;

use crate::{BackendError, Element};

/// Owned device memory holding `len` elements. Dropping it returns its bytes to the budget.
pub trait Buffer<T: Element> {
    /// A shared view of consecutive elements.
    type Ref<'a>: BufferRef<'a, T>
    where
        Self: 'a;
    /// An exclusive view of consecutive elements.
    type Mut<'a>: BufferMut<'a, T>
    where
        Self: 'a;

    /// Number of elements.
    fn len(&self) -> usize;

    /// Whether the buffer holds no element.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A view of all elements.
    fn view(&self) -> Self::Ref<'_>;

    /// An exclusive view of all elements.
    fn view_mut(&mut self) -> Self::Mut<'_>;

    /// The view with a shorter lifetime.
    ///
    /// In code generic over the queue, views do not shorten by themselves, and all views of one op
    /// share a lifetime.
    fn shorten<'s, 'l: 's>(view: Self::Ref<'l>) -> Self::Ref<'s>
    where
        Self: 'l;

    /// The exclusive view with a shorter lifetime; it is gone when that ends.
    fn shorten_mut<'s, 'l: 's>(view: Self::Mut<'l>) -> Self::Mut<'s>
    where
        Self: 'l;

    /// Lends the exclusive view to an op that consumes it.
    ///
    /// In code generic over the queue, [`BufferMut::reborrow`] has a type that ops do not take.
    fn reborrow_mut<'s, 'l: 's>(view: &'s mut Self::Mut<'l>) -> Self::Mut<'s>
    where
        Self: 'l;

    /// The exclusive view as a shared one.
    ///
    /// So an op can read one part of a buffer and write another.
    fn read_only<'a>(view: Self::Mut<'a>) -> Self::Ref<'a>
    where
        Self: 'a;

    /// A view of the elements `range`.
    ///
    /// # Errors
    /// [`BackendError::OutOfRange`] if the range is decreasing or ends past the buffer.
    fn slice(&self, range: Range<usize>) -> Result<Self::Ref<'_>, BackendError> {
        self.view().slice(range)
    }

    /// An exclusive view of the elements `range`.
    ///
    /// # Errors
    /// [`BackendError::OutOfRange`] if the range is decreasing or ends past the buffer.
    fn slice_mut(&mut self, range: Range<usize>) -> Result<Self::Mut<'_>, BackendError> {
        self.view_mut().slice(range)
    }
}

/// A shared view into a [`Buffer`].
pub trait BufferRef<'a, T: Element>: Copy {
    /// Number of elements.
    fn len(&self) -> usize;

    /// Whether the view holds no element.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The sub-view `range`.
    ///
    /// # Errors
    /// [`BackendError::OutOfRange`] if the range is decreasing or ends past the view.
    fn slice(self, range: Range<usize>) -> Result<Self, BackendError>;

    /// The views `0..mid` and `mid..len`.
    ///
    /// # Errors
    /// [`BackendError::OutOfRange`] if `mid` is past the end.
    fn split_at(self, mid: usize) -> Result<(Self, Self), BackendError> {
        Ok((self.slice(0..mid)?, self.slice(mid..self.len())?))
    }
}

/// An exclusive view into a [`Buffer`].
pub trait BufferMut<'a, T: Element>: Sized {
    /// The same elements, borrowed for a shorter time.
    type Reborrow<'b>: BufferMut<'b, T>
    where
        Self: 'b;

    /// Number of elements.
    fn len(&self) -> usize;

    /// Whether the view holds no element.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Lends the view to a callee that consumes it.
    fn reborrow(&mut self) -> Self::Reborrow<'_>;

    /// The sub-view `range`.
    ///
    /// # Errors
    /// [`BackendError::OutOfRange`] if the range is decreasing or ends past the view.
    fn slice(self, range: Range<usize>) -> Result<Self, BackendError>;

    /// The disjoint views `0..mid` and `mid..len`.
    ///
    /// # Errors
    /// [`BackendError::OutOfRange`] if `mid` is past the end.
    fn split_at(self, mid: usize) -> Result<(Self, Self), BackendError>;
}

fn check(range: &Range<usize>, len: usize) -> Result<(), BackendError> {
    if range.start > range.end || range.end > len {
        return Err(BackendError::OutOfRange { start: range.start, end: range.end, len });
    }
    Ok(())
}

impl<'a, T: Element> BufferRef<'a, T> for &'a [T] {
    fn len(&self) -> usize {
        <[T]>::len(self)
    }

    fn slice(self, range: Range<usize>) -> Result<Self, BackendError> {
        check(&range, <[T]>::len(self))?;
        Ok(&self[range])
    }
}

impl<'a, T: Element> BufferMut<'a, T> for &'a mut [T] {
    type Reborrow<'b>
        = &'b mut [T]
    where
        Self: 'b;

    fn len(&self) -> usize {
        <[T]>::len(self)
    }

    fn reborrow(&mut self) -> &mut [T] {
        self
    }

    fn slice(self, range: Range<usize>) -> Result<Self, BackendError> {
        check(&range, <[T]>::len(self))?;
        Ok(&mut self[range])
    }

    fn split_at(self, mid: usize) -> Result<(Self, Self), BackendError> {
        check(&(0..mid), <[T]>::len(self))?;
        Ok(self.split_at_mut(mid))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_outside_the_buffer_are_refused_with_the_numbers() {
        let data = [1u32, 2, 3];
        let view: &[u32] = &data;
        assert_eq!(BufferRef::slice(view, 1..3), Ok(&[2, 3][..]));
        assert_eq!(BufferRef::slice(view, 2..4), Err(BackendError::OutOfRange { start: 2, end: 4, len: 3 }));
        let decreasing = Range { start: 2, end: 1 };
        assert_eq!(BufferRef::slice(view, decreasing), Err(BackendError::OutOfRange { start: 2, end: 1, len: 3 }));
        assert_eq!(BufferRef::split_at(view, 4), Err(BackendError::OutOfRange { start: 0, end: 4, len: 3 }));
    }

    #[test]
    fn exclusive_views_split_into_disjoint_halves() {
        let mut data = [1u32, 2, 3];
        let (left, right) = BufferMut::split_at(&mut data[..], 1).unwrap();
        left[0] = 7;
        right[1] = 9;
        assert_eq!(data, [7, 2, 9]);
    }
}
