//! A stream, and the recording that it serves, if any.
//!
//! Each submission is numbered here and ordered after earlier ones.

use std::sync::Arc;

use backend_api::BackendError;

use super::GraphRecording;
use crate::{
    device::DeviceCtx,
    error::DriverFault,
    ffi::{CudaStream, Relaxed, SubmissionTurn},
    kernels::LoadedKernel,
    mem::{BlockAccess, Content, DeviceBlock, GRANULE_BYTES, PinnedPiece},
};

/// A stream, and the recording that it serves, if it serves one.
#[derive(Debug)]
pub(crate) struct Track {
    device: Arc<DeviceCtx>,
    stream: Arc<CudaStream>,
    recording: Option<Arc<GraphRecording>>,
}

/// A numbered submission, ordered after the uses it must not overtake.
///
/// Held until the driver has taken the work.
#[derive(Debug)]
#[must_use = "the work is submitted while this is held"]
pub(crate) struct Submission<'a> {
    /// Its number on the stream.
    pub(crate) at: u64,
    turn: SubmissionTurn<'a>,
}

impl Track {
    /// A track that runs submitted work at once, without recording.
    pub(crate) fn new(device: &Arc<DeviceCtx>) -> Result<Self, DriverFault> {
        Ok(Self { device: Arc::clone(device), stream: CudaStream::new(device.context())?, recording: None })
    }

    /// The first track of `recording`, whose stream has begun to record.
    pub(crate) fn of(recording: &Arc<GraphRecording>, device: &Arc<DeviceCtx>, stream: Arc<CudaStream>) -> Self {
        Self { device: Arc::clone(device), stream, recording: Some(Arc::clone(recording)) }
    }

    pub(crate) fn device(&self) -> &Arc<DeviceCtx> {
        &self.device
    }

