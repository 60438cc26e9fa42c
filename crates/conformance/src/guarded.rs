//! A queue whose buffers lie between guard words.

use core::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use backend_api::{BackendError, Budget, Buffer, Caps, Element, Mut, Queue, Ref, Register};

use crate::{Case, Failure};

/// Guard elements on either side of a buffer. Odd, so that a buffer is aligned for its elements and for nothing wider, as a
/// view that starts at any element is.
const GUARD: usize = 33;

/// Bytes to fill guards with; the first that make a valid element are taken, so that the guard can be read back.
const FILLS: [u8; 2] = [0x5a, 0x01];

/// A queue that puts guard words before and after every buffer and looks at them when the buffer is dropped.
///
/// An op that writes outside its views shows in [`damage`](Self::damage), on any device and without a sanitizer.
#[derive(Clone, Debug)]
pub struct Guarded<Q> {
    queue: Q,
    damage: Arc<Mutex<Vec<String>>>,
}

impl<Q> Guarded<Q> {
    /// Guards what is allocated through the result, on `queue`.
    pub fn new(queue: Q) -> Self {
        Self { queue, damage: Arc::default() }
    }

    /// Takes what dropped buffers had to report, in the order of the drops.
    #[must_use]
    pub fn damage(&self) -> Vec<String> {
        core::mem::take(&mut *self.damage.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<Q: Queue + Clone> Guarded<Q> {
    /// Submits an op to the queue inside.
    pub(crate) fn submit(&self, op: impl FnOnce(&Q) -> Result<(), BackendError>) -> Result<(), BackendError> {
        op(&self.queue)
    }

    /// Holds `case` between guards.
    ///
    /// # Errors
    /// Why the case does not hold, or what it did to a guard.
    pub fn hold(&self, case: &Case<Self>) -> Result<(), Failure> {
        let held = case.hold(self);
        match self.damage().into_iter().next() {
            Some(damage) => held.and(Err(Failure::Broken(damage))),
            None => held,
        }
    }
}

/// A buffer between guard words.
pub struct GuardedBuf<Q: Queue, T: Element> {
    buf: Q::Buf<T>,
    len: usize,
    guarded: Guarded<Q>,
}

impl<Q: Queue, T: Element> GuardedBuf<Q, T> {
    /// What the guards hold beside their fill, if anything.
    fn damage(&self) -> Result<Option<String>, BackendError> {
        let queue = &self.guarded.queue;
        for (side, start) in [("before", 0), ("behind", GUARD + self.len)] {
            let words = queue.read(self.buf.slice(start..start + GUARD)?)?;
            let whole = bytemuck::bytes_of(&guard::<T>()).to_vec();
            if let Some(at) = words.iter().position(|word| bytemuck::bytes_of(word) != whole) {
                let (len, name) = (self.len, core::any::type_name::<T>());
                let got = bytemuck::bytes_of(&words[at]);
                return Ok(Some(format!(
                    "guard element {at} {side} {len} x {name}: expected {whole:x?}, got {got:x?}"
                )));
            }
        }
        Ok(None)
    }
}

impl<Q: Queue, T: Element> Drop for GuardedBuf<Q, T> {
    fn drop(&mut self) {
        let found = self.damage().unwrap_or_else(|error| Some(format!("guards cannot be read: {error}")));
        self.guarded.damage.lock().unwrap_or_else(PoisonError::into_inner).extend(found);
    }
}

impl<Q: Queue, T: Element> fmt::Debug for GuardedBuf<Q, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GuardedBuf").field("len", &self.len).finish_non_exhaustive()
    }
}

/// One guard element.
fn guard<T: Element>() -> T {
    let of = |fill| bytemuck::checked::try_pod_read_unaligned(&vec![fill; size_of::<T>()]).ok();
    FILLS.into_iter().find_map(of).unwrap_or_else(T::zeroed)
}

impl<Q: Queue + Clone, T: Element> Buffer<T> for GuardedBuf<Q, T> {
    type Ref<'a>
        = Ref<'a, Q, T>
    where
        Self: 'a;
    type Mut<'a>
        = Mut<'a, Q, T>
    where
        Self: 'a;

    fn len(&self) -> usize {
        self.len
    }

