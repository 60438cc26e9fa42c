//! Numbers of folds of the layers of FRI.
//!
//! They determine the number of values of a layer that are opened together.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

/// How often a layer was folded until the next one was committed to.
#[derive(Debug, Default)]
pub(crate) struct Folds {
    folds: AtomicU32,
    /// The layer that was folded to this one on the circle.
    ///
    /// It is present if another fold follows that fold.
    before: Option<Arc<Folds>>,
}

impl Folds {
    /// The folds of the layer that `before` folds to on the circle.
    pub(crate) fn after(before: Arc<Self>) -> Self {
        Self { folds: AtomicU32::new(0), before: Some(before) }
    }

    /// Notes that the layer was folded.
    pub(crate) fn fold(&self, folds: u32) {
        self.folds.store(folds, Ordering::Relaxed);
        if let Some(before) = &self.before {
            before.folds.store(1 + folds, Ordering::Relaxed);
        }
    }

    /// How often it was folded.
    pub(crate) fn get(&self) -> u32 {
        self.folds.load(Ordering::Relaxed)
    }
}
