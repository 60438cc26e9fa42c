//! How a call's work finds its place in the order.

use cuda_loader::{Status, ffi::CUstream};

use super::{
    counters::Report,
    entry::Entry,
    faults::Effect,
    handle::{Handle, Id},
    queue::{Clock, Task, TaskId},
    state::{Driver, Ordered},
    work::Work,
};

/// The handle value that names the legacy stream besides null.
const LEGACY: usize = 1;

impl Entry {
    /// The stream of a handle in the current context.
    pub(super) fn stream(&mut self, handle: CUstream) -> Result<Id, Status> {
        let context = self.context()?;
        let driver = self.driver();
        if handle.is_null() || handle.id() == LEGACY {
            return Ok(driver.contexts[&context].legacy);
        }
        if driver.streams.contains_key(&handle.id()) { Ok(handle.id()) } else { Err(Status::INVALID_HANDLE) }
    }

    /// As [`Entry::stream`], and refuses a stream of another context.
    pub(super) fn own_stream(&mut self, handle: CUstream) -> Result<Id, Status> {
        let context = self.context()?;
        let stream = self.stream(handle)?;
        if self.driver().streams[&stream].context == context { Ok(stream) } else { Err(Status::INVALID_HANDLE) }
    }

    /// Puts work at the end of a stream, or into the graph that the stream captures.
    ///
    /// # Errors
    /// The capture's code, if the work cannot become part of it. None if the stream captured; the task otherwise.
    pub(super) fn enqueue(&mut self, stream: Id, work: Work) -> Result<Option<TaskId>, Status> {
        let effect = self.effect;
        let driver = self.driver();
        if driver.streams[&stream].capture.is_some() {
            driver.capture_work(stream, work)?;
            return Ok(None);
        }
        if driver.streams[&stream].legacy {
            driver.refuse_implicit_capture(stream)?;
            driver.counters.legacy_operations += 1;
        }
        let task = driver.submit(stream, work, effect);
        self.settle();
        Ok(Some(task))
    }
}

impl Driver {
    /// Puts work at the end of a stream.
    pub(super) fn submit(&mut self, stream: Id, work: Work, effect: Option<Effect>) -> TaskId {
        let (after, mut clock) = self.predecessors(stream);
        clock.join(&self.host);
        let number = clock.tick(stream);
        let task = self.push(stream, work, after, &clock, number, effect);
        if let Some(stream) = self.streams.get_mut(&stream) {
            stream.clock = clock;
            stream.tail = Some(task);
            stream.waits.clear();
        }
        task
    }

    /// Enqueues work of `stream` behind the tasks `after`.
    pub(super) fn push(
        &mut self,
        stream: Id,
        work: Work,
        after: Vec<TaskId>,
        clock: &Clock,
        number: u64,
        effect: Option<Effect>,
    ) -> TaskId {
        let work = self.check_life(work, stream, clock, number);
        let work = match effect {
            Some(Effect::Late(code)) => Work::Fail(code, format!("injected into {work}")),
            _ => work,
        };
        let context = self.streams.get(&stream).map_or(0, |stream| stream.context);
        let slow = effect == Some(Effect::Slow);
        self.queue.push(Task { context, stream, work, after, slow, running: false })
    }

    /// What the next task of a stream comes after, and what its stream knows by that: its own last task, events waited
    /// for, and between the legacy stream and blocking ones, each other's.
    fn predecessors(&self, id: Id) -> (Vec<TaskId>, Clock) {
        let Some(stream) = self.streams.get(&id) else { return Default::default() };
        let mut after: Vec<TaskId> = stream.waits.iter().copied().chain(stream.tail).collect();
        let mut clock = stream.clock.clone();
        let others = self.streams.iter().filter(|(other, state)| {
            **other != id
                && state.context == stream.context
                && (stream.legacy && state.blocking() || state.legacy && stream.blocking())
        });
        for (_, other) in others {
            after.extend(other.tail);
            clock.join(&other.clock);
        }
        (after, clock)
    }

    /// Notes which stream-ordered memory the work uses; work that may run before the memory's allocation or after its
    /// release fails instead of running.
    fn check_life(&mut self, work: Work, stream: Id, clock: &Clock, number: u64) -> Work {
        for address in work.addresses() {
            let Some((_, block)) = self.block_of(address) else { continue };
            let Some(life) = block.ordered.as_mut() else { continue };
            let relation = if life.released {
                "after its release"
            } else if !clock.knows(life.born.0, life.born.1) {
                "without an order after its allocation"
            } else {
                life.uses.insert(stream, number);
                continue;
            };
            let text = work.to_string();
            let reason = format!("{text} uses stream-ordered memory {relation}");
            self.report(Report::StreamOrder { work: text, address, relation });
            return Work::Fail(Status::ILLEGAL_ADDRESS, reason);
        }
        work
    }

    /// Whether a release ordered like `clock` comes after the allocation and every use of the block.
    pub(super) fn released_after_uses(life: &Ordered, clock: &Clock) -> bool {
        let born = std::iter::once((&life.born.0, &life.born.1));
        born.chain(&life.uses).all(|(&stream, &number)| clock.knows(stream, number))
    }

    /// What the next task of `stream` would know.
    pub(super) fn clock_of_next(&self, stream: Id) -> Clock {
        let (_, mut clock) = self.predecessors(stream);
        clock.join(&self.host);
        clock
    }
}
