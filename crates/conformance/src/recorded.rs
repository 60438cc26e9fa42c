//! A queue that records every op and replays it.

use backend_api::{BackendError, Budget, Caps, Element, Mut, Queue, Record, Ref, Register};

/// A queue whose ops run as recordings of one op each, on a device that records; on another they run as they are.
///
/// Results do not depend on it. An op that waits for the device cannot be recorded, and is refused.
#[derive(Clone, Debug)]
pub struct Recorded<Q>(Q);

impl<Q: Record> Recorded<Q> {
    /// Records what is submitted through the result, and replays it on `queue`.
    pub fn new(queue: Q) -> Self {
        Self(queue)
    }

    /// Submits an op to the queue inside.
    pub(crate) fn submit(&self, op: impl FnOnce(&Q) -> Result<(), BackendError>) -> Result<(), BackendError> {
        let mut op = Some(op);
        let graph = self.0.record(|queue| op.take().map_or(Ok(()), |op| op(queue)))?;
        match (graph, op) {
            (Some(graph), _) => self.0.replay(&graph),
            (None, Some(op)) => op(&self.0),
            (None, None) => Err(BackendError::Unsupported { op: "record", why: "the device did not record this op" }),
        }
    }
}

impl<Q: Record> Queue for Recorded<Q> {
    type Buf<T: Element> = Q::Buf<T>;

    fn caps(&self) -> &Caps {
        self.0.caps()
    }

    fn budget(&self) -> &Budget {
        self.0.budget()
    }

    fn alloc<T: Element>(&self, len: usize) -> Result<Q::Buf<T>, BackendError> {
        self.0.alloc(len)
    }

    fn clear<T: Element>(&self, dst: Mut<'_, Q, T>) -> Result<(), BackendError> {
        self.submit(|queue| queue.clear(dst))
    }

    fn write<T: Element>(&self, host: &[T], dst: Mut<'_, Q, T>) -> Result<(), BackendError> {
        self.0.write(host, dst)
    }

    fn read<T: Element>(&self, src: Ref<'_, Q, T>) -> Result<Vec<T>, BackendError> {
        self.0.read(src)
    }

    fn write_secret<T: Element>(&self, host: &[T], dst: Mut<'_, Q, T>) -> Result<(), BackendError> {
        self.0.write_secret(host, dst)
    }

    fn read_secret<T: Element>(&self, src: Ref<'_, Q, T>) -> Result<Vec<T>, BackendError> {
        self.0.read_secret(src)
    }

    fn copy<T: Element>(&self, src: Ref<'_, Q, T>, dst: Mut<'_, Q, T>) -> Result<(), BackendError> {
        self.submit(|queue| queue.copy(src, dst))
    }

    fn finish(&self) -> Result<(), BackendError> {
        self.0.finish()
    }
}

impl<Q: Record + Register> Register for Recorded<Q> {
    type Registered<T: Element> = Q::Registered<T>;

    fn register<T: Element>(&self, elements: Vec<T>) -> Result<Q::Registered<T>, BackendError> {
        self.0.register(elements)
    }

    fn write_registered<T: Element>(
        &self,
        host: &Q::Registered<T>,
        first: usize,
        dst: Mut<'_, Q, T>,
    ) -> Result<(), BackendError> {
        self.0.write_registered(host, first, dst)
    }

    fn read_registered<T: Element>(
        &self,
        src: Ref<'_, Q, T>,
        host: &mut Q::Registered<T>,
        first: usize,
    ) -> Result<(), BackendError> {
        self.0.read_registered(src, host, first)
    }
}
