//! Enqueued work and the order that streams, events and graphs put on it.
//!
//! Every unit of work is a task with the tasks it comes after. A stream is just "after the last
//! task", so all schedules run the same graph and differ only in which ready task they pick.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use cuda_loader::Status;
use litemap::LiteMap;

use super::work::WorkUnit;
use crate::driver::{handle::Id, spec::StreamSchedule};

/// Number of a task; larger ones were enqueued later.
pub(in crate::driver) type TaskId = u64;

/// The next number.
///
/// Numbers continue from one session to the next, so that a task of an ended session is never
/// mistaken for one of the current session.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// Which task it is: its line of work, and its number there from 1.
///
/// A stream is a line, and so is each branch of a graph except the first, which continues the line
/// of the stream that it is launched on.
pub(in crate::driver) type Who = (Id, u64);

/// For each line of work, how many of its tasks are known to come before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::driver) struct VectorClock(LiteMap<Id, u64>);

impl VectorClock {
    /// Adds everything in `other`.
    pub(in crate::driver) fn join(&mut self, other: &Self) {
        for (&line, &count) in &other.0 {
            let mine = self.0.entry(line).or_default();
            *mine = (*mine).max(count);
        }
    }

    /// Whether task `count` of `line` comes before.
    pub(in crate::driver) fn knows(&self, line: Id, count: u64) -> bool {
        self.count(line) >= count
    }

    /// How many tasks of `line` are known.
    pub(in crate::driver) fn count(&self, line: Id) -> u64 {
        self.0.get(&line).copied().unwrap_or(0)
    }

    /// Adds one task of `line`; its number.
    pub(in crate::driver) fn tick(&mut self, line: Id) -> u64 {
        let mine = self.0.entry(line).or_default();
        *mine += 1;
        *mine
    }
}

/// The last record of an event.
#[derive(Clone, Debug)]
pub(in crate::driver) struct EventRecord {
    pub(in crate::driver) task: TaskId,
    pub(in crate::driver) clock: VectorClock,
}

/// A task that has not been done yet.
#[derive(Debug)]
pub(in crate::driver) struct QueuedTask {
    /// The context that a failure is lost in.
    pub(in crate::driver) context: Id,
    /// The stream, for waiting on it.
    pub(in crate::driver) stream: Id,
    pub(in crate::driver) work: WorkUnit,
    pub(in crate::driver) who: Who,
    /// The tasks that it comes after, and itself.
    pub(in crate::driver) clock: VectorClock,
    /// Digest of a copy's source in pinned memory when the copy was enqueued.
    ///
    /// The second number is the number of tasks done by then.
    pub(in crate::driver) source: Option<(u64, u64)>,
    /// Tasks it comes after, as far as they were not done when it was enqueued.
    pub(in crate::driver) after: Vec<TaskId>,
    /// Whether other ready tasks overtake it.
    pub(in crate::driver) slow: bool,
    /// It never ends by itself.
    pub(in crate::driver) hung: bool,
    /// How many transfers it waits for whose other side has not come.
    pub(in crate::driver) unmet: usize,
    /// Whether a thread is working on it.
    pub(in crate::driver) running: bool,
}

impl QueuedTask {
    /// A task that does not run yet, ends by itself and has no source to watch.
    pub(in crate::driver) fn new(
        context: Id,
        stream: Id,
        work: WorkUnit,
        after: Vec<TaskId>,
        clock: VectorClock,
        who: Who,
    ) -> Self {
        let (source, slow, hung, unmet, running) = (None, false, false, 0, false);
        Self { context, stream, work, who, clock, source, after, slow, hung, unmet, running }
    }
}

/// What to wait for.
#[derive(Clone, Debug)]
pub(in crate::driver) enum WaitGoal {
    /// These tasks.
    Tasks(Vec<TaskId>),
    /// Every task of a stream.
    Stream(Id),
    /// Every task of a context.
    Context(Id),
    /// Everything.
    All,
}

/// All tasks that have not been done.
#[derive(Debug, Default)]
pub(in crate::driver) struct TaskQueue {
    pending: BTreeMap<TaskId, QueuedTask>,
}

/// The next action of a waiting thread.
#[derive(Debug)]
pub(in crate::driver) enum Next {
    /// The goal is reached.
    Reached,
    /// Do this task.
    Run(TaskId),
    /// Another thread is at work that the goal needs.
    Wait,
}

