//! Backends of an accelerator, and facts on their devices.

use backend_api::Queue as _;
use runtime::{AnyQueue, Choice, Domain, Settings};

use crate::error::AccelError;

/// Facts on a device, under the names of hybrid-predict-trainer-rs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceInfo {
    /// Its name.
    pub name: String,
    /// Bytes of its memory.
    ///
    /// On the processor they are the limit of the settings, or 0 without one.
    pub total_memory: usize,
    /// Bytes of its memory that were free when the facts were read.
    pub available_memory: usize,
    /// Compute capability of a GPU, major and minor.
    pub compute_capability: Option<(u32, u32)>,
    /// Multiprocessors of a GPU.
    pub num_sms: Option<u32>,
}

impl Default for DeviceInfo {
    fn default() -> Self {
        Self {
            name: "Unknown".to_owned(),
            total_memory: 0,
            available_memory: 0,
            compute_capability: None,
            num_sms: None,
        }
    }
}

impl DeviceInfo {
    /// Facts on the device of `queue`.
    pub(crate) fn of(queue: &AnyQueue) -> Self {
        let (name, budget) = (queue.caps().device.clone(), queue.budget());
        if let Some(gpu) = gpu(queue) {
            return Self { name, ..gpu };
        }
        let limit = Some(budget.limit_bytes()).filter(|&limit| limit < u64::MAX).unwrap_or(0);
        let free = limit.saturating_sub(budget.live_bytes());
        Self { name, total_memory: bytes(limit), available_memory: bytes(free), ..Self::default() }
    }
}

/// The name of the device of `queue`, for errors; a GPU's with its number.
pub(crate) fn device_name(queue: &AnyQueue) -> String {
    let name = &queue.caps().device;
    ordinal(queue).map_or_else(|| format!("`{name}`"), |ordinal| format!("`{name}` (device {ordinal})"))
}

/// The number of a GPU among the devices of its driver.
#[cfg(feature = "cuda")]
fn ordinal(queue: &AnyQueue) -> Option<u32> {
    let AnyQueue::Cuda(device) = queue else { return None };
    Some(device.device().info().ordinal)
}

/// No GPU is built in.
#[cfg(not(feature = "cuda"))]
fn ordinal(_: &AnyQueue) -> Option<u32> {
    None
}

/// Bytes as the upstream counts them.
pub(crate) fn bytes(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

/// Facts on a GPU, without its name.
#[cfg(feature = "cuda")]
fn gpu(queue: &AnyQueue) -> Option<DeviceInfo> {
    let AnyQueue::Cuda(device) = queue else { return None };
    let facts = device.device().info();
    let free = runtime::cuda_memory(device).map_or(0, |memory| memory.free_bytes);
    Some(DeviceInfo {
        total_memory: bytes(facts.total_bytes),
        available_memory: bytes(free),
        compute_capability: Some(facts.capability),
        num_sms: Some(facts.multiprocessors),
        ..DeviceInfo::default()
    })
}

/// No GPU is built in.
#[cfg(not(feature = "cuda"))]
fn gpu(_: &AnyQueue) -> Option<DeviceInfo> {
    None
}

/// Bytes that the memory pool of a GPU holds, in use or not.
#[cfg(feature = "cuda")]
pub(crate) fn pool_bytes(queue: &AnyQueue) -> Option<u64> {
    let AnyQueue::Cuda(device) = queue else { return None };
    runtime::cuda_memory(device).ok().map(|memory| memory.held_bytes)
}

/// No GPU is built in.
#[cfg(not(feature = "cuda"))]
pub(crate) fn pool_bytes(_: &AnyQueue) -> Option<u64> {
    None
}

/// A backend of an accelerator.
pub trait GpuBackend: Send + Sync {
    /// Its name.
    fn name(&self) -> &'static str;

    /// Opens a queue on its device.
    ///
    /// # Errors
    /// [`AccelError::Unavailable`] with the reason if the device cannot be opened.
    fn open(&self) -> Result<AnyQueue, AccelError>;

    /// Whether its device can be opened.
    fn is_available(&self) -> bool {
        self.open().is_ok()
    }

    /// Facts on its device, which is opened for them.
    ///
    /// The default facts if it cannot be opened.
    fn device_info(&self) -> DeviceInfo {
        self.open().map(|queue| DeviceInfo::of(&queue)).unwrap_or_default()
    }
}

/// The host processor.
#[derive(Clone, Debug, Default)]
pub struct TrefoilCpu {
    settings: Settings,
}

impl TrefoilCpu {
    /// The processor with these threads, vector level and memory limit.
    ///
    /// The default reads no environment; [`Settings::from_env`] does.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self { settings }
    }
}

