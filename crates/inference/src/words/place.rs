//! Placed words and the steps recorded in a run.
//!
//! A step is recorded after its operands. The engine runs the steps in this order, so that no step
//! waits for another one, however long a chain of them is.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use zeroize::Zeroizing;

use super::{Local, Stored, Words};

/// The steps recorded in one run that have not run, oldest first.
///
/// Its address identifies the run.
#[derive(Default)]
pub(crate) struct Run(Mutex<Vec<Weak<Place>>>);

impl Run {
    /// Words that the engine computes when a step needs them: they have no operands.
    pub(super) fn source(self: &Arc<Self>, local: Local) -> Words {
        Words(Stored::Placed(Arc::new(Place::new(self, local.len(), Some(local)))))
    }

    /// The result of a local step, which the engine runs before its next call.
    pub(super) fn record(self: &Arc<Self>, local: Local) -> Words {
        let place = Arc::new(Place::new(self, local.len(), Some(local)));
        self.steps().push(Arc::downgrade(&place));
        Words(Stored::Placed(place))
    }

    /// All recorded steps. They are no longer in the list.
    pub(super) fn take(&self) -> Vec<Weak<Place>> {
        core::mem::take(&mut *self.steps())
    }

    /// Puts steps back before those recorded since.
    pub(super) fn put_back(&self, steps: impl Iterator<Item = Weak<Place>>) {
        self.steps().splice(0..0, steps);
    }

    fn steps(&self) -> MutexGuard<'_, Vec<Weak<Place>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Words that the engine of a run has placed, or computes.
///
/// An engine finds the words of a place by its address.
pub(crate) struct Place {
    run: Arc<Run>,
    len: usize,
    /// The step that has not run yet.
    step: Mutex<Option<Local>>,
}

impl Place {
    fn new(run: &Arc<Run>, len: usize, step: Option<Local>) -> Self {
        Self { run: Arc::clone(run), len, step: Mutex::new(step) }
    }

    /// Words that the engine of `run` has.
    pub(super) fn filled(run: &Arc<Run>, len: usize) -> Self {
        Self::new(run, len, None)
    }

    pub(super) const fn run(&self) -> &Arc<Run> {
        &self.run
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// The step, if it has not run. It owns its operands.
    pub(super) fn take(&self) -> Option<Local> {
        self.step().take()
    }

    /// Puts back a step that failed.
    pub(super) fn put_back(&self, local: Local) {
        *self.step() = Some(local);
    }

    /// The words, if they are in host memory, and no step has needed them elsewhere.
    pub(super) fn on_host(&self) -> Option<Arc<Zeroizing<Vec<u64>>>> {
        match &*self.step() {
            Some(Local::Given(words)) => Some(Arc::clone(words)),
            Some(Local::Zeros(len)) => Some(Arc::new(vec![0; *len].into())),
            _ => None,
        }
    }

    /// Whether the words are zeros that no step has needed in the engine's memory.
    pub(super) fn is_zeros(&self) -> bool {
        matches!(*self.step(), Some(Local::Zeros(_)))
    }

    fn step(&self) -> MutexGuard<'_, Option<Local>> {
        self.step.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Drops a chain of steps that have not run, in a loop: each may own the one before it.
impl Drop for Place {
    fn drop(&mut self) {
        let mut steps: Vec<Local> = self.take().into_iter().collect();
        while let Some(step) = steps.pop() {
            for Words(stored) in step.into_operands().into_iter().flatten() {
                if let Stored::Placed(place) = stored
                    && let Some(unused) = Arc::into_inner(place)
                {
                    steps.extend(unused.take());
                }
            }
        }
    }
}
