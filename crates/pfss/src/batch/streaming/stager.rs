//! The queues of a pipeline: for computation, for copies to the device, for copies from it.

use backend_api::{BackendError, BackendKind, Caps, Fork, Queue};

use super::ref_or_arc::RefOrArc;
use crate::error::BatchError;

/// The copy queues of a device: a stager, for keys to it and results from it.
///
/// They are in addition to the queue that computes. A super-batch on a GPU needs them. The queues
/// themselves order the use of buffers that they share. Other work, such as a matrix product, may
/// use further forks; nothing here waits for the whole device.
#[derive(Debug)]
pub struct Streams<Q> {
    /// Where keys go to the device.
    pub upload: Q,
    /// Where results come back to the host.
    pub download: Q,
}

impl<Q: Fork> Streams<Q> {
    /// Forks the queues for copies from the queue of the computation.
    ///
    /// # Errors
    /// The device's error if it cannot create another queue.
    pub fn fork(compute: &Q) -> Result<Self, BackendError> {
        Ok(Self { upload: compute.fork()?, download: compute.fork()? })
    }

    /// The queues for copies to the device and from it.
    ///
    /// [`SuperBatch::shared`](crate::batch::SuperBatch::shared) takes them in this form.
    #[must_use]
    pub fn into_queues(self) -> [Q; 2] {
        [self.upload, self.download]
    }
}

/// The queues of a pipeline.
pub(in crate::batch) struct Queues<'q, Q> {
    compute: RefOrArc<'q, Q>,
    upload: RefOrArc<'q, Q>,
    download: RefOrArc<'q, Q>,
}

impl<'q, Q: Queue> Queues<'q, Q> {
    /// Combines a queue with its stager's queues for uploads and downloads.
    ///
    /// A processor needs no stager; any other device needs a dedicated one.
    pub(in crate::batch) fn new(
        compute: RefOrArc<'q, Q>,
        stager: Option<[RefOrArc<'q, Q>; 2]>,
    ) -> Result<Self, BatchError> {
        let kind = compute.caps().kind;
        let [upload, download] = match stager {
            Some(queues) => queues,
            None if kind == BackendKind::Cpu => [compute.clone(), compute.clone()],
            None => return Err(BatchError::NoStager { kind }),
        };
        for queue in [&upload, &download] {
            let [expected, mut got] = [&compute, queue].map(|queue| named(queue.caps()));
            // Forks share a budget; two devices of one name, or a device that is opened twice, have two.
            let shares_memory = kind == BackendKind::Cpu || core::ptr::eq(compute.budget(), queue.budget());
            if expected == got && shares_memory {
                continue;
            }
            if expected == got {
                got.push_str(", opened separately");
            }
            return Err(BatchError::ForeignStager { expected, got });
        }
        Ok(Self { compute, upload, download })
    }

    /// Where key trees are walked.
    pub(in crate::batch) fn compute(&self) -> &Q {
        &self.compute
    }

    /// [`compute`](Self::compute), to be held independently of whatever holds these queues.
    pub(in crate::batch) fn hold_compute(&self) -> RefOrArc<'q, Q> {
        self.compute.clone()
    }

    /// Where keys go to the device.
    pub(in crate::batch) fn upload(&self) -> &Q {
        &self.upload
    }

    /// Where results come back.
    pub(super) fn download(&self) -> &Q {
        &self.download
    }
}

/// The kind and the name of a device.
fn named(caps: &Caps) -> String {
    format!("{} ({})", caps.kind, caps.device)
}
