use core::{
    cell::Cell,
    fmt,
    mem::ManuallyDrop,
    sync::atomic::{AtomicU64, Ordering},
};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, OnceLock},
};

use backend_api::BackendError;
use cuda_loader::Status;
use cust::{
    context::{Context as PrimaryContext, CurrentContext},
    device::Device,
    error::CudaResult,
};

use crate::{
    error::{Fault, status_of},
    sync::lock,
};

/// How many launches are remembered for the report of a lost device.
const REMEMBERED_LAUNCHES: usize = 64;

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

thread_local! {
    /// The [`Context`] that is current on this thread, by id; 0 for none of ours.
    static CURRENT: Cell<u64> = const { Cell::new(0) };
}

/// The primary context of a device, retained. Every driver call of this crate goes through one.
///
/// After the first sticky code no call is made any more but the release of the context, which frees all it holds.
pub(crate) struct Context {
    id: u64,
    ordinal: u32,
    primary: ManuallyDrop<PrimaryContext>,
    lost: OnceLock<BackendError>,
    submission: Mutex<()>,
    in_flight: Mutex<VecDeque<Launched>>,
}

/// The right to number work and to submit it.
///
/// It is held from the number on until the driver has taken the work, so that whoever holds it knows that all numbered work
/// is submitted. One right serves all streams of a context: with one for each, two threads that submit uses of the same
/// two blocks to two streams could wait for each other.
#[derive(Debug)]
#[must_use = "the work is submitted while this is held"]
pub(crate) struct Turn<'a> {
    _submission: MutexGuard<'a, ()>,
}

/// A kernel launch that the host has not waited for.
struct Launched {
    stream: u64,
    at: u64,
    kernel: &'static str,
}

impl Context {
    /// Retains the primary context of `device`.
    pub(crate) fn retain(ordinal: u32, device: Device) -> Result<Arc<Self>, Fault> {
        // This makes the new context current.
        CURRENT.set(0);
        let primary = PrimaryContext::new(device)
            .map_err(|error| Fault::Refused { call: "cuDevicePrimaryCtxRetain", status: status_of(error) })?;
        Ok(Arc::new(Self {
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            ordinal,
            primary: ManuallyDrop::new(primary),
            lost: OnceLock::new(),
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

    /// Why the device is lost, if it is.
    pub(crate) fn lost(&self) -> Option<&BackendError> {
        self.lost.get()
    }

    /// Makes a driver call with this context current, unless the device is lost.
    pub(crate) fn call(&self, call: &'static str, function: impl FnOnce() -> Status) -> Result<(), Fault> {
        self.enter()?;
        self.judge(call, function())
    }

    /// Makes a call through `cust`, likewise.
    pub(crate) fn cust<T>(&self, call: &'static str, function: impl FnOnce() -> CudaResult<T>) -> Result<T, Fault> {
        self.enter()?;
        function().or_else(|error| {
            self.judge(call, status_of(error))?;
            Err(Fault::Refused { call, status: Status::UNKNOWN })
        })
    }

    /// Waits for the right to submit. The thread must not hold it already.
    pub(crate) fn turn(&self) -> Turn<'_> {
        Turn { _submission: lock(&self.submission) }
    }

    /// Waits for all work of all streams.
    pub(crate) fn synchronize(&self) -> Result<(), Fault> {
        self.cust("cuCtxSynchronize", CurrentContext::synchronize)
    }

    /// Notes a launch as number `at` of a stream's work.
    pub(crate) fn launched(&self, stream: u64, at: u64, kernel: &'static str) {
        let mut in_flight = lock(&self.in_flight);
        if in_flight.len() == REMEMBERED_LAUNCHES {
            in_flight.pop_front();
        }
        in_flight.push_back(Launched { stream, at, kernel });
    }

    /// Notes that the work of a stream is done up to number `at`.
    pub(crate) fn completed(&self, stream: u64, at: u64) {
        lock(&self.in_flight).retain(|launched| launched.stream != stream || launched.at > at);
    }

    fn enter(&self) -> Result<(), Fault> {
        if let Some(error) = self.lost.get() {
            return Err(Fault::Lost(error.clone()));
        }
        if CURRENT.get() != self.id {
            let status = CurrentContext::set_current(&*self.primary).map_or_else(status_of, |()| Status::SUCCESS);
            self.judge("cuCtxSetCurrent", status)?;
            CURRENT.set(self.id);
        }
        Ok(())
    }

    fn judge(&self, call: &'static str, status: Status) -> Result<(), Fault> {
        if status == Status::SUCCESS {
            return Ok(());
        }
        if !status.is_sticky() {
            return Err(Fault::Refused { call, status });
        }
        let lost = self.lost.get_or_init(|| BackendError::DeviceLost {
            cause: BackendError::from(Fault::Refused { call, status }).to_string(),
            in_flight: lock(&self.in_flight).iter().map(|launched| launched.kernel).collect(),
        });
        Err(Fault::Lost(lost.clone()))
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        if CURRENT.get() == self.id {
            CURRENT.set(0);
        }
        // SAFETY: the field is not used again.
        unsafe { ManuallyDrop::drop(&mut self.primary) }
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("ordinal", &self.ordinal).field("lost", &self.lost()).finish_non_exhaustive()
    }
}
