//! An opened device: its memory usage, context, kernels and pools.
//!
//! All work on the device shares them.

use core::{
    fmt,
    sync::atomic::{AtomicU64, Ordering},
};
use std::sync::{Arc, Mutex, MutexGuard};

use backend_api::{BackendError, Budget};

use crate::{
    AesKernel, AirKernel, DeviceInfo, ProgramFacts,
    error::DriverFault,
    ffi::{self, CudaContext, CudaStream, Events},
    kernels::{Kernels, Programs},
    link::Links,
    mem::{DevicePool, PinnedCounts, PinnedPool},
    sync::lock,
};

/// The memory usage of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryUsage {
    /// The byte budget.
    pub limit_bytes: u64,
    /// Bytes of live buffers.
    pub live_bytes: u64,
    /// The most bytes of buffers that were ever live at once.
    pub peak_bytes: u64,
    /// Bytes of device memory that the pool holds, in use or not.
    pub held_bytes: u64,
    /// Free bytes of the device.
    pub free_bytes: u64,
    /// Allocations that succeeded only after unused memory was given back.
    pub reclaims: u64,
    /// Pinned host memory.
    pub pinned: PinnedCounts,
    /// Recordings that the driver refused, so that the ops ran one by one.
    pub refused_recordings: u64,
}

/// The ways to do what can be done in several.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ways {
    pub(crate) aes: AesKernel,
    pub(crate) air: AirKernel,
}

/// Recordings that ended without a graph.
#[derive(Debug, Default)]
struct RefusedRecordings {
    count: u64,
    /// The reason of the last.
    last: Option<String>,
}

/// One device, opened: its context, memory and kernels.
///
/// Queues, recordings and marks of the device hold it; a block of its memory holds the pool.
pub struct DeviceCtx {
    info: DeviceInfo,
    ways: Ways,
    budget: Budget,
    kernels: Kernels,
    programs: Programs,
    pool: Arc<DevicePool>,
    pinned: Arc<PinnedPool>,
    events: Arc<Events>,
    timing_events: Events,
    reclaims: AtomicU64,
    refused_recordings: Mutex<RefusedRecordings>,
    links: Mutex<Links>,
    context: Arc<CudaContext>,
}

impl DeviceCtx {
    pub(crate) fn new(
        context: Arc<CudaContext>,
        info: DeviceInfo,
        budget: Budget,
        kernels: Kernels,
        pool: DevicePool,
        pinned_bytes: u64,
        ways: Ways,
    ) -> Arc<Self> {
        let events = Arc::new(Events::new(&context));
        let timing_events = Events::timing(&context);
        let pinned = PinnedPool::new(&context, &events, pinned_bytes);
        Arc::new(Self {
            info,
            ways,
            budget,
            kernels,
            programs: Programs::default(),
            pool: Arc::new(pool),
            pinned,
            events,
            timing_events,
            reclaims: AtomicU64::new(0),
            refused_recordings: Mutex::default(),
            links: Mutex::default(),
            context,
        })
    }

    /// The properties of the device.
    #[must_use]
    pub fn info(&self) -> &DeviceInfo {
        &self.info
    }

    /// How keys are evaluated on it.
    #[must_use]
    pub fn aes(&self) -> AesKernel {
        self.ways.aes
    }

    /// How programs of AIRs are run on it.
    #[must_use]
    pub fn air(&self) -> AirKernel {
        self.ways.air
    }

    /// The programs of AIRs that it has compiled.
    #[must_use]
    pub fn programs(&self) -> ProgramFacts {
        self.programs.facts()
    }

    /// How much of its memory is in use.
    ///
    /// # Errors
    /// The driver's error.
    pub fn memory(&self) -> Result<MemoryUsage, BackendError> {
        let (free_bytes, _) = ffi::memory_info(&self.context)?;
        Ok(MemoryUsage {
            limit_bytes: self.budget.limit_bytes(),
            live_bytes: self.budget.live_bytes(),
            peak_bytes: self.budget.peak_bytes(),
            held_bytes: self.pool.held_bytes()?,
            free_bytes,
            reclaims: self.reclaims.load(Ordering::Relaxed),
            pinned: self.pinned.counts(),
            refused_recordings: lock(&self.refused_recordings).count,
        })
    }

    pub(crate) fn budget(&self) -> &Budget {
        &self.budget
    }

    pub(crate) fn kernels(&self) -> &Kernels {
        &self.kernels
    }

    pub(crate) fn compiled_programs(&self) -> &Programs {
        &self.programs
    }

    pub(crate) fn pool(&self) -> &Arc<DevicePool> {
        &self.pool
    }

    pub(crate) fn pinned(&self) -> &Arc<PinnedPool> {
        &self.pinned
    }

    pub(crate) fn events(&self) -> &Arc<Events> {
        &self.events
    }

    /// Events that note their time.
    pub(crate) fn timing_events(&self) -> &Events {
        &self.timing_events
    }

    pub(crate) fn context(&self) -> &Arc<CudaContext> {
        &self.context
    }

    /// The links from other devices to this one.
    pub(crate) fn links(&self) -> MutexGuard<'_, Links> {
        lock(&self.links)
    }

    /// Why the last recording without a graph had none; `None` if there was no such recording.
    #[must_use]
    pub fn refused_recording(&self) -> Option<String> {
        lock(&self.refused_recordings).last.clone()
    }

    pub(crate) fn note_refused_recording(&self, reason: String) {
        let mut refused = lock(&self.refused_recordings);
        refused.count += 1;
        refused.last = Some(reason);
    }

    /// Gives unused memory back to the device.
    ///
    /// What streams gave back is free only once they are done, so this waits for all of them, or
    /// only for `home` while a recording, whose memory comes from there, forbids waiting for the
    /// others.
    pub(crate) fn reclaim(&self, home: Option<&CudaStream>) -> Result<(), DriverFault> {
        self.reclaims.fetch_add(1, Ordering::Relaxed);
        match home {
            None => self.context.synchronize()?,
            Some(home) => home.synchronize()?,
        }
        self.pool.reclaim()
    }
}

impl fmt::Debug for DeviceCtx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceCtx").field("info", &self.info).field("budget", &self.budget).finish_non_exhaustive()
    }
}
