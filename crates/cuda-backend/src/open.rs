//! Opening a device.
//!
//! This covers its settings, the driver functions that it needs, and the reasons why it may fail.

use std::{sync::Arc, time::Duration};

use backend_api::{BackendError, Budget};
use cuda_loader::{DriverVersion, Status, Unavailable};
use cust::{CudaFlags, device::Device};
use thiserror::Error;

use crate::{
    AesKernel, AirKernel, CudaQueue, DeviceCtx, DeviceInfo, KernelSource, MIN_CAPABILITY, ModuleError,
    device::Ways,
    error::{DriverFault, status_of},
    ffi::{self, CudaContext},
    kernels::Kernels,
    mem::DevicePool,
    streams::Track,
};

/// Minimum budget: one tile of the largest op and its result.
pub const MIN_BUDGET_BYTES: u64 = 64 << 10;

/// Default size of the pinned host memory for copies.
const PINNED_BYTES: u64 = 256 << 20;

/// The driver functions without which nothing runs.
const NEEDED: &[&str] = &[
    "cuInit",
    "cuDeviceGet",
    "cuDeviceGetCount",
    "cuDeviceGetName",
    "cuDeviceTotalMem_v2",
    "cuDeviceGetAttribute",
    "cuDevicePrimaryCtxRetain",
    "cuDevicePrimaryCtxRelease_v2",
    "cuCtxGetCurrent",
    "cuCtxPopCurrent_v2",
    "cuCtxPushCurrent_v2",
    "cuCtxSetCurrent",
    "cuCtxSynchronize",
    "cuModuleLoadDataEx",
    "cuModuleUnload",
    "cuModuleGetFunction",
    "cuFuncGetAttribute",
    "cuFuncSetAttribute",
    "cuMemGetInfo_v2",
    "cuMemAlloc_v2",
    "cuMemFree_v2",
    "cuMemHostAlloc",
    "cuMemFreeHost",
    "cuMemHostRegister_v2",
    "cuMemHostUnregister",
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuMemcpyDtoDAsync_v2",
    "cuMemsetD8Async",
    "cuStreamCreate",
    "cuStreamDestroy_v2",
    "cuStreamSynchronize",
    "cuStreamWaitEvent",
    "cuEventCreate",
    "cuEventRecord",
    "cuEventQuery",
    "cuEventSynchronize",
    "cuEventDestroy_v2",
    "cuLaunchKernel",
];

/// Optional driver functions.
///
/// Only recordings, the driver's own pool of memory, copies between devices, arrays and streams of
/// the program's own, and reports use them.
const OPTIONAL: &[&str] = &[
    "cuCtxEnablePeerAccess",
    "cuDeviceCanAccessPeer",
    "cuDeviceGetP2PAttribute",
    "cuEventElapsedTime",
    "cuGraphDestroy",
    "cuGraphExecDestroy",
    "cuGraphGetNodes",
    "cuGraphInstantiateWithFlags",
    "cuGraphLaunch",
    "cuGraphUpload",
    "cuLaunchCooperativeKernel",
    "cuMemAllocFromPoolAsync",
    "cuMemFreeAsync",
    "cuMemGetAddressRange_v2",
    "cuMemcpyPeerAsync",
    "cuMemPoolCreate",
    "cuMemPoolDestroy",
    "cuMemPoolGetAttribute",
    "cuMemPoolSetAccess",
    "cuMemPoolSetAttribute",
    "cuMemPoolTrimTo",
    "cuOccupancyMaxActiveBlocksPerMultiprocessor",
    "cuPointerGetAttributes",
    "cuStreamBeginCapture_v2",
    "cuStreamEndCapture",
    "cuStreamGetCtx",
    "cuStreamIsCapturing",
    "cuStreamQuery",
    "cuThreadExchangeStreamCaptureMode",
];

/// How to open a [`CudaQueue`].
#[derive(Clone, Debug, Default)]
pub struct CudaConfig {
    /// Number of the device.
    pub device: u32,
    /// Bytes that buffers may hold at once; `None` for nine tenths of the free memory.
    pub budget_bytes: Option<u64>,
    /// Where kernels come from.
    pub kernels: KernelSource,
    /// Where device memory comes from.
    pub allocator: Allocator,
    /// Bytes of host memory that may be pinned for copies; `None` for 256 MiB.
    ///
    /// Memory that was pinned for short copies serves none that are longer.
    pub pinned_bytes: Option<u64>,
    /// How keys are evaluated.
    pub aes: AesKernel,
    /// How programs of AIRs are run.
    pub air: AirKernel,
    /// Longest time that the host waits for work in one go.
    ///
    /// What takes longer counts as hung: the device is lost, the error names the kernels in flight,
    /// and nothing of the device is released before the process ends. `None` for no limit.
    ///
    /// Driver calls that wait by themselves are not bounded: launches into a full queue, and
    /// allocations, releases and module loading after a kernel that hangs.
    pub timeout: Option<Duration>,
}

/// Where device memory comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Allocator {
    /// The driver's stream-ordered pool where the device has one, else segments of our own.
    #[default]
    Auto,
    /// The driver's stream-ordered pool.
    StreamOrdered,
    /// Segments that are taken from the driver, cut up and kept.
    Caching,
}

