//! Streams that number their work.
//!
//! A stream records which work of other streams its own is already ordered after.

use core::sync::atomic::{AtomicU64, Ordering};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use cuda_loader::ffi::{self, CUcontext, CUstream};

use super::{CudaContext, SubmissionTurn};
use crate::error::DriverFault;

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// An in-order stream of work; those that this crate makes do not wait for the legacy stream.
///
/// Its work is numbered. For every other stream, a stream records the highest number after which
/// its own later work is already ordered, so that no event is spent on an order that holds anyway.
#[derive(Debug)]
pub(crate) struct CudaStream {
    context: Arc<CudaContext>,
    raw: CUstream,
    /// Whether it is destroyed with this value.
    is_owned: bool,
    id: u64,
    issued: AtomicU64,
    /// The work that the host has seen done.
    pub(super) completed: AtomicU64,
    /// By the number of another stream, up to which work of it later work comes after.
    pub(super) after: Mutex<HashMap<u64, u64>>,
}

impl CudaStream {
    pub(crate) fn new(context: &Arc<CudaContext>) -> Result<Arc<Self>, DriverFault> {
        let mut raw = CUstream::NULL;
        // SAFETY: the call writes one handle.
        context.call("cuStreamCreate", || unsafe { ffi::cuStreamCreate(&raw mut raw, ffi::stream::NON_BLOCKING) })?;
        Ok(Arc::new(Self::of(context, raw, true)))
    }

    /// A stream of the program's, or for null the legacy stream.
    ///
    /// It may also wait for the legacy stream.
    ///
    /// # Safety
    /// Until the result is dropped, `raw` is null or the handle of a live stream.
    pub(crate) unsafe fn borrowed(context: &Arc<CudaContext>, raw: CUstream) -> Self {
        Self::of(context, raw, false)
    }

    fn of(context: &Arc<CudaContext>, raw: CUstream, is_owned: bool) -> Self {
        Self {
            context: Arc::clone(context),
            raw,
            is_owned,
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            issued: AtomicU64::new(0),
            completed: AtomicU64::new(0),
            after: Mutex::new(HashMap::new()),
        }
    }

    /// Whether the driver's stream is of this value's context.
    pub(crate) fn is_of_its_context(&self) -> Result<bool, DriverFault> {
        let mut owner = CUcontext::NULL;
        // SAFETY: the stream is alive, and the call writes one handle.
        self.context.call("cuStreamGetCtx", || unsafe { ffi::cuStreamGetCtx(self.raw, &raw mut owner) })?;
        Ok(owner == self.context.raw())
    }

    /// Whether the stream captures its work instead of running it, or did so until a call failed.
    pub(crate) fn is_capturing(&self) -> Result<bool, DriverFault> {
        let mut state = ffi::capture::STATUS_NONE;
        // SAFETY: the stream is alive, and the call writes one number.
        self.context.call("cuStreamIsCapturing", || unsafe { ffi::cuStreamIsCapturing(self.raw, &raw mut state) })?;
        Ok(state != ffi::capture::STATUS_NONE)
    }

    /// Whether it is a stream of the program's, or the legacy stream.
    pub(crate) fn is_borrowed(&self) -> bool {
        !self.is_owned
    }

    /// A number that no other stream of this process has or had.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    pub(crate) fn context(&self) -> &Arc<CudaContext> {
        &self.context
    }

    pub(super) fn raw(&self) -> CUstream {
        self.raw
    }

    /// The number of the next piece of work, which the caller submits in this turn.
    pub(crate) fn issue(&self, _turn: &SubmissionTurn<'_>) -> u64 {
        self.issued.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// The number of the last piece of work; all up to it are submitted.
    pub(super) fn submitted(&self, _turn: &SubmissionTurn<'_>) -> u64 {
        self.issued.load(Ordering::Acquire)
    }

    /// Notes that the host has seen the work up to number `at` done.
    pub(crate) fn note_completed(&self, at: u64) {
        self.completed.fetch_max(at, Ordering::AcqRel);
        self.context.completed(self.id, at);
    }
}

impl Drop for CudaStream {
    fn drop(&mut self) {
        if !self.is_owned {
            return;
        }
        // SAFETY: the stream is alive and not used again; the driver finishes its work. Its refusal leaks a stream.
        let _refused = self.context.call("cuStreamDestroy_v2", || unsafe { ffi::cuStreamDestroy_v2(self.raw) });
    }
}
