//! Completion of tasks: their results, and the checks against earlier work.

use std::sync::Arc;

use litemap::LiteMap;

use super::{
    counters::Report,
    order::BEFORE_BIRTH,
    state::{
        Driver,
        accesses::Accesses,
        outcome::{Did, Failure},
        queue::{QueuedTask, TaskId, Who},
        work::WorkUnit,
    },
};

impl Driver {
    /// Notes that a task has been done and what came of it.
    pub(super) fn complete(&mut self, id: TaskId, outcome: Result<Did, Failure>) {
        let Some(task) = self.queue.finish(id) else { return };
        let did = outcome.as_ref().ok().and_then(|did| did.kernel.as_ref());
        self.now += task.work.nanoseconds(did) * if task.slow { 1000 } else { 1 };
        match outcome {
            Ok(did) => {
                if let Some(address) = did.unwritten {
                    self.report(Report::Unwritten { work: task.work.to_string(), address });
                }
                if let Some(kernel) = &did.kernel {
                    self.counters.kernels += kernel;
                }
                self.done += 1;
                if self.options.checks.streams {
                    self.remember(&task, did.accesses);
                }
            }
            Err((code, reason)) => {
                // A failure of asynchronous work loses the context, whatever the kind of error.
                if let Some(context) = self.contexts.get_mut(&task.context) {
                    context.lost.get_or_insert(code);
                }
                self.report(Report::Failed { work: task.work.to_string(), code: code.0, reason });
            }
        }
        if let WorkUnit::Record(event) = task.work
            && let Some(event) = self.events.get_mut(&event)
            && event.recorded.as_ref().is_some_and(|recorded| recorded.task == id)
        {
            event.time = Some(self.now);
        }
    }

    /// Checks the accesses of a task against the work before it, and records them.
    fn remember(&mut self, task: &QueuedTask, accesses: Accesses) {
        let work: Arc<str> = task.work.to_string().into();
        let (line, number) = task.who;
        let parts = match task.work {
            // Its allocation is gone by now.
            WorkUnit::Free(base) => LiteMap::from_iter([(base, accesses)]),
            _ => accesses.by_allocation(&self.memory),
        };
        for (base, accesses) in parts {
            self.check_birth(task, base);
            let history = self.histories.entry(base).or_default();
            let strangers = history.unordered(&task.clock, &accesses);
            history.add(line, number, work.clone(), accesses, self.done);
            for (earlier, address) in strangers {
                let work = work.to_string();
                self.report(Report::Unordered { work, earlier: earlier.to_string(), address });
            }
        }
        if let WorkUnit::Free(base) = task.work {
            self.histories.remove(&base);
        }
    }

    /// Reports a use of stream-ordered memory that nothing orders after its allocation.
    ///
    /// The address may have come to the work in any way.
    fn check_birth(&mut self, task: &QueuedTask, base: u64) {
        let Some(life) = self.blocks.get(&base).and_then(|block| block.ordered.as_ref()) else { return };
        let born = life.born.is_some_and(|(line, number)| task.clock.knows(line, number));
        if !born {
            let relation = BEFORE_BIRTH;
            self.report(Report::StreamOrder { work: task.work.to_string(), address: base, relation });
        }
    }

    /// Reports a copy from pinned memory whose content has changed since the copy was enqueued.
    ///
    /// `done` tasks had been done by then. A change is not reported if other work may have written
    /// there meanwhile.
    pub(super) fn check_source(&mut self, work: &WorkUnit, digest: u64, done: u64) {
        let WorkUnit::Copy(copy) = work else { return };
        let Some(source) = copy.host_source().filter(|_| copy.source_digest() != Some(digest)) else { return };
        let history = self.memory.find(source.start).and_then(|found| self.histories.get(&found.base));
        if !history.is_some_and(|past| past.written_since(done, &source)) {
            self.report(Report::SourceChanged { work: work.to_string(), address: source.start });
        }
    }

    /// The pending copies whose pinned sources have not changed since they were enqueued.
    pub(super) fn unchanged_sources(&self) -> Vec<TaskId> {
        let is_unchanged = |task: &QueuedTask| match (&task.work, task.source) {
            (WorkUnit::Copy(copy), Some((digest, _))) => copy.source_digest() == Some(digest),
            _ => false,
        };
        self.queue
            .pending_with_ids()
            .filter(|(_, task)| !task.running && is_unchanged(task))
            .map(|(id, _)| id)
            .collect()
    }

    /// Compares the sources of the pending copies `unchanged` after host function `who` ran.
    ///
    /// It updates the digest of a copy that is ordered after the function, and reports a changed
    /// source of any other.
    pub(super) fn renew_sources(&mut self, (line, number): Who, text: &str, unchanged: &[TaskId]) {
        for &id in unchanged {
            let Some(task) = self.queue.get_mut(id) else { continue };
            let (WorkUnit::Copy(copy), Some((digest, done))) = (&task.work, task.source) else { continue };
            let Some(now) = copy.source_digest().filter(|&now| now != digest) else { continue };
            if task.clock.knows(line, number) {
                task.source = Some((now, done));
                continue;
            }
            task.source = None; // reported once
            let address = copy.host_source().map_or(0, |source| source.start);
            let work = task.work.to_string();
            self.report(Report::Unordered { work, earlier: text.to_owned(), address });
        }
    }
}