impl TaskQueue {
    /// Enqueues a task.
    pub(in crate::driver) fn push(&mut self, mut task: QueuedTask) -> TaskId {
        task.after.retain(|id| self.pending.contains_key(id));
        task.after.sort_unstable();
        task.after.dedup();
        let id = NEXT.fetch_add(1, Relaxed);
        self.pending.insert(id, task);
        id
    }

    /// Whether a task has been done.
    pub(in crate::driver) fn done(&self, id: TaskId) -> bool {
        !self.pending.contains_key(&id)
    }

    /// The task, unless it has been done.
    pub(in crate::driver) fn get_mut(&mut self, id: TaskId) -> Option<&mut QueuedTask> {
        self.pending.get_mut(&id)
    }

    /// Takes a task that has been done out of the order.
    pub(in crate::driver) fn finish(&mut self, id: TaskId) -> Option<QueuedTask> {
        self.pending.remove(&id)
    }

    /// Tasks that have not been done.
    pub(in crate::driver) fn pending(&self) -> impl Iterator<Item = &QueuedTask> {
        self.pending.values()
    }

    /// The same with their numbers.
    pub(in crate::driver) fn pending_with_ids(&self) -> impl Iterator<Item = (TaskId, &QueuedTask)> {
        self.pending.iter().map(|(&id, task)| (id, task))
    }

    /// The same, to be changed.
    pub(in crate::driver) fn pending_mut(&mut self) -> impl Iterator<Item = &mut QueuedTask> {
        self.pending.values_mut()
    }

    /// Whether a thread runs a task.
    pub(in crate::driver) fn is_running(&self) -> bool {
        self.pending.values().any(|task| task.running)
    }

    /// Whether work waits for what other ranks have not come to, and no thread runs any.
    pub(in crate::driver) fn is_stuck(&self) -> bool {
        !self.is_running() && self.pending.values().any(|task| task.unmet > 0)
    }

    /// Fails work that waits for what other ranks have not come to.
    pub(in crate::driver) fn give_up_unmet(&mut self) {
        for task in self.pending.values_mut().filter(|task| task.unmet > 0) {
            task.unmet = 0;
            task.work = WorkUnit::Fail(Status::LAUNCH_TIMEOUT, format!("{}: other ranks did not arrive", task.work));
        }
    }

    /// Fails work that never ends, unless a thread is busy and may make progress.
    ///
    /// Returns whether there was such work.
    pub(in crate::driver) fn give_up(&mut self) -> bool {
        if self.is_running() {
            return false;
        }
        let mut any = false;
        for task in self.pending.values_mut().filter(|task| task.hung) {
            any = true;
            task.hung = false;
            task.work = WorkUnit::Fail(Status::LAUNCH_TIMEOUT, format!("{} never ends", task.work));
        }
        any
    }

    pub(in crate::driver) fn is_reached(&self, goal: &WaitGoal) -> bool {
        !self.pending.iter().any(|(id, task)| goal.names(*id, task))
    }

    /// What to do next for `goal`.
    ///
    /// `pick` chooses among the ready tasks, given their number, which is at least 2.
    pub(in crate::driver) fn step(
        &self,
        goal: &WaitGoal,
        schedule: StreamSchedule,
        mut pick: impl FnMut(usize) -> usize,
    ) -> Next {
        // In order, the oldest task comes next if the goal names it: most do, and what else it needs need not be looked for.
        if schedule != StreamSchedule::Random
            && let Some((&id, task)) = self.pending.first_key_value()
            && goal.names(id, task)
            && !task.slow
            && self.is_ready(id)
        {
            return Next::Run(id);
        }
        let mut needed: BTreeSet<TaskId> =
            self.pending.iter().filter(|(id, task)| goal.names(**id, task)).map(|(id, _)| *id).collect();
        if needed.is_empty() {
            return Next::Reached;
        }
        let mut closed: BTreeSet<TaskId> = BTreeSet::new();
        while let Some(id) = needed.pop_last() {
            if closed.insert(id) {
                needed.extend(self.pending[&id].after.iter().filter(|id| !self.done(**id)));
            }
        }
        if schedule == StreamSchedule::Random {
            // Work that the goal does not need may run as well.
            closed = self.pending.keys().copied().collect();
        }
        let mut ready: Vec<TaskId> = closed.into_iter().filter(|id| self.is_ready(*id)).collect();
        let quick: Vec<TaskId> = ready.iter().copied().filter(|id| !self.pending[id].slow).collect();
        if !quick.is_empty() {
            ready = quick;
        }
        match ready.len() {
            0 => Next::Wait,
            1 => Next::Run(ready[0]),
            count if schedule == StreamSchedule::Random => Next::Run(ready[pick(count)]),
            _ => Next::Run(ready[0]),
        }
    }

