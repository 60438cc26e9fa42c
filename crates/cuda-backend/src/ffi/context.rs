//! The primary context of a device.
//!
//! Every driver call goes through it, and it records the loss of the device.

use core::{
    fmt,
    mem::ManuallyDrop,
    ops::RangeInclusive,
    ptr,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, OnceLock, mpsc},
    thread,
    time::{Duration, Instant},
};

use backend_api::{BackendError, Submissions};
use cuda_loader::{
    Status,
    ffi::{self, CUcontext},
};
use cust::{
    context::{Context as PrimaryContext, CurrentContext},
    device::Device,
    error::CudaResult,
};

use super::counts::CallCounts;
use crate::{
    error::{DriverFault, status_of},
    sync::{lock, pause},
};

/// How many launches are remembered for the report of a lost device.
const REMEMBERED_LAUNCHES: usize = 64;

/// Codes with which the driver refuses calls during a capture.
pub(crate) const CAPTURE_CODES: RangeInclusive<i32> = 900..=908;

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// Whether a wait of this process ran out of time.
static ABANDONED: AtomicBool = AtomicBool::new(false);

/// Whether a wait of this process exceeded [`CudaConfig::timeout`](crate::CudaConfig).
///
/// The work may still be on the device. A process that ends normally may wait for it in the driver:
/// see [`exit_at_once`](crate::exit_at_once).
#[must_use]
pub fn abandoned() -> bool {
    ABANDONED.load(Ordering::Relaxed)
}

/// The primary context of a device, retained.
///
/// Every driver call of this crate goes through one, which is current only for the duration of the
/// call: the thread belongs to the program, whose own current context is then restored.
///
/// After the first sticky code the only call made is the release of the context, which frees all it
/// holds. After a wait that ran out of time not even that is made, since it would wait too.
pub(crate) struct CudaContext {
    id: u64,
    ordinal: u32,
    primary: ManuallyDrop<PrimaryContext>,
    timeout: Option<Duration>,
    lost: OnceLock<BackendError>,
    /// A wait ran out of time, so the release of the context may never return.
    hung: AtomicBool,
    /// The device counts as lost since its memory is unreliable, but submitted work continues.
    disowned: AtomicBool,
    /// Calls refused because of a running capture.
    refused_captures: AtomicU64,
    counts: CallCounts,
    submission: Mutex<()>,
    in_flight: Mutex<VecDeque<Launched>>,
}

/// The right to number work and to submit it.
///
/// It is held from numbering until the driver has taken the work, so while one is held all earlier
/// numbered work is submitted. One right serves all streams of a context: with one for each stream,
/// two threads that submit uses of the same two blocks to two streams could deadlock.
#[derive(Debug)]
#[must_use = "the work is submitted while this is held"]
pub(crate) struct SubmissionTurn<'a> {
    _submission: MutexGuard<'a, ()>,
}

/// A kernel launch that the host has not waited for.
struct Launched {
    stream: u64,
    at: u64,
    kernel: Arc<str>,
}

impl CudaContext {
    /// Retains the primary context of `device`.
    pub(crate) fn retain(ordinal: u32, device: Device, timeout: Option<Duration>) -> Result<Arc<Self>, DriverFault> {
        let before = current().map_err(|status| DriverFault::Refused { call: "cuCtxGetCurrent", status })?;
        // This makes the new context current.
        let primary = PrimaryContext::new(device)
            .map_err(|error| DriverFault::Refused { call: "cuDevicePrimaryCtxRetain", status: status_of(error) })?;
        // SAFETY: the context was current before, or there was none.
        let status = leave(|| unsafe { ffi::cuCtxSetCurrent(before) });
        if status != Status::SUCCESS {
            return Err(DriverFault::Refused { call: "cuCtxSetCurrent", status });
        }
        Ok(Arc::new(Self {
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            ordinal,
            primary: ManuallyDrop::new(primary),
            timeout,
            lost: OnceLock::new(),
            hung: AtomicBool::new(false),
            disowned: AtomicBool::new(false),
            refused_captures: AtomicU64::new(0),
            counts: CallCounts::default(),
            submission: Mutex::new(()),
            in_flight: Mutex::new(VecDeque::new()),
        }))
    }

    /// A number that no other context of this process has or had.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Ordinal of the device.
    pub(crate) fn ordinal(&self) -> u32 {
        self.ordinal
    }

