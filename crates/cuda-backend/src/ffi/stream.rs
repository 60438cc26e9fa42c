//! Streams that number their work and remember which work of other streams theirs already comes after.

use core::sync::atomic::{AtomicU64, Ordering};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use cuda_loader::ffi::{self, CUstream};

use super::{Context, Event, Events, Turn};
use crate::{error::Fault, sync::lock};

/// How many other streams a stream remembers that its work comes after. Forgetting one costs an event when it matters again.
const REMEMBERED_STREAMS: usize = 64;

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// An in-order stream of work that does not wait for the legacy stream.
///
/// Its work is numbered. For every other stream, a stream knows up to which number of that one its own later work comes
/// after it, so that no event is spent on an order that holds already.
#[derive(Debug)]
pub(crate) struct Stream {
    context: Arc<Context>,
    raw: CUstream,
    id: u64,
    issued: AtomicU64,
    completed: AtomicU64,
    after: Mutex<HashMap<u64, u64>>,
}

impl Stream {
    pub(crate) fn new(context: &Arc<Context>) -> Result<Arc<Self>, Fault> {
        let mut raw = CUstream::NULL;
        // SAFETY: the call writes one handle.
        context.call("cuStreamCreate", || unsafe { ffi::cuStreamCreate(&raw mut raw, ffi::stream::NON_BLOCKING) })?;
        Ok(Arc::new(Self {
            context: Arc::clone(context),
            raw,
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            issued: AtomicU64::new(0),
            completed: AtomicU64::new(0),
            after: Mutex::new(HashMap::new()),
        }))
    }

    /// A number that no other stream of this process has or had.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    pub(super) fn raw(&self) -> CUstream {
        self.raw
    }

    /// The number of the next piece of work, which the caller submits in this turn.
    pub(crate) fn issue(&self, _turn: &Turn<'_>) -> u64 {
        self.issued.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// The number of the last piece of work; all up to it are submitted.
    fn submitted(&self, _turn: &Turn<'_>) -> u64 {
        self.issued.load(Ordering::Acquire)
    }

    /// Waits for all work. The caller holds no turn.
    pub(crate) fn synchronize(&self) -> Result<(), Fault> {
        let at = self.submitted(&self.context.turn());
        if self.context.is_limited() {
            // Waits for this point alone: others may go on submitting, so that the stream is never idle.
            Events::new(&self.context).record(self)?.wait()?;
        } else {
            // SAFETY: the stream is alive.
            self.context.call("cuStreamSynchronize", || unsafe { ffi::cuStreamSynchronize(self.raw) })?;
        }
        self.note_completed(at);
        Ok(())
    }

    /// Notes that the host has seen the work up to number `at` done.
    pub(crate) fn note_completed(&self, at: u64) {
        self.completed.fetch_max(at, Ordering::AcqRel);
        self.context.completed(self.id, at);
    }

    /// Lets later work run after `event`.
    pub(super) fn wait_for(&self, event: &Event) -> Result<(), Fault> {
        // SAFETY: stream and event are alive.
        self.context.call("cuStreamWaitEvent", || unsafe { ffi::cuStreamWaitEvent(self.raw, event.raw(), 0) })
    }

    /// Lets later work run after the work of `earlier` up to number `at`.
    pub(crate) fn order_after(&self, earlier: &Self, at: u64, events: &Events, turn: &Turn<'_>) -> Result<(), Fault> {
        if earlier.id == self.id
            || at <= earlier.completed.load(Ordering::Acquire)
            || lock(&self.after).get(&earlier.id).is_some_and(|&known| known >= at)
        {
            return Ok(());
        }
        let reached = earlier.submitted(turn);
        let inherited = lock(&earlier.after).clone();
        events.order(earlier, self)?;
        let mut after = lock(&self.after);
        if after.len() > REMEMBERED_STREAMS {
            after.clear();
        }
        for (stream, at) in inherited.into_iter().chain([(earlier.id, reached)]) {
            let known = after.entry(stream).or_insert(0);
            *known = at.max(*known);
        }
        Ok(())
    }

    /// Lets later work run after all work that `earlier` holds now.
    pub(crate) fn order_after_all(&self, earlier: &Self, events: &Events, turn: &Turn<'_>) -> Result<(), Fault> {
        self.order_after(earlier, earlier.submitted(turn), events, turn)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: the stream is alive and not used again; the driver finishes its work. Its refusal leaks a stream.
        let _refused = self.context.call("cuStreamDestroy_v2", || unsafe { ffi::cuStreamDestroy_v2(self.raw) });
    }
}