    fn is_ready(&self, id: TaskId) -> bool {
        let task = &self.pending[&id];
        !task.running && !task.hung && task.unmet == 0 && task.after.iter().all(|before| self.done(*before))
    }
}

impl WaitGoal {
    fn names(&self, id: TaskId, task: &QueuedTask) -> bool {
        match self {
            Self::Tasks(ids) => ids.contains(&id),
            Self::Stream(stream) => task.stream == *stream,
            Self::Context(context) => task.context == *context,
            Self::All => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(stream: Id, after: &[TaskId]) -> QueuedTask {
        QueuedTask::new(1, stream, WorkUnit::Nothing, after.to_vec(), VectorClock::default(), (stream, 1))
    }

    fn order(queue: &mut TaskQueue, goal: &WaitGoal, schedule: StreamSchedule) -> Vec<TaskId> {
        let mut order = Vec::new();
        while let Next::Run(id) = queue.step(goal, schedule, |count| count - 1) {
            queue.finish(id);
            order.push(id);
        }
        order
    }

    #[test]
    fn a_lazy_queue_runs_what_the_goal_comes_after_and_nothing_else() {
        let mut queue = TaskQueue::default();
        let a = queue.push(task(10, &[]));
        let b = queue.push(task(20, &[]));
        let c = queue.push(task(20, &[a, b]));
        let d = queue.push(task(30, &[]));
        assert_eq!(order(&mut queue, &WaitGoal::Tasks(vec![c]), StreamSchedule::Lazy), [a, b, c]);
        assert!(!queue.done(d) && queue.is_reached(&WaitGoal::Stream(20)) && !queue.is_reached(&WaitGoal::All));
    }

    #[test]
    fn slow_work_is_overtaken_by_what_need_not_wait_for_it() {
        let mut queue = TaskQueue::default();
        let a = queue.push(QueuedTask { slow: true, ..task(10, &[]) });
        let b = queue.push(task(10, &[a]));
        let c = queue.push(task(20, &[]));
        assert_eq!(order(&mut queue, &WaitGoal::All, StreamSchedule::Eager), [c, a, b]);
    }

    #[test]
    fn work_that_hangs_is_never_ready_and_fails_whoever_waits_for_it() {
        let mut queue = TaskQueue::default();
        let a = queue.push(QueuedTask { hung: true, ..task(10, &[]) });
        let b = queue.push(task(20, &[]));
        assert_eq!(order(&mut queue, &WaitGoal::All, StreamSchedule::Eager), [b]);
        assert!(!queue.is_reached(&WaitGoal::Stream(10)));
        assert!(queue.give_up() && !queue.give_up());
        assert!(matches!(queue.get_mut(a).unwrap().work, WorkUnit::Fail(Status::LAUNCH_TIMEOUT, _)));
        assert_eq!(order(&mut queue, &WaitGoal::All, StreamSchedule::Eager), [a]);
    }

    #[test]
    fn work_of_other_ranks_is_waited_for_while_any_runs() {
        let mut queue = TaskQueue::default();
        let a = queue.push(task(10, &[]));
        assert!(!queue.is_stuck() && !queue.is_running());
        queue.push(QueuedTask { unmet: 1, ..task(20, &[]) });
        assert!(queue.is_stuck());
        queue.get_mut(a).unwrap().running = true;
        assert!(queue.is_running() && !queue.is_stuck());
        queue.finish(a);
        assert!(queue.is_stuck());
        queue.give_up_unmet();
        assert!(!queue.is_stuck());
    }

    #[test]
    fn a_random_queue_keeps_the_order_that_is_asked_for() {
        let mut queue = TaskQueue::default();
        let a = queue.push(task(10, &[]));
        let b = queue.push(task(10, &[a]));
        let c = queue.push(task(20, &[]));
        assert_eq!(order(&mut queue, &WaitGoal::Stream(10), StreamSchedule::Random), [c, a, b]);
    }
}
