//! Capture of a stream's work into a graph, and preparation and launch of the graph.
//!
//! Also lifts the restrictions that a capture puts on a thread.

use std::{ptr, sync::Arc};

use cuda_loader::ffi::{self, CUgraph, CUgraphExec};

use super::{CudaContext, CudaStream};
use crate::error::DriverFault;

/// A recorded graph.
#[derive(Debug)]
pub(crate) struct Captured {
    context: Arc<CudaContext>,
    raw: CUgraph,
}

impl Captured {
    /// Lets `stream` record instead of run.
    ///
    /// Other threads of the process are not restricted by it.
    pub(crate) fn begin(stream: &CudaStream) -> Result<(), DriverFault> {
        stream.context().call("cuStreamBeginCapture_v2", || {
            // SAFETY: the stream is alive.
            unsafe { ffi::cuStreamBeginCapture_v2(stream.raw(), ffi::capture::THREAD_LOCAL) }
        })
    }

    /// Ends the recording of `stream`.
    pub(crate) fn end(stream: &CudaStream) -> Result<Self, DriverFault> {
        let mut raw = CUgraph::NULL;
        stream.context().call("cuStreamEndCapture", || {
            // SAFETY: the stream is alive, and the call writes one handle.
            unsafe { ffi::cuStreamEndCapture(stream.raw(), &raw mut raw) }
        })?;
        Ok(Self { context: Arc::clone(stream.context()), raw })
    }

    /// Makes the recording ready to run.
    pub(crate) fn instantiate(&self) -> Result<Executable, DriverFault> {
        let mut raw = CUgraphExec::NULL;
        self.context.call("cuGraphInstantiateWithFlags", || {
            // SAFETY: the graph is alive, and the call writes one handle.
            unsafe { ffi::cuGraphInstantiateWithFlags(&raw mut raw, self.raw, 0) }
        })?;
        Ok(Executable { context: Arc::clone(&self.context), raw })
    }

    /// Number of launches, copies and fills, and of the joints between them.
    pub(crate) fn nodes(&self) -> Result<usize, DriverFault> {
        let mut count = 0;
        self.context.call("cuGraphGetNodes", || {
            // SAFETY: the graph is alive; given no array for the nodes, the call writes only their number.
            unsafe { ffi::cuGraphGetNodes(self.raw, ptr::null_mut(), &raw mut count) }
        })?;
        Ok(count)
    }
}

impl Drop for Captured {
    fn drop(&mut self) {
        if !self.raw.is_null() {
            // SAFETY: the graph is alive and not used again; what was instantiated from it is independent of it.
            let _refused = self.context.call("cuGraphDestroy", || unsafe { ffi::cuGraphDestroy(self.raw) });
        }
    }
}

/// A recording that runs as one submission.
#[derive(Debug)]
pub(crate) struct Executable {
    context: Arc<CudaContext>,
    raw: CUgraphExec,
}

impl Executable {
    /// Uploads the recording to the device, so that its first run need not.
    ///
    /// Drivers before CUDA 11.1 cannot do this; where it is refused, the first run does it.
    pub(crate) fn upload(&self, stream: &CudaStream) -> Result<(), DriverFault> {
        // SAFETY: graph and stream are alive.
        match self.context.call("cuGraphUpload", || unsafe { ffi::cuGraphUpload(self.raw, stream.raw()) }) {
            Err(fault @ DriverFault::Lost(_)) => Err(fault),
            Ok(()) | Err(DriverFault::Refused { .. }) => Ok(()),
        }
    }

    /// Submits the recording to `stream`.
    ///
    /// # Safety
    /// Everything the recording reads and writes is alive until the stream has run it.
    pub(crate) unsafe fn launch(&self, stream: &CudaStream) -> Result<(), DriverFault> {
        // SAFETY: graph and stream are alive, and so is everything the graph uses, by this function's contract.
        self.context.call("cuGraphLaunch", || unsafe { ffi::cuGraphLaunch(self.raw, stream.raw()) })
    }
}

impl Drop for Executable {
    fn drop(&mut self) {
        // SAFETY: the graph is alive and not used again; a running launch ends before the driver frees it.
        let _refused = self.context.call("cuGraphExecDestroy", || unsafe { ffi::cuGraphExecDestroy(self.raw) });
    }
}

/// A scope in which this thread may make calls that would break a running capture.
///
/// Those calls concern streams that do not record.
#[derive(Debug)]
pub(crate) struct Relaxed<'a> {
    context: &'a CudaContext,
    before: u32,
}

impl<'a> Relaxed<'a> {
    pub(crate) fn enter(context: &'a CudaContext) -> Result<Self, DriverFault> {
        let before = exchange(context, ffi::capture::RELAXED)?;
        Ok(Self { context, before })
    }

    /// Leaves the thread as it is now.
    pub(crate) fn stay(self) {
        core::mem::forget(self);
    }
}

impl Drop for Relaxed<'_> {
    fn drop(&mut self) {
        // A refusal leaves the thread relaxed, which restricts nothing.
        let _refused = exchange(self.context, self.before);
    }
}

fn exchange(context: &CudaContext, mode: u32) -> Result<u32, DriverFault> {
    let mut mode = mode;
    context.call("cuThreadExchangeStreamCaptureMode", || {
        // SAFETY: the call reads and writes one integer.
        unsafe { ffi::cuThreadExchangeStreamCaptureMode(&raw mut mode) }
    })?;
    Ok(mode)
}
