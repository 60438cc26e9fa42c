//! Events: points in the work of a stream, kept for reuse.
//!
//! The host and other streams can wait for them.

use std::sync::{Arc, Mutex};

use cuda_loader::{
    Status,
    ffi::{self, CUevent},
};

use super::{CudaContext, CudaStream};
use crate::{error::DriverFault, sync::lock};

/// A point in the work of a stream.
#[derive(Debug)]
pub(crate) struct CudaEvent {
    context: Arc<CudaContext>,
    raw: CUevent,
}

impl CudaEvent {
    fn new(context: &Arc<CudaContext>, flags: u32) -> Result<Self, DriverFault> {
        let mut raw = CUevent::NULL;
        // SAFETY: the call writes one handle.
        context.call("cuEventCreate", || unsafe { ffi::cuEventCreate(&raw mut raw, flags) })?;
        Ok(Self { context: Arc::clone(context), raw })
    }

    /// Moves the event to after all work that `stream` holds now.
    pub(crate) fn record(&self, stream: &CudaStream) -> Result<(), DriverFault> {
        // SAFETY: event and stream are alive.
        self.context.call("cuEventRecord", || unsafe { ffi::cuEventRecord(self.raw, stream.raw()) })
    }

    /// Whether the work before the event is done.
    pub(crate) fn is_complete(&self) -> Result<bool, DriverFault> {
        // SAFETY: the event is alive.
        match self.context.call("cuEventQuery", || unsafe { ffi::cuEventQuery(self.raw) }) {
            Ok(()) => Ok(true),
            Err(DriverFault::Refused { status: Status::NOT_READY, .. }) => Ok(false),
            Err(fault) => Err(fault),
        }
    }

    /// Waits for the work before the event.
    pub(crate) fn wait(&self) -> Result<(), DriverFault> {
        // SAFETY: the event is alive.
        let (wait, query) =
            (|| unsafe { ffi::cuEventSynchronize(self.raw) }, || unsafe { ffi::cuEventQuery(self.raw) });
        self.context.wait("cuEventSynchronize", wait, query)
    }

    /// Waits without a limit for the work before the event, which may be the program's own.
    pub(crate) fn wait_for_callers_work(&self) -> Result<(), DriverFault> {
        // SAFETY: the event is alive.
        self.context.call("cuEventSynchronize", || unsafe { ffi::cuEventSynchronize(self.raw) })
    }

    /// Whether the device is lost, so that no work before the event runs any more.
    pub(crate) fn is_dead(&self) -> bool {
        self.context.is_dead()
    }

    /// Returns the milliseconds from `earlier` to this event.
    ///
    /// Both events record their time, and the work before both is done.
    pub(crate) fn milliseconds_since(&self, earlier: &Self) -> Result<f32, DriverFault> {
        let mut milliseconds = 0.0;
        self.context.call("cuEventElapsedTime", || {
            // SAFETY: both events are alive, and the call writes one number.
            unsafe { ffi::cuEventElapsedTime(&raw mut milliseconds, earlier.raw, self.raw) }
        })?;
        Ok(milliseconds)
    }

    pub(super) fn raw(&self) -> CUevent {
        self.raw
    }
}

impl Drop for CudaEvent {
    fn drop(&mut self) {
        // SAFETY: the event is alive and not used again; the driver keeps the state it needs until
        // the event has passed. Its refusal leaks an event, which is harmless.
        let _refused = self.context.call("cuEventDestroy_v2", || unsafe { ffi::cuEventDestroy_v2(self.raw) });
    }
}

/// Events that are made once and reused.
#[derive(Debug)]
pub(crate) struct Events {
    context: Arc<CudaContext>,
    flags: u32,
    idle: Mutex<Vec<CudaEvent>>,
}

impl Events {
    /// Without times, which makes them cheap.
    pub(crate) fn new(context: &Arc<CudaContext>) -> Self {
        Self { context: Arc::clone(context), flags: ffi::event::DISABLE_TIMING, idle: Mutex::default() }
    }

    /// Events that note their time.
    pub(crate) fn timing(context: &Arc<CudaContext>) -> Self {
        Self { flags: ffi::event::DEFAULT, ..Self::new(context) }
    }

    /// An event after all work that `stream` holds now.
    pub(crate) fn record(&self, stream: &CudaStream) -> Result<CudaEvent, DriverFault> {
        let idle = lock(&self.idle).pop();
        let event = idle.map_or_else(|| CudaEvent::new(&self.context, self.flags), Ok)?;
        event.record(stream)?;
        Ok(event)
    }

    /// Queries an event of `stream`, which fails if a capture forbids calls of this thread.
    ///
    /// `stream` itself is not captured. The driver may invalidate the capture.
    pub(crate) fn check_calls(&self, stream: &CudaStream) -> Result<(), DriverFault> {
        let event = self.record(stream)?;
        event.is_complete()?;
        self.give_back(event);
        Ok(())
    }

    /// Gives back an event that nothing will ask about again.
    pub(crate) fn give_back(&self, event: CudaEvent) {
        lock(&self.idle).push(event);
    }
}
