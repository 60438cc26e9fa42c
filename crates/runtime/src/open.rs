//! From settings to an open queue, and which backend it is of.

use backend_api::Budget;
use core::fmt;
use cpu_backend::{CpuConfig, CpuError, CpuQueue, SimdLevel};

use crate::{AnyQueue, Choice, Domain, OpenError, Settings, TRACE_TARGET, Unavailable};
#[cfg(feature = "cuda")]
use crate::{CudaFacts, CudaLibrary, cuda, cuda_facts};

/// Which backend was opened, and why another was not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackendStatus {
    /// The requested backend, after all rules of precedence.
    pub requested: Choice,
    /// What was opened.
    pub active: Choice,
    /// Why it differs from the request, if it does.
    pub fallback: Option<Unavailable>,
}

impl fmt::Display for BackendStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.fallback {
            None => write!(f, "{}", self.active),
            Some(reason) => write!(f, "{} ({} was requested: {reason})", self.active, self.requested),
        }
    }
}

/// Whether each backend can be opened under `settings`, and the reason if it cannot.
///
/// Looks for the GPU's driver, unless the process has one already; a later look then finds the same
/// one. For the GPU it looks at the device and opens nothing; the simulated driver is available to
/// every process that has no other one.
#[cfg(feature = "cuda")]
pub fn availability(settings: &Settings) -> [(Choice, Result<(), Unavailable>); 3] {
    let usable = |facts: CudaFacts| match facts.devices.get(settings.cuda_device as usize) {
        _ if facts.simulated && settings.cuda_library != CudaLibrary::Simulated => Err(Unavailable::OnlySimulated),
        Some(device) if device.is_usable() => Ok(()),
        Some(device) => Err(Unavailable::Gpu(Box::new(cuda_backend::OpenError::Capability {
            index: device.ordinal,
            name: device.name.clone(),
            found: device.capability,
        }))),
        None => Err(Unavailable::Gpu(Box::new(cuda_backend::OpenError::NoSuchDevice {
            index: settings.cuda_device,
            count: facts.devices.len() as u32,
        }))),
    };
    let gpu = cuda_facts(settings).and_then(usable);
    [(Choice::Cpu, Ok(())), (Choice::Gpu, gpu), (Choice::Sim, Ok(()))]
}

/// Opens a queue on the host processor with default settings.
///
/// It does not read the environment.
///
/// # Errors
/// [`CpuError`] if worker threads cannot be started.
pub fn cpu() -> Result<CpuQueue, CpuError> {
    CpuQueue::open(CpuConfig::default())
}

/// Opens the backend that the environment asks for, `TREFOIL_BACKEND` or the CPU.
///
/// # Errors
/// [`OpenError`]; nothing stands in for a backend that cannot be opened.
pub fn open() -> Result<(AnyQueue, BackendStatus), OpenError> {
    open_with(&Settings::from_env()?, None, None)
}

/// Opens the backend of one domain.
///
/// The choice is `explicit`, or else the domain's variable, or else `TREFOIL_BACKEND`, or else the
/// CPU.
///
/// # Errors
/// [`OpenError`]; see [`open_with`].
pub fn open_for(domain: Domain, explicit: Option<Choice>) -> Result<(AnyQueue, BackendStatus), OpenError> {
    open_with(&Settings::from_env()?, Some(domain), explicit)
}

/// [`open_for`] with given settings instead of the process environment.
///
/// `Choice::Auto` may become the CPU. `Choice::Gpu` becomes the CPU only for [`Domain::Nn`] when
/// `RSI_ML_BACKEND` requested it and `RSI_ML_BACKEND_STRICT` is not set. Both are decided here,
/// once, and recorded in the status.
///
/// # Errors
/// [`OpenError::Unavailable`] with the reason if the backend cannot be opened and no stand-in is
/// allowed; [`OpenError::Cpu`] if the CPU backend fails.
pub fn open_with(
    settings: &Settings,
    domain: Option<Domain>,
    explicit: Option<Choice>,
) -> Result<(AnyQueue, BackendStatus), OpenError> {
    let own = match domain {
        Some(Domain::Pfss) => settings.pfss_backend,
        Some(Domain::Nn) => settings.nn_backend,
        Some(Domain::Stark) | None => None,
    };
    let requested = explicit.or(own).or(settings.backend).unwrap_or(Choice::Cpu);
    let lenient = domain == Some(Domain::Nn) && explicit.is_none() && own.is_some() && !settings.nn_strict;
    let stand_in = requested == Choice::Auto || (requested == Choice::Gpu && lenient);
    let fallback = match requested {
        Choice::Cpu => None,
        Choice::Gpu | Choice::Sim | Choice::Auto => match device(settings, requested, domain, stand_in) {
            Ok(queue) => {
                let active = if requested == Choice::Auto { Choice::Gpu } else { requested };
                return Ok((queue, BackendStatus { requested, active, fallback: None }));
            }
            Err(reason) if stand_in => {
                tracing::debug!(target: TRACE_TARGET, requested = %requested, reason = %reason, "fallback");
                Some(reason)
            }
            Err(reason) => return Err(OpenError::Unavailable { requested, reason }),
        },
    };
    let queue = CpuQueue::open(CpuConfig {
        threads: settings.threads,
        simd: settings.simd.unwrap_or(SimdLevel::Avx512),
        budget: settings.mem_limit_bytes.map_or_else(Budget::unlimited, Budget::new),
    })?;
    Ok((AnyQueue::Cpu(queue), BackendStatus { requested, active: Choice::Cpu, fallback }))
}

