//! The queue that cases run on.
//!
//! It wraps another queue: as it is, with guard words around its buffers, or with every op
//! recorded. As it is, it also runs each op with each of its views one element short.

mod buffer;
mod ops;
mod short;

use std::sync::{Arc, Mutex, PoisonError};

use backend_api::{BackendError, Budget, Buffer, Caps, Element, Fork, PlainElement, Queue, Record, Register};
use runtime::{AnyMut, AnyQueue, AnyRef, AnyRegistered};

pub(crate) use self::buffer::ConditionedBuf;
use self::{
    buffer::{GUARD, guard},
    short::ShortViews,
};

/// How ops and buffers of the wrapped queue are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    AsItIs,
    Guarded,
    Recorded,
}

/// A queue that the suite runs cases on: another one, used in one of three ways.
///
/// One type serves every backend in all three ways, so that the cases are compiled once. Results do
/// not depend on the way.
#[derive(Clone, Debug)]
pub struct Conditioned {
    queue: AnyQueue,
    how: How,
    faults: Arc<Mutex<Vec<String>>>,
    short: Arc<Mutex<ShortViews>>,
}

impl Conditioned {
    fn new(queue: AnyQueue, how: How) -> Self {
        Self { queue, how, faults: Arc::default(), short: Arc::default() }
    }

    /// `queue` as it is.
    ///
    /// Before an op, `queue` must refuse it with each of its views one element short if the op's
    /// check does; one refusal of each view is enough. Another outcome shows in
    /// [`faults`](Self::faults).
    pub fn plain(queue: AnyQueue) -> Self {
        Self::new(queue, How::AsItIs)
    }

    /// `queue` with guard words before and after every buffer.
    ///
    /// The guards are checked when the buffer is dropped. An op that writes outside its views shows
    /// in [`faults`](Self::faults), on any device and without a sanitizer.
    pub fn guarded(queue: AnyQueue) -> Self {
        Self::new(queue, How::Guarded)
    }

    /// `queue` with every op run as a recording of that single op.
    ///
    /// On a device that cannot record, ops run as they are. An op that waits for the device cannot
    /// be recorded, and is refused.
    pub fn recorded(queue: AnyQueue) -> Self {
        Self::new(queue, How::Recorded)
    }

    /// Takes the faults found since the last call, in their order.
    ///
    /// They are overwritten guards, found when a buffer is dropped, and short views that were not
    /// refused.
    #[must_use]
    pub fn faults(&self) -> Vec<String> {
        core::mem::take(&mut *self.faults.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Notes a fault for [`faults`](Self::faults).
    fn note_fault(&self, fault: String) {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner).push(fault);
    }
}

impl Conditioned {
    /// Submits an op to the queue inside.
    fn submit(&self, op: impl FnOnce(&AnyQueue) -> Result<(), BackendError>) -> Result<(), BackendError> {
        if self.how != How::Recorded {
            return op(&self.queue);
        }
        let mut op = Some(op);
        self.submit_recorded(&mut |queue| op.take().map_or(Ok(()), |op| op(queue)))
    }

    /// Records one op and replays it; runs it as it is on a device that does not record.
    ///
    /// Apart from [`submit`](Self::submit), so that recording is compiled once and not for every
    /// op.
    fn submit_recorded(&self, op: &mut dyn FnMut(&AnyQueue) -> Result<(), BackendError>) -> Result<(), BackendError> {
        let mut called = false;
        let graph = self.queue.record(|queue| {
            called = true;
            op(queue)
        })?;
        match graph {
            Some(graph) => self.queue.replay(&graph),
            None if !called => op(&self.queue),
            None => Err(BackendError::Unsupported { op: "record", why: "the device did not record this op" }),
        }
    }

    /// Whether every op is recorded.
    pub(crate) fn records(&self) -> bool {
        self.how == How::Recorded
    }
}

impl Queue for Conditioned {
    type Buf<T: Element> = ConditionedBuf<T>;

    fn caps(&self) -> &Caps {
        self.queue.caps()
    }

    fn budget(&self) -> &Budget {
        self.queue.budget()
    }

    fn buffer_bytes(&self, len: usize, element_bytes: usize) -> u64 {
        let guards = if self.how == How::Guarded { 2 * GUARD } else { 0 };
        self.queue.buffer_bytes(len.saturating_add(guards), element_bytes)
    }

    /// Allocates memory, filled as the guards are if it is guarded.
    ///
    /// An op that relies on zeros is noticed this way.
    fn alloc<T: Element>(&self, len: usize) -> Result<ConditionedBuf<T>, BackendError> {
        let owner = self.clone();
        if self.how != How::Guarded {
            return Ok(ConditionedBuf { buf: self.queue.alloc(len)?, len, guard: 0, owner });
        }
        let element_bytes = size_of::<T>();
        let whole = len.checked_add(2 * GUARD).ok_or(BackendError::LengthOverflow { len, element_bytes })?;
        let buf = self.queue.upload(&vec![guard::<T>(); whole])?;
        Ok(ConditionedBuf { buf, len, guard: GUARD, owner })
    }

