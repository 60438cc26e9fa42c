//! Streaming of keys through the device.
//!
//! While one part of a job is walked, the keys of the next are copied.

use core::cell::{Cell, RefCell};
use std::{collections::VecDeque, sync::Arc};

use backend_api::ops::fss::FssOps;

use super::stager::Queues;
use crate::{
    Evaluator, KeyBundle, MaskedKeys, PfssError, Step,
    batch::timing::meter::Meter,
    gates::{
        plan::TaskPlan,
        walk::evaluator::{Activity, DeviceTrees, HostTree, TreeRef},
    },
};

/// Consecutive elements of a job.
pub(in crate::batch) struct JobPart {
    /// Position of the job.
    pub(in crate::batch) job: usize,
    pub(in crate::batch) plan: Arc<TaskPlan>,
    pub(in crate::batch) keys: MaskedKeys,
    pub(in crate::batch) x_hat: Vec<u64>,
}

/// A part whose keys are on the device, or on their way.
struct StagedPart<'q, Q: FssOps> {
    number: u64,
    part: JobPart,
    /// `None` for a tree that is read in place.
    trees: Vec<Option<DeviceTrees<'q, Q>>>,
}

/// Walks `parts` in order and passes each result to `done`.
///
/// The keys of at most `slots` parts are on the device at once.
///
/// Keys are copied on the queue for uploads as soon as the walk before them is submitted, and their
/// memory is reused after the events that the buffers keep.
pub(in crate::batch) fn run<'q, Q: FssOps>(
    queues: &'q Queues<'q, Q>,
    meter: &Meter<'_, Q>,
    slots: usize,
    parts: impl Iterator<Item = JobPart>,
    mut done: impl FnMut(usize, usize, Step),
) -> Result<(), PfssError> {
    let (source, ahead, staged) = (RefCell::new(parts), RefCell::new(VecDeque::new()), Cell::new(0));
    let stage = || -> Result<bool, PfssError> {
        let Some(part) = source.borrow_mut().next() else { return Ok(false) };
        let (q, number) = (queues.upload(), staged.replace(staged.get() + 1));
        let trees = (0..part.keys.gate().trees().len()).map(|index| match HostTree::of(q, &part.keys.0, index) {
            Some(_) => Ok(None),
            None => DeviceTrees::upload(q, &part.keys.0, index).map(Some),
        });
        let trees = meter.during(Activity::CopyIn, number, q, || trees.collect::<Result<_, _>>())?;
        ahead.borrow_mut().push_back(StagedPart { number, part, trees });
        Ok(true)
    };
    // One slot is taken by the part being walked.
    let fill = || -> Result<(), PfssError> {
        while ahead.borrow().len() + 1 < slots && stage()? {}
        Ok(())
    };
    loop {
        if ahead.borrow().is_empty() && !stage()? {
            return Ok(());
        }
        let Some(StagedPart { number, part, trees }) = ahead.borrow_mut().pop_front() else { return Ok(()) };
        let resident = Resident { queues, meter, number, trees: &trees, meanwhile: &fill };
        let count = part.keys.count();
        let step = part.plan.eval(&resident, part.keys, part.x_hat)?;
        meter.settle(queues.compute(), number)?;
        done(part.job, count, step);
    }
}

/// A part's keys in device memory, for its gate to walk.
struct Resident<'p, 'q, Q: FssOps> {
    queues: &'q Queues<'q, Q>,
    meter: &'p Meter<'p, Q>,
    number: u64,
    trees: &'p [Option<DeviceTrees<'q, Q>>],
    meanwhile: &'p dyn Fn() -> Result<(), PfssError>,
}

impl<Q: FssOps> Evaluator for Resident<'_, '_, Q> {
    type Queue = Q;

    fn queue(&self) -> &Q {
        self.queues.compute()
    }

    fn results(&self) -> &Q {
        self.queues.download()
    }

    fn tree<'a>(&'a self, bundle: &'a KeyBundle, index: usize) -> Result<TreeRef<'a, Q>, PfssError> {
        match &self.trees[index] {
            Some(tree) => Ok(TreeRef::Shared(tree, 0)),
            None => self.queue().tree(bundle, index),
        }
    }

    fn during<T>(&self, stage: Activity, work: impl FnOnce() -> T) -> T {
        let q = if stage == Activity::CopyOut { self.results() } else { self.queue() };
        self.meter.during(stage, self.number, q, work)
    }

    fn meanwhile(&self) -> Result<(), PfssError> {
        (self.meanwhile)()
    }
}