    /// Calls that the driver has refused so far because of a capture.
    ///
    /// With captures on several threads, some may be another thread's; that costs a recording and
    /// nothing else.
    pub(crate) fn refused_captures(&self) -> u64 {
        self.refused_captures.load(Ordering::Relaxed)
    }

    /// How often it was called, and for what.
    pub(crate) fn submissions(&self) -> Submissions {
        self.counts.submissions()
    }

    /// Whether the device is lost and no work of it runs any more.
    pub(crate) fn is_dead(&self) -> bool {
        self.lost.get().is_some() && ![&self.hung, &self.disowned].iter().any(|it| it.load(Ordering::Relaxed))
    }

    pub(super) fn raw(&self) -> CUcontext {
        CUcontext(self.primary.as_raw().cast())
    }

    /// Why the device is lost, if it is.
    pub(crate) fn lost(&self) -> Option<&BackendError> {
        self.lost.get()
    }

    /// Makes a driver call with this context current, unless the device is lost.
    pub(crate) fn call(&self, call: &'static str, function: impl FnOnce() -> Status) -> Result<(), DriverFault> {
        self.counts.called(call);
        let status = self.within(function)?;
        self.judge(call, status)
    }

    /// Makes a call through `cust`, likewise.
    pub(crate) fn cust<T>(
        &self,
        call: &'static str,
        function: impl FnOnce() -> CudaResult<T>,
    ) -> Result<T, DriverFault> {
        self.counts.called(call);
        self.within(|| function().map_err(status_of))?.or_else(|status| {
            self.judge(call, status)?;
            Err(DriverFault::Refused { call, status: Status::UNKNOWN })
        })
    }

    /// Waits for work with the driver call `wait`.
    ///
    /// If there is a time limit, it polls `is_done` instead, so that the device can be given up
    /// when the time is over.
    pub(crate) fn wait(
        &self,
        call: &'static str,
        wait: impl FnOnce() -> Status,
        is_done: impl Fn() -> Status,
    ) -> Result<(), DriverFault> {
        let Some(timeout) = self.timeout else { return self.call(call, wait) };
        let start = Instant::now();
        self.counts.waits_by_asking();
        loop {
            self.counts.asks();
            match self.within(&is_done)? {
                Status::NOT_READY => {}
                status => return self.judge(call, status),
            }
            let waited = start.elapsed();
            if waited >= timeout {
                return Err(self.give_up(call, timeout));
            }
            pause(waited);
        }
    }

    /// Whether waits have a limit.
    pub(crate) fn is_limited(&self) -> bool {
        self.timeout.is_some()
    }