impl GpuBackend for TrefoilCpu {
    fn name(&self) -> &'static str {
        "CPU"
    }

    fn open(&self) -> Result<AnyQueue, AccelError> {
        open(self.name(), &self.settings, Choice::Cpu)
    }
}

/// An NVIDIA GPU, or the simulated one.
///
/// It is never replaced by the processor.
#[derive(Clone, Debug)]
pub struct TrefoilCuda {
    settings: Settings,
    choice: Choice,
}

impl Default for TrefoilCuda {
    fn default() -> Self {
        Self::new(Settings::default())
    }
}

impl TrefoilCuda {
    /// The GPU that `settings` name, the first by default.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self { settings, choice: Choice::Gpu }
    }

    /// The simulated GPU: right results, meaningless times.
    #[must_use]
    pub fn simulated(settings: Settings) -> Self {
        Self { settings, choice: Choice::Sim }
    }
}

impl GpuBackend for TrefoilCuda {
    fn name(&self) -> &'static str {
        if self.choice == Choice::Sim { "CUDA (simulated)" } else { "CUDA" }
    }

    fn open(&self) -> Result<AnyQueue, AccelError> {
        open(self.name(), &self.settings, self.choice)
    }

    /// Looks at the device without opening it.
    fn is_available(&self) -> bool {
        let all = runtime::availability(&self.settings);
        all.into_iter().any(|(choice, outcome)| choice == self.choice && outcome.is_ok())
    }
}

/// Opens `choice` and nothing in its place.
fn open(backend: &'static str, settings: &Settings, choice: Choice) -> Result<AnyQueue, AccelError> {
    let opened = runtime::open_with(settings, Some(Domain::Nn), Some(choice));
    opened.map(|(queue, _)| queue).map_err(|reason| AccelError::Unavailable { backend, reason })
}

#[cfg(test)]
mod tests {
    use runtime::CudaLibrary;

    use super::*;
    use crate::accelerator::GpuAccelerator;

    #[test]
    fn a_gpu_that_is_not_there_is_refused_and_has_no_facts() {
        let backend = TrefoilCuda::new(Settings { cuda_library: CudaLibrary::None, ..Settings::default() });
        assert!(!backend.is_available());
        assert_eq!(backend.device_info(), DeviceInfo::default());
        let refused = GpuAccelerator::new(backend).unwrap_err();
        assert!(matches!(refused, AccelError::Unavailable { backend: "CUDA", .. }), "{refused}");
        assert!(refused.to_string().starts_with("backend `CUDA` is not available: "), "{refused}");
    }

    #[test]
    fn the_memory_of_the_processor_is_its_limit() {
        let limited = TrefoilCpu::new(Settings { mem_limit_bytes: Some(1 << 20), ..Settings::default() });
        let info = limited.device_info();
        assert_eq!((info.total_memory, info.available_memory, info.num_sms), (1 << 20, 1 << 20, None));
        assert!(limited.is_available() && info.name.contains("host processor"));
        assert_eq!(TrefoilCpu::default().device_info().total_memory, 0);
    }
}