    fn zeros<T: Element>(&self, len: usize) -> Result<ConditionedBuf<T>, BackendError> {
        if self.how == How::AsItIs {
            return Ok(ConditionedBuf { buf: self.queue.zeros(len)?, len, guard: 0, owner: self.clone() });
        }
        let mut buf = self.alloc(len)?;
        self.clear(buf.view_mut())?;
        Ok(buf)
    }

    fn clear<T: Element>(&self, dst: AnyMut<'_, T>) -> Result<(), BackendError> {
        self.submit(|queue| queue.clear(dst))
    }

    fn write<T: Element>(&self, host: &[T], dst: AnyMut<'_, T>) -> Result<(), BackendError> {
        self.queue.write(host, dst)
    }

    fn write_parts<T: Element>(&self, parts: &[&[T]], dst: AnyMut<'_, T>) -> Result<(), BackendError> {
        self.queue.write_parts(parts, dst)
    }

    fn read<T: Element>(&self, src: AnyRef<'_, T>) -> Result<Vec<T>, BackendError> {
        self.queue.read(src)
    }

    fn write_secret<T: Element>(&self, host: &[T], dst: AnyMut<'_, T>) -> Result<(), BackendError> {
        self.queue.write_secret(host, dst)
    }

    fn write_secret_parts<T: Element>(&self, parts: &[&[T]], dst: AnyMut<'_, T>) -> Result<(), BackendError> {
        self.queue.write_secret_parts(parts, dst)
    }

    fn write_with_lists<T: Element>(
        &self,
        lists: &[&[T]],
        secret: &[&[T]],
        dst: AnyMut<'_, T>,
    ) -> Result<(), BackendError> {
        self.queue.write_with_lists(lists, secret, dst)
    }

    fn read_secret<T: Element>(&self, src: AnyRef<'_, T>) -> Result<Vec<T>, BackendError> {
        self.queue.read_secret(src)
    }

    fn copy<T: Element>(&self, src: AnyRef<'_, T>, dst: AnyMut<'_, T>) -> Result<(), BackendError> {
        self.submit(|queue| queue.copy(src, dst))
    }

    fn words<'a, T: Element>(&self, view: AnyRef<'a, T>) -> AnyRef<'a, u32>
    where
        ConditionedBuf<T>: 'a,
    {
        self.queue.words(view)
    }

    fn elements<'a, T: PlainElement>(&self, words: AnyRef<'a, u32>) -> Result<AnyRef<'a, T>, BackendError>
    where
        ConditionedBuf<T>: 'a,
    {
        self.queue.elements(words)
    }

    fn host_view<'a, T: Element>(&self, host: &'a [T]) -> Option<AnyRef<'a, T>>
    where
        ConditionedBuf<T>: 'a,
    {
        self.queue.host_view(host)
    }

    fn host_view_mut<'a, T: Element>(&self, host: &'a mut [T]) -> Result<AnyMut<'a, T>, &'a mut [T]>
    where
        ConditionedBuf<T>: 'a,
    {
        self.queue.host_view_mut(host)
    }

    fn finish(&self) -> Result<(), BackendError> {
        self.queue.finish()
    }
}

impl Fork for Conditioned {
    fn fork(&self) -> Result<Self, BackendError> {
        Ok(Self { queue: self.queue.fork()?, ..self.clone() })
    }

    fn join(&self, branch: &Self) -> Result<(), BackendError> {
        self.queue.join(&branch.queue)
    }
}

impl Register for Conditioned {
    type Registered<T: Element> = AnyRegistered<T>;

    fn register<T: Element>(&self, elements: Vec<T>) -> Result<AnyRegistered<T>, BackendError> {
        self.queue.register(elements)
    }

    fn write_registered<T: Element>(
        &self,
        host: &AnyRegistered<T>,
        first: usize,
        dst: AnyMut<'_, T>,
    ) -> Result<(), BackendError> {
        self.queue.write_registered(host, first, dst)
    }

    fn read_registered<T: Element>(
        &self,
        src: AnyRef<'_, T>,
        host: &mut AnyRegistered<T>,
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
        let q = Conditioned::guarded(AnyQueue::Cpu(runtime::cpu().unwrap()));
        let mut buf = q.upload(&[1u32, 2, 3]).unwrap();
        assert_eq!(q.download(&buf).unwrap(), [1, 2, 3]);
        let flags = q.upload(&[true, false]).unwrap();
        drop(flags);
        assert_eq!(q.faults(), Vec::<String>::new());
        q.queue.write(&[7], buf.buf.slice_mut(GUARD + 3..GUARD + 4).unwrap()).unwrap();
        drop(buf);
        let expected = "guard element 0 after 3 x u32: expected [5a, 5a, 5a, 5a], got [7, 0, 0, 0]";
        assert_eq!(q.faults(), [expected]);
        assert_eq!(q.faults(), Vec::<String>::new());
    }
}
