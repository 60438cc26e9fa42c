//! How a call's work is placed in the order.

use std::ops::Range;

use cuda_loader::{Status, ffi::CUstream};

use super::{
    counters::Report,
    entry::DriverCall,
    faults::Effect,
    handle::{ApiHandle, Id},
    spec::StreamSchedule,
    state::{
        Driver, Ordered,
        queue::{QueuedTask, TaskId, VectorClock, Who},
        work::WorkUnit,
    },
};

/// Report text for a use of stream-ordered memory that may come too early.
pub(super) const BEFORE_BIRTH: &str = "without an order after its allocation";

/// The handle value that names the legacy stream besides null.
const LEGACY: usize = 1;

impl DriverCall {
    /// The stream of a handle in the current context.
    pub(super) fn stream(&mut self, handle: CUstream) -> Result<Id, Status> {
        let context = self.context()?;
        let driver = self.driver();
        if handle.is_null() || handle.id() == LEGACY {
            return Ok(driver.contexts[&context].legacy);
        }
        if driver.streams.contains_key(&handle.id()) { Ok(handle.id()) } else { Err(Status::INVALID_HANDLE) }
    }

    /// As [`DriverCall::stream`], and refuses a stream of another context.
    pub(super) fn own_stream(&mut self, handle: CUstream) -> Result<Id, Status> {
        let context = self.context()?;
        let stream = self.stream(handle)?;
        if self.driver().streams[&stream].context == context { Ok(stream) } else { Err(Status::INVALID_HANDLE) }
    }

