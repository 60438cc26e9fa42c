//! The way into the driver that every call takes.

use std::{
    cell::{Cell, RefCell},
    mem::ManuallyDrop,
    sync::{MutexGuard, PoisonError},
    time::Duration,
};

use cuda_loader::Status;

use super::{
    faults::Effect,
    handle::Id,
    spec::StreamSchedule,
    state::{
        Driver, PROGRESS, lock,
        outcome::Did,
        queue::{Next, TaskId, WaitGoal},
        work::WorkUnit,
    },
};

thread_local! {
    /// Contexts of this thread, the current one last.
    ///
    /// Never dropped: a thread that ends may still give things back.
    static CONTEXTS: RefCell<ManuallyDrop<Vec<Id>>> = const { RefCell::new(ManuallyDrop::new(Vec::new())) };
    /// Whether this thread runs a host function, from which the driver must not be called.
    static IN_HOST_FUNCTION: Cell<bool> = const { Cell::new(false) };
}

/// How long threads wait for other ranks while no work runs or ends anywhere.
const PATIENCE: Duration = Duration::from_secs(20);

/// Preconditions of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Needs {
    /// An initialised driver.
    Driver,
    /// A current context that no error has lost.
    Context,
    /// As `Driver`, for a call that gives something back.
    ///
    /// It does so even in a lost context, but answers the error that lost the context.
    Release,
    /// As `Driver`, for a call that ends contexts or changes which one is current.
    ///
    /// The state of the contexts does not matter.
    Contexts,
}

/// A call in progress: the driver's state, unlocked while work runs.
pub(super) struct DriverCall {
    guard: Option<MutexGuard<'static, Option<Driver>>>,
    /// The function.
    pub(super) name: &'static str,
    /// What an injected fault does to the work that the call enqueues.
    pub(super) effect: Option<Effect>,
    context: Option<Id>,
}

/// Runs `body` as the call of function `name`.
pub(super) fn call(
    name: &'static str,
    needs: Needs,
    body: impl FnOnce(&mut DriverCall) -> Result<(), Status>,
) -> Status {
    let mut body = Some(body);
    admitted(name, needs, &mut |entry| body.take().map_or(Ok(()), |body| body(entry)))
}

/// Runs `body` between the checks common to all calls.
///
/// It is compiled once, not for each call.
fn admitted(name: &'static str, needs: Needs, body: &mut dyn FnMut(&mut DriverCall) -> Result<(), Status>) -> Status {
    if IN_HOST_FUNCTION.get() {
        return Status::NOT_PERMITTED;
    }
    let mut entry = DriverCall { guard: Some(lock()), name, effect: None, context: current() };
    let lost_before = if needs == Needs::Release { entry.check() } else { Ok(()) };
    let outcome = entry.admit(needs).and_then(|()| body(&mut entry));
    match lost_before.and(outcome) {
        Ok(()) => Status::SUCCESS,
        Err(code) => {
            entry.note_failure(code);
            code
        }
    }
}

/// The current context of this thread.
pub(super) fn current() -> Option<Id> {
    CONTEXTS.with_borrow(|contexts| contexts.last().copied())
}

/// Changes the contexts of this thread.
pub(super) fn with_contexts<T>(change: impl FnOnce(&mut Vec<Id>) -> T) -> T {
    CONTEXTS.with_borrow_mut(|contexts| {
        let outcome = change(contexts);
        if contexts.is_empty() {
            contexts.shrink_to_fit();
        }
        outcome
    })
}

impl DriverCall {
    /// Records that the error that lost the context was returned to the host.
    ///
    /// If the context was not lost, this error loses it.
    fn note_failure(&mut self, code: Status) {
        let context = self.context;
        let driver = self.guard.as_mut().and_then(|guard| guard.as_mut());
        let context = driver.zip(context).and_then(|(driver, context)| driver.contexts.get_mut(&context));
        if let Some(context) = context {
            if code.is_sticky() {
                context.lost.get_or_insert(code);
            }
            context.told |= context.lost == Some(code);
        }
    }

    fn admit(&mut self, needs: Needs) -> Result<(), Status> {
        let name = self.name;
        let context = self.context;
        let Some(driver) = self.guard.as_mut().and_then(|guard| guard.as_mut()) else {
            return Err(Status::NOT_INITIALIZED);
        };
        *driver.counters.calls.entry(name).or_default() += 1;
        let context = context.and_then(|context| driver.contexts.get(&context));
        let lost = context.and_then(|context| context.lost);
        if context.is_some_and(|context| context.told) && ![Needs::Release, Needs::Contexts].contains(&needs) {
            driver.counters.calls_after_sticky.push(name);
        }
        let effects: Vec<Effect> = driver.spec.faults.iter_mut().filter_map(|rule| rule.meet(name)).collect();
        for effect in effects {
            match effect {
                Effect::Answer(code) => return Err(code),
                later => self.effect = Some(later),
            }
        }
        if needs == Needs::Context {
            self.context()?;
            if let Some(code) = lost {
                return Err(code);
            }
        }
        Ok(())
    }

    /// The driver's state.
    pub(super) fn driver(&mut self) -> &mut Driver {
        let driver = self.guard.as_mut().and_then(|guard| guard.as_mut());
        driver.expect("a call is admitted only while a driver is installed, and it is never removed")
    }

    /// The current context.
    pub(super) fn context(&mut self) -> Result<Id, Status> {
        let context = self.context.ok_or(Status::INVALID_CONTEXT)?;
        if self.driver().contexts.contains_key(&context) { Ok(context) } else { Err(Status::CONTEXT_IS_DESTROYED) }
    }

    /// The device of the current context.
    pub(super) fn device(&mut self) -> Result<u32, Status> {
        let context = self.context()?;
        Ok(self.driver().contexts[&context].device)
    }

