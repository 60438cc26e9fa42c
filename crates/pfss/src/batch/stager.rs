use backend_api::{BackendError, BackendKind, Fork, Queue};

use super::BatchError;

/// The queues by which keys reach a device and results leave it, beside the one that computes.
///
/// A super-batch on a GPU needs one. Buffers that several queues use are ordered by the queues themselves.
pub trait Stager<Q> {
    /// Where keys go to the device.
    fn upload(&self) -> &Q;

    /// Where results come back to the host.
    fn download(&self) -> &Q;
}

/// Three queues of one device: computation, copies to it, and copies from it.
///
/// Other work, such as a matrix product, may use further forks beside these; nothing here waits for the whole device.
#[derive(Debug)]
pub struct Streams<Q> {
    upload: Q,
    download: Q,
}

impl<Q: Fork> Streams<Q> {
    /// Forks the queues for copies from the queue of the computation.
    ///
    /// # Errors
    /// What the device reports if it cannot give another queue.
    pub fn fork(compute: &Q) -> Result<Self, BackendError> {
        Ok(Self { upload: compute.fork()?, download: compute.fork()? })
    }
}

impl<Q> Stager<Q> for Streams<Q> {
    fn upload(&self) -> &Q {
        &self.upload
    }

    fn download(&self) -> &Q {
        &self.download
    }
}

/// The queues of a pipeline.
pub(super) struct Queues<'q, Q> {
    pub(super) compute: &'q Q,
    pub(super) upload: &'q Q,
    pub(super) download: &'q Q,
}

impl<'q, Q: Queue> Queues<'q, Q> {
    /// A processor needs no stager, any other device does, and its own.
    pub(super) fn new(compute: &'q Q, stager: Option<&'q dyn Stager<Q>>) -> Result<Self, BatchError> {
        let kind = compute.caps().kind;
        let Some(stager) = stager else {
            if kind == BackendKind::Cpu {
                return Ok(Self { compute, upload: compute, download: compute });
            }
            return Err(BatchError::NoStager { kind });
        };
        for queue in [stager.upload(), stager.download()] {
            let (expected, got) = (compute.caps(), queue.caps());
            if (expected.kind, &expected.device) != (got.kind, &got.device) {
                let [expected, got] = [expected, got].map(|caps| format!("{} ({})", caps.kind, caps.device));
                return Err(BatchError::ForeignStager { expected, got });
            }
        }
        Ok(Self { compute, upload: stager.upload(), download: stager.download() })
    }
}