    /// Waits for the right to submit. The thread must not hold it already.
    pub(crate) fn turn(&self) -> SubmissionTurn<'_> {
        SubmissionTurn { _submission: lock(&self.submission) }
    }

    /// Waits for all work of all streams.
    pub(crate) fn synchronize(self: &Arc<Self>) -> Result<(), DriverFault> {
        let wait = |context: &Self| context.cust("cuCtxSynchronize", CurrentContext::synchronize);
        let Some(timeout) = self.timeout else { return wait(self) };
        // The driver has no call that asks whether a whole context is done, so another thread waits, for ever if it must.
        let (tell, heard) = mpsc::channel();
        let context = Arc::clone(self);
        let waiting = thread::Builder::new().spawn(move || {
            let outcome = wait(&context);
            drop(context); // so that whoever hears of it can be the last to hold it
            tell.send(outcome)
        });
        if waiting.is_err() {
            return wait(self);
        }
        heard.recv_timeout(timeout).unwrap_or_else(|_| Err(self.give_up("cuCtxSynchronize", timeout)))
    }

    /// Gives the device up as lost, since work did not end in time.
    fn give_up(&self, call: &'static str, timeout: Duration) -> DriverFault {
        self.hung.store(true, Ordering::Relaxed);
        ABANDONED.store(true, Ordering::Relaxed);
        let lost = self.lost.get_or_init(|| BackendError::DeviceLost {
            cause: format!("{call} timed out after {} s: submitted work did not complete", timeout.as_secs_f64()),
            in_flight: self.in_flight(),
        });
        DriverFault::Lost(lost.clone())
    }

    /// Gives the device up as lost, since its memory is unreliable.
    pub(crate) fn disown(&self, cause: String) {
        self.disowned.store(true, Ordering::Relaxed);
        self.lost.get_or_init(|| BackendError::DeviceLost { cause, in_flight: self.in_flight() });
    }

    /// Kernels that were launched and not waited for.
    fn in_flight(&self) -> Vec<String> {
        lock(&self.in_flight).iter().map(|launched| launched.kernel.to_string()).collect()
    }

    /// Notes a launch as number `at` of a stream's work.
    pub(crate) fn launched(&self, stream: u64, at: u64, kernel: &Arc<str>) {
        let mut in_flight = lock(&self.in_flight);
        if in_flight.len() == REMEMBERED_LAUNCHES {
            in_flight.pop_front();
        }
        in_flight.push_back(Launched { stream, at, kernel: Arc::clone(kernel) });
    }

    /// Notes that the work of a stream is done up to number `at`.
    pub(crate) fn completed(&self, stream: u64, at: u64) {
        lock(&self.in_flight).retain(|launched| launched.stream != stream || launched.at > at);
    }

    /// Runs `function` with this context current, unless the device is lost.
    ///
    /// The thread's own context is restored afterwards.
    pub(super) fn within<T>(&self, function: impl FnOnce() -> T) -> Result<T, DriverFault> {
        let is_pushed = self.enter()?;
        let outcome = function();
        if is_pushed {
            // SAFETY: the call writes nothing where it is given null.
            self.judge("cuCtxPopCurrent_v2", leave(|| unsafe { ffi::cuCtxPopCurrent_v2(ptr::null_mut()) }))?;
        }
        Ok(outcome)
    }

    /// Makes this context current, unless the device is lost.
    ///
    /// Returns whether it was pushed, and so has to be popped.
    fn enter(&self) -> Result<bool, DriverFault> {
        if let Some(error) = self.lost.get() {
            return Err(DriverFault::Lost(error.clone()));
        }
        let own = self.raw();
        match current() {
            Ok(current) if current == own => return Ok(false),
            Err(status) if status.is_sticky() => self.judge("cuCtxGetCurrent", status)?,
            _ => {}
        }
        // SAFETY: the context is retained.
        let push = || unsafe { ffi::cuCtxPushCurrent_v2(own) };
        let mut pushed = push();
        if pushed != Status::SUCCESS && !pushed.is_sticky() {
            // Something may never be given back if this stays refused.
            pushed = push();
        }
        self.judge("cuCtxPushCurrent_v2", pushed)?;
        Ok(true)
    }

    fn judge(&self, call: &'static str, status: Status) -> Result<(), DriverFault> {
        if status == Status::SUCCESS {
            // It may have been lost while the call waited.
            return self.lost.get().map_or(Ok(()), |error| Err(DriverFault::Lost(error.clone())));
        }
        if !status.is_sticky() {
            if CAPTURE_CODES.contains(&status.0) {
                self.refused_captures.fetch_add(1, Ordering::Relaxed);
            }
            return Err(DriverFault::Refused { call, status });
        }
        let lost = self.lost.get_or_init(|| BackendError::DeviceLost {
            cause: BackendError::from(DriverFault::Refused { call, status }).to_string(),
            in_flight: self.in_flight(),
        });
        Err(DriverFault::Lost(lost.clone()))
    }
}

/// The context that is current on this thread; null for none.
fn current() -> Result<CUcontext, Status> {
    let mut current = CUcontext::NULL;
    // SAFETY: the call writes one handle.
    let asked = unsafe { ffi::cuCtxGetCurrent(&raw mut current) };
    if asked == Status::SUCCESS { Ok(current) } else { Err(asked) }
}

/// Makes a call that changes the thread's current context; repeats it if the driver refuses.
///
/// Returns the first status only if it means that the device is lost: after any other refusal the
/// thread keeps a current context, which does no harm to later calls here.
fn leave(call: impl Fn() -> Status) -> Status {
    let first = call();
    if first != Status::SUCCESS {
        let _refused = call();
    }
    if first.is_sticky() { first } else { Status::SUCCESS }
}

impl Drop for CudaContext {
    fn drop(&mut self) {
        if !*self.hung.get_mut() {
            // SAFETY: the field is not used again.
            unsafe { ManuallyDrop::drop(&mut self.primary) }
        }
    }
}

impl fmt::Debug for CudaContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CudaContext")
            .field("ordinal", &self.ordinal)
            .field("lost", &self.lost())
            .finish_non_exhaustive()
    }
}