    /// Does the work that `goal` needs, with the driver unlocked meanwhile.
    ///
    /// Records that the host has waited for it.
    ///
    /// # Errors
    /// The code that lost the current context.
    pub(super) fn wait(&mut self, goal: &WaitGoal) -> Result<(), Status> {
        loop {
            match self.step(goal) {
                Next::Reached => break,
                Next::Run(id) => self.run(id),
                Next::Wait if self.driver().queue.give_up() => {}
                Next::Wait if self.sleep() => {}
                Next::Wait => self.driver().queue.give_up_unmet(),
            }
        }
        self.driver().learn(goal);
        self.check()
    }

    /// Waits for progress, with the driver unlocked.
    ///
    /// Returns `false` if nothing has happened for long and the queue is stuck.
    fn sleep(&mut self) -> bool {
        let Some(guard) = self.guard.take() else { return true };
        let (guard, waited) = PROGRESS.wait_timeout(guard, PATIENCE).unwrap_or_else(PoisonError::into_inner);
        self.guard = Some(guard);
        !(waited.timed_out() && self.driver().queue.is_stuck())
    }

    /// Waits for progress of other threads until `is_done`.
    ///
    /// Returns `false` if nothing has happened for long before then.
    pub(super) fn await_others(&mut self, is_done: impl Fn(&Driver) -> bool) -> bool {
        while !is_done(self.driver()) {
            let Some(guard) = self.guard.take() else { return false };
            let (guard, waited) = PROGRESS.wait_timeout(guard, PATIENCE).unwrap_or_else(PoisonError::into_inner);
            self.guard = Some(guard);
            if waited.timed_out() && !self.driver().queue.is_running() && !is_done(self.driver()) {
                return false;
            }
        }
        true
    }

    /// Whether `goal`, whose last task is `last`, is reached.
    ///
    /// Devices make progress while the host polls: every query but the first does one task that the
    /// goal needs, before the answer, so that the work of a goal that is not reached is not done.
    pub(super) fn poll(&mut self, goal: &WaitGoal, last: Option<TaskId>) -> bool {
        if self.driver().queue.is_reached(goal) {
            return true;
        }
        let driver = self.driver();
        driver.polled.retain(|&task| !driver.queue.done(task));
        if last.is_some_and(|last| driver.polled.insert(last)) {
            return false;
        }
        self.advance(goal);
        self.driver().queue.is_reached(goal)
    }

    /// Does one task that `goal` needs, if one is ready.
    fn advance(&mut self, goal: &WaitGoal) {
        if let Next::Run(id) = self.step(goal) {
            self.run(id);
        }
    }

    /// Runs the work that the schedule starts as soon as it has been enqueued.
    pub(super) fn settle(&mut self) {
        match self.driver().spec.schedule {
            StreamSchedule::Lazy => {}
            StreamSchedule::Random => {
                for _ in 0..self.driver().draw() % 3 {
                    self.advance(&WaitGoal::All);
                }
            }
            StreamSchedule::Eager => {
                while let Next::Run(id) = self.step(&WaitGoal::All) {
                    self.run(id);
                }
            }
        }
    }

    /// The error that lost the current context.
    pub(super) fn check(&self) -> Result<(), Status> {
        let driver = self.guard.as_ref().and_then(|guard| guard.as_ref());
        match driver.zip(self.context).and_then(|(driver, context)| driver.contexts.get(&context)?.lost) {
            Some(code) => Err(code),
            None => Ok(()),
        }
    }

    fn step(&mut self, goal: &WaitGoal) -> Next {
        let driver = self.driver();
        let schedule = driver.spec.schedule;
        let draw = driver.draw();
        driver.queue.step(goal, schedule, |count| (draw % count as u64) as usize)
    }

    fn run(&mut self, id: u64) {
        let driver = self.driver();
        let (memory, options) = (driver.memory.clone(), driver.options.clone());
        let Some(task) = driver.queue.get_mut(id) else { return };
        task.running = true;
        let (work, context, source, who) = (task.work.clone(), task.context, task.source, task.who);
        // Work after a failure is not done, but memory still comes back.
        let is_lost = |driver: &Driver, context| driver.contexts.get(&context).is_none_or(|it| it.lost.is_some());
        let lost = is_lost(driver, context);
        if let WorkUnit::Carry(carry) = &work
            && !lost
            && is_lost(driver, carry.source_context)
        {
            // Data of a lost context is not moved; its receivers keep waiting, unless the communicator has been
            // aborted.
            let waits = driver.comms.contains_key(&carry.comm);
            if let Some(leave) = driver.queue.get_mut(carry.leave).filter(|_| waits) {
                leave.unmet += 1;
            }
            driver.complete(id, Ok(Did::default()));
            PROGRESS.notify_all();
            return;
        }
        let outcome = if lost && !matches!(work, WorkUnit::Free(_)) {
            Ok(Did::default())
        } else {
            if let Some((digest, done)) = source {
                driver.check_source(&work, digest, done);
            }
            let is_host_function = matches!(work, WorkUnit::Host(_));
            let unchanged = if is_host_function { driver.unchanged_sources() } else { Vec::new() };
            self.guard = None;
            IN_HOST_FUNCTION.set(is_host_function);
            let outcome = work.run(&memory, &options);
            IN_HOST_FUNCTION.set(false);
            self.guard = Some(lock());
            if is_host_function {
                self.driver().renew_sources(who, &work.to_string(), &unchanged);
            }
            outcome
        };
        // A new session may have replaced the driver meanwhile; its queue then has no such task.
        self.driver().complete(id, outcome);
        PROGRESS.notify_all();
    }
}