    pub(crate) fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }

    pub(crate) fn recording(&self) -> Option<&Arc<GraphRecording>> {
        self.recording.as_ref()
    }

    /// Takes at least `bytes` bytes of device memory for the work of the track.
    ///
    /// Their content is undefined.
    ///
    /// Within a recording it prefers memory that the recording took before and that has no other
    /// owner any more.
    pub(crate) fn take(&self, bytes: u64) -> Result<Arc<DeviceBlock>, BackendError> {
        let rounded = bytes.checked_next_multiple_of(GRANULE_BYTES).ok_or(BackendError::OutOfMemory { bytes })?;
        if let Some(block) = self.recording().and_then(|recording| recording.reuse(rounded)) {
            return Ok(block);
        }
        let reserved = self.device.budget().reserve(rounded)?;
        let _relaxed = self.relax()?;
        let source = (self.device.pool(), self.device.events());
        let block = DeviceBlock::take(source, self.home(), rounded, reserved, || self.reclaim())?;
        if let Some(recording) = self.recording() {
            recording.took(&block);
        }
        Ok(block)
    }

    /// Takes pinned memory for a copy of `bytes` bytes; `None` if it must do without.
    pub(crate) fn take_pinned(&self, bytes: usize, content: Content) -> Result<Option<PinnedPiece>, DriverFault> {
        let _relaxed = self.relax()?;
        self.device.pinned().acquire(bytes, content)
    }

    /// Fails if `block` is memory of another device.
    pub(crate) fn own(&self, op: &'static str, block: &DeviceBlock) -> Result<(), BackendError> {
        if block.is_from(self.device.pool()) { Ok(()) } else { Err(BackendError::MixedBackend { op }) }
    }

    /// Gives unused memory back to the device.
    ///
    /// An allocation that failed may then be tried once more.
    fn reclaim(&self) -> Result<(), DriverFault> {
        self.device.reclaim(self.recording.as_ref().map(|recording| &**recording.home()))
    }

    /// The stream in whose order memory comes and goes.
    ///
    /// A stream that records runs nothing, so it lends none.
    fn home(&self) -> &Arc<CudaStream> {
        self.recording.as_ref().map_or(&self.stream, |recording| recording.home())
    }

    /// A second track after all work that this one holds now.
    pub(crate) fn fork(&self) -> Result<Self, BackendError> {
        let stream = CudaStream::new(self.device.context())?;
        let turn = self.device.context().turn();
        match &self.recording {
            None => stream.order_after_all(&self.stream, self.device.events(), &turn)?,
            Some(recording) => recording.add_stream(&self.stream, &stream, &turn)?,
        }
        drop(turn);
        Ok(Self { device: Arc::clone(&self.device), stream, recording: self.recording.clone() })
    }

    /// Orders later work after all work that `branch` holds now.
    pub(crate) fn join(&self, branch: &Self) -> Result<(), BackendError> {
        let turn = self.device.context().turn();
        match (&self.recording, &branch.recording) {
            (None, None) => {}
            (Some(own), Some(other)) if Arc::ptr_eq(own, other) => own.permit("join", &turn)?,
            _ => {
                self.permit_waiting("join")?;
                branch.permit_waiting("join")?;
            }
        }
        Ok(self.stream.order_after_all(&branch.stream, self.device.events(), &turn)?)
    }

    /// Numbers the next submission and orders it after the uses it must not overtake.
    ///
    /// # Errors
    /// [`BackendError::Unsupported`] if the track records for a recording that has ended, and the
    /// driver's errors.
    pub(crate) fn admit(
        &self,
        op: &'static str,
        uses: &[(&Arc<DeviceBlock>, BlockAccess)],
    ) -> Result<Submission<'_>, BackendError> {
        let turn = self.device.context().turn();
        if let Some(recording) = &self.recording {
            recording.permit(op, &turn)?;
        }
        let at = self.stream.issue(&turn);
        for (block, access) in uses {
            match &self.recording {
                None => block.admit(&self.stream, at, *access, &turn)?,
                Some(recording) => recording.admit(block, &self.stream, at, *access, &turn)?,
            }
        }
        Ok(Submission { at, turn })
    }

    /// Notes a launch, for the report of a lost device.
    pub(crate) fn launched(&self, admitted: &Submission<'_>, kernel: &Arc<LoadedKernel>) {
        match &self.recording {
            None => self.device.context().launched(self.stream.id(), admitted.at, kernel.name()),
            Some(recording) => recording.launched(kernel),
        }
    }

    /// Gives pinned memory away until the work that was `admitted` and submitted is done.
    ///
    /// If that work is recorded, it is given away for good.
    pub(crate) fn retire(&self, piece: PinnedPiece, admitted: Submission<'_>) -> Result<(), DriverFault> {
        match &self.recording {
            None => {
                drop(admitted);
                piece.retire(&self.stream)
            }
            Some(recording) => {
                recording.keep(piece, &admitted.turn);
                Ok(())
            }
        }
    }

    /// Fails if the track records: a recording cannot wait.
    pub(crate) fn permit_waiting(&self, op: &'static str) -> Result<(), BackendError> {
        match &self.recording {
            None => Ok(()),
            Some(recording) => {
                recording.refuse();
                Err(BackendError::Unsupported { op, why: "waiting for the device cannot be recorded" })
            }
        }
    }

    /// Lets this thread make calls that a running recording must not see.
    pub(crate) fn relax(&self) -> Result<Option<Relaxed<'_>>, DriverFault> {
        self.recording.as_ref().map(|_| Relaxed::enter(self.device.context())).transpose()
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::mpsc::{RecvTimeoutError, channel},
        time::Duration,
    };

    use backend_api::{Buffer, Fork, Queue};

    use crate::{CudaQueue, mem::BlockAccess, rig};

    /// A number that was issued but not yet submitted counts neither as done nor as ordered.
    ///
    /// Work after it is not ordered by it.
    #[test]
    fn nobody_counts_on_work_that_is_numbered_and_not_submitted() {
        type Wait = fn(&CudaQueue, &CudaQueue) -> Result<(), backend_api::BackendError>;
        let waits: [Wait; 2] = [|queue, _| queue.finish(), |queue, other| other.join(queue)];
        for wait in waits {
            let (_session, queue) = rig::bare("schedule=random;seed=1");
            let other = queue.fork().unwrap();
            let buf = queue.zeros::<u8>(64).unwrap();
            let (region, track) = (buf.view().region().unwrap(), queue.track());
            let (sender, waited) = channel();
            test_process::scope(|scope| {
                let admitted = track.admit("clear", &[(region.block(), BlockAccess::Write)]).unwrap();
                scope.spawn(|| sender.send(wait(&queue, &other)).unwrap());
                assert_eq!(waited.recv_timeout(Duration::from_millis(50)), Err(RecvTimeoutError::Timeout));
                drop(admitted);
                waited.recv_timeout(test_process::LIMIT).unwrap().unwrap();
            });
        }
    }
}
