use std::sync::Arc;

use backend_api::BackendError;

use crate::{
    device::DeviceCtx,
    error::Fault,
    ffi::{Relaxed, Stream},
    mem::{Access, Block, Piece},
    session::Session,
};

/// A stream, and the recording that it serves, if it serves one.
#[derive(Debug)]
pub(crate) struct Lane {
    device: Arc<DeviceCtx>,
    stream: Arc<Stream>,
    session: Option<Arc<Session>>,
}

impl Lane {
    /// A lane that runs what is submitted to it.
    pub(crate) fn new(device: &Arc<DeviceCtx>) -> Result<Self, Fault> {
        Ok(Self { device: Arc::clone(device), stream: Stream::new(device.context())?, session: None })
    }

    /// The lane that `session` records first.
    pub(crate) fn recording(device: &Arc<DeviceCtx>, stream: Arc<Stream>, session: &Arc<Session>) -> Self {
        Self { device: Arc::clone(device), stream, session: Some(Arc::clone(session)) }
    }

    pub(crate) fn device(&self) -> &Arc<DeviceCtx> {
        &self.device
    }

    pub(crate) fn stream(&self) -> &Arc<Stream> {
        &self.stream
    }

    pub(crate) fn session(&self) -> Option<&Arc<Session>> {
        self.session.as_ref()
    }

    /// The stream in whose order memory comes and goes. A stream that records runs nothing, so it lends none.
    pub(crate) fn home(&self) -> &Arc<Stream> {
        self.session.as_ref().map_or(&self.stream, |session| session.home())
    }

    /// A second lane behind all work that this one holds now.
    pub(crate) fn fork(&self) -> Result<Self, Fault> {
        let stream = Stream::new(self.device.context())?;
        match &self.session {
            None => stream.order_behind_all(&self.stream, self.device.events())?,
            Some(session) => session.add_stream(&self.stream, &stream)?,
        }
        Ok(Self { device: Arc::clone(&self.device), stream, session: self.session.clone() })
    }

    /// Orders later work behind all work that `branch` holds now.
    pub(crate) fn join(&self, branch: &Self) -> Result<(), BackendError> {
        match (&self.session, &branch.session) {
            (None, None) => {}
            (Some(own), Some(other)) if Arc::ptr_eq(own, other) => {}
            _ => {
                self.permit_waiting("join")?;
                branch.permit_waiting("join")?;
            }
        }
        Ok(self.stream.order_behind_all(&branch.stream, self.device.events())?)
    }

    /// Numbers the next submission and orders it behind what it must not overtake.
    pub(crate) fn admit(&self, uses: &[(&Arc<Block>, Access)]) -> Result<u64, Fault> {
        let at = self.stream.issue();
        for (block, access) in uses {
            match &self.session {
                None => block.admit(&self.stream, at, *access)?,
                Some(session) => session.admit(block, &self.stream, at, *access)?,
            }
        }
        Ok(at)
    }

    /// Notes a launch, for the report of a lost device.
    pub(crate) fn launched(&self, at: u64, kernel: &'static str) {
        match &self.session {
            None => self.device.context().launched(self.stream.id(), at, kernel),
            Some(session) => session.launched(kernel),
        }
    }

    /// Gives pinned memory away until the work submitted so far is done; for good, if that work is recorded.
    pub(crate) fn retire(&self, piece: Piece) -> Result<(), Fault> {
        match &self.session {
            None => piece.retire(&self.stream),
            Some(session) => {
                session.keep(piece);
                Ok(())
            }
        }
    }

    /// Fails if the lane records: a recording cannot wait.
    pub(crate) fn permit_waiting(&self, op: &'static str) -> Result<(), BackendError> {
        match &self.session {
            None => Ok(()),
            Some(session) => {
                session.refuse();
                Err(BackendError::Unsupported { op, why: "a recording cannot wait for the device" })
            }
        }
    }

    /// Lets this thread make calls that a recording under way must not see.
    pub(crate) fn relax(&self) -> Result<Option<Relaxed<'_>>, Fault> {
        self.session.as_ref().map(|_| Relaxed::enter(self.device.context())).transpose()
    }
}
