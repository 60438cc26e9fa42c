//! Waits of the host for a stream, and ordering between the work of two streams.

use core::sync::atomic::Ordering;

use cuda_loader::{Status, ffi};

use super::{CudaEvent, CudaStream, Events, SubmissionTurn};
use crate::{error::DriverFault, sync::lock};

/// How many other streams a stream remembers that its work comes after.
///
/// Forgetting one costs an event when it matters again.
const REMEMBERED_STREAMS: usize = 64;

impl CudaStream {
    /// Waits for all work. The caller holds no turn.
    pub(crate) fn synchronize(&self) -> Result<(), DriverFault> {
        let at = self.submitted(&self.context().turn());
        if self.context().is_limited() {
            // Waits for this point alone: others may go on submitting, so that the stream is never idle.
            Events::new(self.context()).record(self)?.wait()?;
        } else {
            // SAFETY: the stream is alive.
            self.context().call("cuStreamSynchronize", || unsafe { ffi::cuStreamSynchronize(self.raw()) })?;
        }
        self.note_completed(at);
        Ok(())
    }

    /// Waits without a limit for all work of a borrowed stream, if waits have one.
    ///
    /// A later wait for a copy then measures the copy alone. The caller holds no turn.
    pub(crate) fn wait_for_callers_work(&self) -> Result<(), DriverFault> {
        if !self.context().is_limited() {
            return Ok(());
        }
        // An event of the legacy stream is also after the work of the streams that it waits for.
        Events::new(self.context()).record(self)?.wait_for_callers_work()
    }

    /// Whether the stream has done all its work. It is not captured.
    pub(crate) fn is_idle(&self) -> Result<bool, DriverFault> {
        // SAFETY: the stream is alive.
        match self.context().call("cuStreamQuery", || unsafe { ffi::cuStreamQuery(self.raw()) }) {
            Ok(()) => Ok(true),
            Err(DriverFault::Refused { status: Status::NOT_READY, .. }) => Ok(false),
            Err(fault) => Err(fault),
        }
    }

    /// Waits until no work of the stream runs any more.
    ///
    /// `false` if that cannot be known. The caller holds no turn.
    pub(crate) fn is_settled(&self) -> bool {
        // A refused wait proves nothing about the work: another wait may.
        self.synchronize().is_ok() || self.context().is_dead() || self.synchronize().is_ok()
    }

    /// Lets later work run after `event`, which may be of another context.
    pub(crate) fn wait_for(&self, event: &CudaEvent) -> Result<(), DriverFault> {
        // SAFETY: stream and event are alive.
        self.context().call("cuStreamWaitEvent", || unsafe { ffi::cuStreamWaitEvent(self.raw(), event.raw(), 0) })
    }

    /// Whether later work is known to run after the work of `earlier` up to number `at`.
    pub(crate) fn is_after(&self, earlier: &Self, at: u64) -> bool {
        earlier.id() == self.id()
            || at <= earlier.completed.load(Ordering::Acquire)
            || lock(&self.after).get(&earlier.id()).is_some_and(|&known| known >= at)
    }

    /// Lets later work run after the work of `earlier` up to number `at`.
    pub(crate) fn order_after(
        &self,
        earlier: &Self,
        at: u64,
        events: &Events,
        turn: &SubmissionTurn<'_>,
    ) -> Result<(), DriverFault> {
        if self.is_after(earlier, at) {
            return Ok(());
        }
        let reached = earlier.submitted(turn);
        let inherited = lock(&earlier.after).clone();
        events.order(earlier, self)?;
        let mut after = lock(&self.after);
        if after.len() > REMEMBERED_STREAMS {
            after.clear();
        }
        for (stream, at) in inherited.into_iter().chain([(earlier.id(), reached)]) {
            let known = after.entry(stream).or_insert(0);
            *known = at.max(*known);
        }
        Ok(())
    }

    /// Lets later work run after all work that `earlier` holds now.
    pub(crate) fn order_after_all(
        &self,
        earlier: &Self,
        events: &Events,
        turn: &SubmissionTurn<'_>,
    ) -> Result<(), DriverFault> {
        self.order_after(earlier, earlier.submitted(turn), events, turn)
    }
}

impl Events {
    /// Lets later work of `later` run after all work that `earlier` holds now.
    pub(crate) fn order(&self, earlier: &CudaStream, later: &CudaStream) -> Result<(), DriverFault> {
        let event = self.record(earlier)?;
        let ordered = later.wait_for(&event);
        // A wait refers to the recording that it saw, so the event may be recorded anew at once.
        self.give_back(event);
        ordered
    }
}