    fn view(&self) -> Ref<'_, Q, T> {
        self.buf.slice(GUARD..GUARD + self.len).expect("the buffer holds its guards")
    }

    fn view_mut(&mut self) -> Mut<'_, Q, T> {
        self.buf.slice_mut(GUARD..GUARD + self.len).expect("the buffer holds its guards")
    }

    fn shorten<'s, 'l: 's>(view: Ref<'l, Q, T>) -> Ref<'s, Q, T>
    where
        Self: 'l,
    {
        Q::Buf::<T>::shorten(view)
    }

    fn shorten_mut<'s, 'l: 's>(view: Mut<'l, Q, T>) -> Mut<'s, Q, T>
    where
        Self: 'l,
    {
        Q::Buf::<T>::shorten_mut(view)
    }
}

impl<Q: Queue + Clone> Queue for Guarded<Q> {
    type Buf<T: Element> = GuardedBuf<Q, T>;

    fn caps(&self) -> &Caps {
        self.queue.caps()
    }

    fn budget(&self) -> &Budget {
        self.queue.budget()
    }

    /// The content is that of the guards, so that an op that relies on zeros is noticed.
    fn alloc<T: Element>(&self, len: usize) -> Result<GuardedBuf<Q, T>, BackendError> {
        let element_bytes = size_of::<T>();
        let whole = len.checked_add(2 * GUARD).ok_or(BackendError::LengthOverflow { len, element_bytes })?;
        let buf = self.queue.upload(&vec![guard::<T>(); whole])?;
        Ok(GuardedBuf { buf, len, guarded: self.clone() })
    }

    fn clear<T: Element>(&self, dst: Mut<'_, Q, T>) -> Result<(), BackendError> {
        self.submit(|queue| queue.clear(dst))
    }

    fn write<T: Element>(&self, host: &[T], dst: Mut<'_, Q, T>) -> Result<(), BackendError> {
        self.queue.write(host, dst)
    }

    fn read<T: Element>(&self, src: Ref<'_, Q, T>) -> Result<Vec<T>, BackendError> {
        self.queue.read(src)
    }

    fn write_secret<T: Element>(&self, host: &[T], dst: Mut<'_, Q, T>) -> Result<(), BackendError> {
        self.queue.write_secret(host, dst)
    }

    fn read_secret<T: Element>(&self, src: Ref<'_, Q, T>) -> Result<Vec<T>, BackendError> {
        self.queue.read_secret(src)
    }

    fn copy<T: Element>(&self, src: Ref<'_, Q, T>, dst: Mut<'_, Q, T>) -> Result<(), BackendError> {
        self.submit(|queue| queue.copy(src, dst))
    }

    fn finish(&self) -> Result<(), BackendError> {
        self.queue.finish()
    }
}

impl<Q: Register + Clone> Register for Guarded<Q> {
    type Registered<T: Element> = Q::Registered<T>;

    fn register<T: Element>(&self, elements: Vec<T>) -> Result<Q::Registered<T>, BackendError> {
        self.queue.register(elements)
    }

    fn write_registered<T: Element>(
        &self,
        host: &Q::Registered<T>,
        first: usize,
        dst: Mut<'_, Q, T>,
    ) -> Result<(), BackendError> {
        self.queue.write_registered(host, first, dst)
    }

    fn read_registered<T: Element>(
        &self,
        src: Ref<'_, Q, T>,
        host: &mut Q::Registered<T>,
        first: usize,
    ) -> Result<(), BackendError> {
        self.queue.read_registered(src, host, first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_beside_a_buffer_is_reported() {
        let q = Guarded::new(runtime::cpu().unwrap());
        let mut buf = q.upload(&[1u32, 2, 3]).unwrap();
        assert_eq!(q.download(&buf).unwrap(), [1, 2, 3]);
        let flags = q.upload(&[true, false]).unwrap();
        drop(flags);
        assert_eq!(q.damage(), Vec::<String>::new());
        q.queue.write(&[7], buf.buf.slice_mut(GUARD + 3..GUARD + 4).unwrap()).unwrap();
        drop(buf);
        let expected = "guard element 0 behind 3 x u32: expected [5a, 5a, 5a, 5a], got [7, 0, 0, 0]";
        assert_eq!(q.damage(), [expected]);
        assert_eq!(q.damage(), Vec::<String>::new());
    }
}