/// Why no device was opened.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The machine has no driver that can be used.
    #[error(transparent)]
    Driver(#[from] Unavailable),
    /// The driver lacks functions that every device needs.
    #[error("the CUDA driver lacks {}", names.join(", "))]
    MissingFunctions {
        /// Their names.
        names: Vec<&'static str>,
    },
    /// The driver shows no device.
    #[error("the CUDA driver shows no device: CUDA_VISIBLE_DEVICES may hide all; with MIG it has to name an instance")]
    NoDevice,
    /// There is no device of that number.
    #[error(
        "there is no CUDA device {index}; the driver shows {count}, numbered from 0: CUDA_VISIBLE_DEVICES may hide others"
    )]
    NoSuchDevice {
        /// The requested number.
        index: u32,
        /// How many there are.
        count: u32,
    },
    /// The device is too old.
    #[error("device {index} ({name}) has compute capability {}.{}, at least 8.0 is needed", found.0, found.1)]
    Capability {
        /// The device.
        index: u32,
        /// Its name.
        name: String,
        /// Its compute capability.
        found: (u32, u32),
    },
    /// The byte budget is too small to run any op.
    #[error("a budget of {limit_bytes} bytes is below one tile of {need_bytes} bytes")]
    Budget {
        /// The budget.
        limit_bytes: u64,
        /// The least budget.
        need_bytes: u64,
    },
    /// The kernels cannot be used.
    #[error(transparent)]
    Module(#[from] ModuleError),
    /// The driver refused.
    #[error(transparent)]
    Backend(#[from] BackendError),
}

impl From<DriverFault> for OpenError {
    fn from(fault: DriverFault) -> Self {
        Self::Backend(fault.into())
    }
}

/// The driver's version, origin and gaps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverInfo {
    /// The newest CUDA release it supports.
    pub version: DriverVersion,
    /// Where it came from.
    pub origin: String,
    /// Functions that this crate calls and the driver lacks, with the release that brought each.
    pub missing: Vec<String>,
}

/// The driver of this process.
///
/// # Errors
/// [`OpenError::Driver`] with the reason why there is none.
pub fn driver() -> Result<DriverInfo, OpenError> {
    let driver = cuda_loader::available()?;
    let origin = match driver.origin() {
        cuda_loader::Origin::Installed => "installed table".to_owned(),
        cuda_loader::Origin::Library(path) => path.display().to_string(),
    };
    let absent = driver.missing();
    let called = absent.iter().filter(|absent| NEEDED.contains(&absent.name) || OPTIONAL.contains(&absent.name));
    let missing = called.map(ToString::to_string).collect();
    Ok(DriverInfo { version: driver.version(), origin, missing })
}

/// The devices that the driver shows, usable or not.
///
/// # Errors
/// The reason there is no driver, or the driver's error.
pub fn devices() -> Result<Vec<DeviceInfo>, OpenError> {
    (0..initialise()?).map(|index| Ok(DeviceInfo::query(index, device(index)?)?)).collect()
}

/// Starts the driver and counts its devices.
fn initialise() -> Result<u32, OpenError> {
    let driver = cuda_loader::available()?;
    let absent = driver.missing();
    let names: Vec<_> = NEEDED.iter().copied().filter(|name| absent.iter().any(|a| a.name == *name)).collect();
    if !names.is_empty() {
        return Err(OpenError::MissingFunctions { names });
    }
    let no_device = |status: Status| status == Status::NO_DEVICE;
    match cust::init(CudaFlags::empty()).map_err(status_of) {
        Err(status) if no_device(status) => return Err(OpenError::NoDevice),
        Err(status) => return Err(DriverFault::Refused { call: "cuInit", status }.into()),
        Ok(()) => {}
    }
    match Device::num_devices().map_err(status_of) {
        Err(status) if no_device(status) => Err(OpenError::NoDevice),
        Err(status) => Err(DriverFault::Refused { call: "cuDeviceGetCount", status }.into()),
        Ok(0) => Err(OpenError::NoDevice),
        Ok(count) => Ok(count),
    }
}

fn device(index: u32) -> Result<Device, DriverFault> {
    Device::get_device(index).map_err(|error| DriverFault::Refused { call: "cuDeviceGet", status: status_of(error) })
}

impl CudaQueue {
    /// Opens a device.
    ///
    /// # Errors
    /// [`OpenError`] with the reason why this machine, this device or these kernels will not do.
    pub fn open(config: CudaConfig) -> Result<Self, OpenError> {
        let count = initialise()?;
        let index = config.device;
        if index >= count {
            return Err(OpenError::NoSuchDevice { index, count });
        }
        let device = device(index)?;
        let info = DeviceInfo::query(index, device)?;
        if info.capability < MIN_CAPABILITY {
            return Err(OpenError::Capability { index, name: info.name, found: info.capability });
        }
        let kernels = Kernels::read(&config.kernels, &info)?;
        let context = CudaContext::retain(index, device, config.timeout)?;
        let limit_bytes = match config.budget_bytes {
            Some(limit) => limit,
            None => ffi::memory_info(&context)?.0 / 10 * 9,
        };
        if limit_bytes < MIN_BUDGET_BYTES {
            return Err(OpenError::Budget { limit_bytes, need_bytes: MIN_BUDGET_BYTES });
        }
        let ordered = match config.allocator {
            Allocator::Auto => info.memory_pools,
            Allocator::StreamOrdered => true,
            Allocator::Caching => false,
        };
        let pool = if ordered { DevicePool::ordered(&context, limit_bytes)? } else { DevicePool::caching(&context) };
        let pinned_bytes = config.pinned_bytes.unwrap_or(PINNED_BYTES);
        let (budget, ways) = (Budget::new(limit_bytes), Ways { aes: config.aes, air: config.air });
        let device: Arc<DeviceCtx> = DeviceCtx::new(context, info, budget, kernels, pool, pinned_bytes, ways);
        Ok(Self::on(Track::new(&device)?))
    }
}
