//! Keys on their way through the device: while one part of a job is walked, the keys of the next are copied.

use core::cell::RefCell;
use std::collections::VecDeque;

use backend_api::ops::fss::FssOps;

use super::{Work, job::Step, stager::Queues, times::Stopwatch};
use crate::{
    KeyBundle, PfssError, Walk,
    gates::{Activity, DeviceTree, Lent},
};

/// Consecutive elements of a job.
pub(super) struct Part<'a> {
    /// Position of the job.
    pub(super) job: usize,
    pub(super) work: Work<'a>,
    pub(super) bundle: KeyBundle,
    pub(super) x_hat: Vec<u64>,
}

/// A part whose keys are on the device, or on their way.
struct Staged<'a, 'q, Q: FssOps> {
    part: Part<'a>,
    trees: Vec<DeviceTree<'q, Q>>,
}

/// Walks `parts` in order and hands each result to `done`, with the keys of at most `slots` parts on the device at once.
///
/// Keys are copied on the queue for uploads as soon as the walk before them is submitted, and their memory is reused
/// behind the events that the buffers keep.
pub(super) fn run<'a, 'q, Q: FssOps>(
    queues: &'q Queues<'q, Q>,
    watch: &Stopwatch<'_>,
    slots: usize,
    parts: impl Iterator<Item = Part<'a>>,
    mut done: impl FnMut(usize, usize, Step),
) -> Result<(), PfssError> {
    let (source, ahead) = (RefCell::new(parts), RefCell::new(VecDeque::new()));
    let stage = || -> Result<bool, PfssError> {
        let Some(part) = source.borrow_mut().next() else { return Ok(false) };
        let upload = |index| DeviceTree::upload(queues.upload(), &part.bundle, index);
        let trees = (0..part.bundle.gate().trees().len()).map(upload);
        let trees = watch.during(Activity::CopyIn, || trees.collect::<Result<_, _>>())?;
        ahead.borrow_mut().push_back(Staged { part, trees });
        Ok(true)
    };
    // One slot is that of the walk.
    let fill = || -> Result<(), PfssError> {
        while ahead.borrow().len() + 1 < slots && stage()? {}
        Ok(())
    };
    loop {
        if ahead.borrow().is_empty() && !stage()? {
            return Ok(());
        }
        let Some(Staged { part, trees }) = ahead.borrow_mut().pop_front() else { return Ok(()) };
        let resident = Resident { queues, watch, trees: &trees, meanwhile: &fill };
        let step = part.work.eval(&resident, part.bundle, &part.x_hat)?;
        done(part.job, part.x_hat.len(), step);
    }
}

/// A part's keys in device memory, for its gate to walk.
struct Resident<'p, 'q, Q: FssOps> {
    queues: &'q Queues<'q, Q>,
    watch: &'p Stopwatch<'p>,
    trees: &'p [DeviceTree<'q, Q>],
    meanwhile: &'p dyn Fn() -> Result<(), PfssError>,
}

impl<Q: FssOps> Walk for Resident<'_, '_, Q> {
    type Queue = Q;

    fn queue(&self) -> &Q {
        self.queues.compute()
    }

    fn results(&self) -> &Q {
        self.queues.download()
    }

    fn tree(&self, _bundle: &KeyBundle, index: usize) -> Result<Lent<'_, Q>, PfssError> {
        Ok(Lent::Shared(&self.trees[index]))
    }

    fn during<T>(&self, stage: Activity, work: impl FnOnce() -> T) -> T {
        self.watch.during(stage, work)
    }

    fn meanwhile(&self) -> Result<(), PfssError> {
        (self.meanwhile)()
    }
}