/// Opens the device that `choice` means.
#[cfg(feature = "cuda")]
fn device(
    settings: &Settings,
    choice: Choice,
    domain: Option<Domain>,
    stand_in: bool,
) -> Result<AnyQueue, Unavailable> {
    cuda::open(settings, choice, domain, stand_in).map(AnyQueue::Cuda)
}

/// Opens no device: there is none.
#[cfg(not(feature = "cuda"))]
fn device(_: &Settings, _: Choice, _: Option<Domain>, _: bool) -> Result<AnyQueue, Unavailable> {
    Err(Unavailable::NotBuilt)
}

/// Whether each backend can be opened: without the feature `cuda` the CPU alone.
#[cfg(not(feature = "cuda"))]
pub fn availability(_: &Settings) -> [(Choice, Result<(), Unavailable>); 3] {
    let missing = Err(Unavailable::NotBuilt);
    [(Choice::Cpu, Ok(())), (Choice::Gpu, missing.clone()), (Choice::Sim, missing)]
}

#[cfg(test)]
mod tests {
    use backend_api::Queue;

    use super::*;
    use crate::CudaLibrary;

    /// Settings under which no GPU is found, whatever the machine has.
    fn without_gpu() -> Settings {
        Settings { cuda_library: CudaLibrary::None, ..Settings::default() }
    }

    fn status(settings: &Settings, domain: Domain, explicit: Option<Choice>) -> Result<BackendStatus, OpenError> {
        open_with(settings, Some(domain), explicit).map(|(_, status)| status)
    }

    #[test]
    fn an_argument_beats_the_domain_variable_which_beats_the_global_one() {
        let settings = Settings { backend: Some(Choice::Auto), pfss_backend: Some(Choice::Gpu), ..without_gpu() };
        let requested = |domain, explicit| match status(&settings, domain, explicit) {
            Ok(status) => status.requested,
            Err(OpenError::Unavailable { requested, .. }) => requested,
            Err(other) => panic!("{other}"),
        };
        assert_eq!(requested(Domain::Pfss, Some(Choice::Cpu)), Choice::Cpu);
        assert_eq!(requested(Domain::Pfss, None), Choice::Gpu);
        assert_eq!(requested(Domain::Stark, None), Choice::Auto);
    }

    #[test]
    fn a_gpu_request_fails_closed_for_pfss_and_by_argument() {
        let gpu = Settings { pfss_backend: Some(Choice::Gpu), nn_backend: Some(Choice::Gpu), ..without_gpu() };
        for (domain, explicit) in
            [(Domain::Pfss, None), (Domain::Nn, Some(Choice::Gpu)), (Domain::Stark, Some(Choice::Gpu))]
        {
            let refused = status(&gpu, domain, explicit).unwrap_err();
            assert!(matches!(refused, OpenError::Unavailable { requested: Choice::Gpu, .. }), "{refused}");
        }
    }

    #[test]
    fn nn_ops_falls_back_when_it_opens_and_says_so_unless_strict() {
        let mut settings = Settings { nn_backend: Some(Choice::Gpu), ..without_gpu() };
        let fallen = status(&settings, Domain::Nn, None).unwrap();
        assert_eq!(fallen.active, Choice::Cpu);
        let reason = if cfg!(feature = "cuda") { "switched off" } else { "built without CUDA" };
        assert!(fallen.to_string().contains(reason), "{fallen}");
        settings.nn_strict = true;
        assert!(status(&settings, Domain::Nn, None).is_err());
    }

    #[test]
    fn auto_takes_the_host_where_there_is_no_gpu_and_says_why() {
        let opened = status(&without_gpu(), Domain::Stark, Some(Choice::Auto)).unwrap();
        assert_eq!((opened.requested, opened.active), (Choice::Auto, Choice::Cpu));
        assert!(opened.fallback.is_some());
    }

    #[test]
    fn the_memory_limit_reaches_the_queue() {
        let settings = Settings { mem_limit_bytes: Some(1024), ..Settings::default() };
        let (queue, _) = open_with(&settings, None, None).unwrap();
        assert_eq!(queue.budget().limit_bytes(), 1024);
        assert!(queue.zeros::<u8>(4096).is_err());
    }
}