    /// Puts work at the end of a stream, or into the graph that the stream captures.
    ///
    /// # Errors
    /// The capture's code, if the work cannot become part of it. None if the stream captured; the
    /// task otherwise.
    pub(super) fn enqueue(&mut self, stream: Id, work: WorkUnit) -> Result<Option<TaskId>, Status> {
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
    pub(super) fn submit(&mut self, stream: Id, work: WorkUnit, effect: Option<Effect>) -> TaskId {
        let (after, mut clock) = self.predecessors(stream);
        clock.join(&self.host);
        let number = clock.tick(stream);
        let task = self.push(stream, work, after, &clock, (stream, number), effect);
        if let Some(stream) = self.streams.get_mut(&stream) {
            stream.clock = clock;
            stream.tail = Some(task);
            stream.waits.clear();
        }
        task
    }

    /// Enqueues work of `stream` that runs after the tasks `after`.
    pub(super) fn push(
        &mut self,
        stream: Id,
        work: WorkUnit,
        after: Vec<TaskId>,
        clock: &VectorClock,
        who: Who,
        effect: Option<Effect>,
    ) -> TaskId {
        let work = self.check_life(work, clock, who);
        let work = match effect {
            Some(Effect::Late(code)) => WorkUnit::Fail(code, format!("injected into {work}")),
            _ => work,
        };
        let context = self.streams.get(&stream).map_or(0, |stream| stream.context);
        let (slow, hung) = (effect == Some(Effect::Slow), effect == Some(Effect::Hang));
        let source = self.watch_host(&work);
        let task = QueuedTask::new(context, stream, work, after, clock.clone(), who);
        self.queue.push(QueuedTask { source, slow, hung, ..task })
    }

    /// Exposes host accesses to pinned memory before a deferred copy is done.
    ///
    /// It keeps a digest of a source, and overwrites a target unless other work may still need its
    /// contents.
    fn watch_host(&mut self, work: &WorkUnit) -> Option<(u64, u64)> {
        let WorkUnit::Copy(copy) = work else { return None };
        if !self.options.checks.streams || self.spec.schedule == StreamSchedule::Eager {
            return None;
        }
        let pinned = |range: &Range<u64>| {
            let found = self.memory.find(range.start).filter(|found| found.device.is_none())?;
            (range.end <= found.base + found.bytes).then_some(found.base..found.base + found.bytes)
        };
        if let Some(range) = copy.host_target()
            && let Some(block) = pinned(&range)
            && !self.queue.pending().any(|task| needs_host(&task.work, &range, &block))
        {
            copy.poison_target();
        }
        let source = copy.host_source()?;
        let block = pinned(&source)?;
        // Pending work may still write the source, perhaps while the digest reads it.
        if self.queue.pending().any(|task| writes_host(&task.work, &source, &block)) {
            return None;
        }
        Some((copy.source_digest()?, self.done))
    }

    /// The tasks before the next task of a stream, and the clock that follows from them.
    ///
    /// They are its own last task, events waited for, and, between the legacy stream and blocking
    /// ones, each other's last tasks.
    fn predecessors(&self, id: Id) -> (Vec<TaskId>, VectorClock) {
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

    /// Records which stream-ordered memory the work uses.
    ///
    /// Work that may run before the memory's allocation or after its release fails instead of
    /// running.
    fn check_life(&mut self, work: WorkUnit, clock: &VectorClock, (line, number): Who) -> WorkUnit {
        for address in work.addresses() {
            let Some((_, block)) = self.block_of(address) else { continue };
            let Some(life) = block.ordered.as_mut() else { continue };
            let relation = match life.born {
                None => "before a launch of the graph that allocates it",
                Some(_) if life.released => "after its release",
                Some((line, number)) if !clock.knows(line, number) => BEFORE_BIRTH,
                Some(_) => {
                    life.uses.insert(line, number);
                    continue;
                }
            };
            let text = work.to_string();
            let reason = format!("{text} uses stream-ordered memory {relation}");
            self.report(Report::StreamOrder { work: text, address, relation });
            return WorkUnit::Fail(Status::ILLEGAL_ADDRESS, reason);
        }
        work
    }

    /// Ends the life of the memory at `base` after everything in `clock`.
    ///
    /// Returns the work that frees it.
    ///
    /// # Errors
    /// `INVALID_VALUE` if no memory that is allocated starts there.
    pub(super) fn release(&mut self, base: u64, clock: &VectorClock) -> Result<WorkUnit, Status> {
        let block = self.blocks.get_mut(&base).ok_or(Status::INVALID_VALUE)?;
        let bytes = block.bytes;
        let Some(life) = block.ordered.as_mut() else {
            // Memory that no stream orders is released in stream order from here on.
            self.blocks.remove(&base);
            return Ok(WorkUnit::Free(base));
        };
        if life.released || life.born.is_none() {
            return Err(Status::INVALID_VALUE);
        }
        life.released = true;
        let (pool, in_time) = (life.pool, Self::released_after_uses(life, clock));
        // A graph keeps the place of its memory for the next launch.
        let work = if pool.is_some() { WorkUnit::Free(base) } else { WorkUnit::Nothing };
        if let Some(pool) = pool {
            self.give_to_pool(pool, bytes);
        }
        if in_time {
            return Ok(work);
        }
        let relation = "while work of another stream may still use it";
        let work = WorkUnit::Free(base).to_string();
        self.report(Report::StreamOrder { work, address: base, relation });
        Ok(WorkUnit::Fail(Status::ILLEGAL_ADDRESS, format!("release of {base:#x} {relation}")))
    }

    /// Whether a release ordered like `clock` comes after all uses of the block.
    ///
    /// The allocation counts as a use.
    fn released_after_uses(life: &Ordered, clock: &VectorClock) -> bool {
        let uses = life.uses.iter().map(|(&line, &number)| (line, number));
        life.born.into_iter().chain(uses).all(|(line, number)| clock.knows(line, number))
    }

    /// The clock of the next task of `stream`.
    pub(super) fn clock_of_next(&self, stream: Id) -> VectorClock {
        let (_, mut clock) = self.predecessors(stream);
        clock.join(&self.host);
        clock
    }
}

/// Whether pending work may still access a range of the pinned memory `block`.
///
/// Reads and writes both count.
fn needs_host(work: &WorkUnit, range: &Range<u64>, block: &Range<u64>) -> bool {
    match work {
        WorkUnit::Host(_) => true,
        WorkUnit::Copy(copy) if copy.host_source().is_some_and(|source| meet(&source, range)) => true,
        _ => writes_host(work, range, block),
    }
}

/// Whether work may write to a range of the pinned memory `block`.
///
/// Host functions do not count.
fn writes_host(work: &WorkUnit, range: &Range<u64>, block: &Range<u64>) -> bool {
    match work {
        WorkUnit::Copy(copy) if copy.host_target().is_some_and(|target| meet(&target, range)) => true,
        _ => work.addresses().iter().any(|address| block.contains(address)),
    }
}

fn meet(a: &Range<u64>, b: &Range<u64>) -> bool {
    a.start < b.end && b.start < a.end
}
