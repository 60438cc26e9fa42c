//! A buffer between guard words, or without any.

use core::fmt;

use backend_api::{BackendError, Buffer, Element, Queue};
use runtime::{AnyBuf, AnyMut, AnyRef};

use super::Conditioned;

/// Guard elements on either side of a buffer.
///
/// Odd, so that a buffer is aligned for its elements and for nothing wider, as a view that starts
/// at any element is.
pub(super) const GUARD: usize = 33;

/// Bytes that guards may be filled with.
///
/// The first that form a valid element are used, so that the guard can be read back.
const FILLS: [u8; 2] = [0x5a, 0x01];

/// A buffer of a [`Conditioned`] queue.
pub struct ConditionedBuf<T: Element> {
    pub(super) buf: AnyBuf<T>,
    pub(super) len: usize,
    /// Guard elements on either side.
    pub(super) guard: usize,
    pub(super) owner: Conditioned,
}

impl<T: Element> ConditionedBuf<T> {
    /// Describes the first guard element that was overwritten, if any.
    fn damage(&self) -> Result<Option<String>, BackendError> {
        let queue = &self.owner.queue;
        for (side, start) in [("before", 0), ("after", self.guard + self.len)] {
            let words = queue.read(self.buf.slice(start..start + self.guard)?)?;
            let (whole, words) = (guard::<T>(), bytemuck::cast_slice(&words));
            if let Some((at, difference)) = first_difference(bytemuck::bytes_of(&whole), words) {
                let (len, name) = (self.len, core::any::type_name::<T>());
                return Ok(Some(format!("guard element {at} {side} {len} x {name}: {difference}")));
            }
        }
        Ok(None)
    }
}

impl<T: Element> Drop for ConditionedBuf<T> {
    fn drop(&mut self) {
        if self.guard == 0 {
            return;
        }
        self.owner.note_damage(self.damage());
    }
}

impl Conditioned {
    fn note_damage(&self, found: Result<Option<String>, BackendError>) {
        let found = found.unwrap_or_else(|error| Some(format!("guards cannot be read: {error}")));
        found.into_iter().for_each(|fault| self.note_fault(fault));
    }
}

/// The place of the first element that is not `whole`, and how it differs, by bytes.
fn first_difference(whole: &[u8], elements: &[u8]) -> Option<(usize, String)> {
    let (at, got) = elements.chunks(whole.len()).enumerate().find(|&(_, got)| got != whole)?;
    Some((at, format!("expected {whole:x?}, got {got:x?}")))
}

impl<T: Element> fmt::Debug for ConditionedBuf<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConditionedBuf").field("len", &self.len).finish_non_exhaustive()
    }
}

/// One guard element.
pub(super) fn guard<T: Element>() -> T {
    let of = |fill| bytemuck::checked::try_pod_read_unaligned(&vec![fill; size_of::<T>()]).ok();
    FILLS.into_iter().find_map(of).unwrap_or_else(T::zeroed)
}

impl<T: Element> Buffer<T> for ConditionedBuf<T> {
    type Ref<'a>
        = AnyRef<'a, T>
    where
        Self: 'a;
    type Mut<'a>
        = AnyMut<'a, T>
    where
        Self: 'a;

    fn len(&self) -> usize {
        self.len
    }

    fn view(&self) -> AnyRef<'_, T> {
        self.buf.slice(self.guard..self.guard + self.len).expect("the buffer holds its guards")
    }

    fn view_mut(&mut self) -> AnyMut<'_, T> {
        self.buf.slice_mut(self.guard..self.guard + self.len).expect("the buffer holds its guards")
    }

    fn shorten<'s, 'l: 's>(view: AnyRef<'l, T>) -> AnyRef<'s, T>
    where
        Self: 'l,
    {
        AnyBuf::<T>::shorten(view)
    }

    fn shorten_mut<'s, 'l: 's>(view: AnyMut<'l, T>) -> AnyMut<'s, T>
    where
        Self: 'l,
    {
        AnyBuf::<T>::shorten_mut(view)
    }

    fn reborrow_mut<'s, 'l: 's>(view: &'s mut AnyMut<'l, T>) -> AnyMut<'s, T>
    where
        Self: 'l,
    {
        AnyBuf::<T>::reborrow_mut(view)
    }

    fn read_only<'a>(view: AnyMut<'a, T>) -> AnyRef<'a, T>
    where
        Self: 'a,
    {
        AnyBuf::<T>::read_only(view)
    }
}
