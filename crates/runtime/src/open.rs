use backend_api::{Budget, Queue};
use core::fmt;
use cpu_backend::{CpuConfig, CpuError, CpuQueue, SimdLevel};
use thiserror::Error;

use crate::{AnyQueue, Choice, Settings, SettingsError};

/// The domains that can have a backend of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Domain {
    /// Function secret sharing. A GPU request fails closed: never a stand-in.
    Pfss,
    /// Circle-STARK transforms.
    Stark,
    /// Neural-network operators. A GPU request falls back to the CPU when it opens, and says so.
    Nn,
}

/// Why a backend cannot be opened on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Unavailable {
    /// This version of Trefoil does not contain the backend.
    #[error("the `{0}` backend is not built yet: this version of Trefoil computes on the CPU only")]
    NotBuilt(Choice),
}

/// Why no queue was opened.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// A setting cannot be used.
    #[error("environment: {0}")]
    Settings(#[from] SettingsError),
    /// The requested backend cannot be opened and nothing may stand in for it.
    #[error("backend `{requested}` was requested: {reason}")]
    Unavailable {
        /// What was asked for.
        requested: Choice,
        /// Why it cannot be had.
        reason: Unavailable,
    },
    /// The CPU backend failed to open.
    #[error("cpu backend: {0}")]
    Cpu(#[from] CpuError),
}

/// Which backend was opened, and why another was not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackendStatus {
    /// What was asked for, after all rules of precedence.
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

/// Whether each backend can be opened, and the reason if it cannot.
pub fn availability() -> [(Choice, Result<(), Unavailable>); 3] {
    [
        (Choice::Cpu, Ok(())),
        (Choice::Gpu, Err(Unavailable::NotBuilt(Choice::Gpu))),
        (Choice::Sim, Err(Unavailable::NotBuilt(Choice::Sim))),
    ]
}

/// Opens a queue on the host processor with default settings and no look at the environment.
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

/// Opens the backend of one domain: `explicit`, or else the domain's variable, or else `TREFOIL_BACKEND`, or the CPU.
///
/// # Errors
/// [`OpenError`]; see [`open_with`].
pub fn open_for(domain: Domain, explicit: Option<Choice>) -> Result<(AnyQueue, BackendStatus), OpenError> {
    open_with(&Settings::from_env()?, Some(domain), explicit)
}

/// [`open_for`] with given settings instead of the process environment.
///
/// `Choice::Auto` may become the CPU. `Choice::Gpu` becomes the CPU only for [`Domain::Nn`] when `RSI_ML_BACKEND` asked
/// for it and `RSI_ML_BACKEND_STRICT` is not set. Both are decided here, once, and stand in the status.
///
/// # Errors
/// [`OpenError::Unavailable`] with the reason if the backend cannot be opened and no stand-in is allowed;
/// [`OpenError::Cpu`] if the CPU backend fails.
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
    let fallback = match requested {
        Choice::Cpu => None,
        Choice::Auto => Some(Unavailable::NotBuilt(Choice::Gpu)),
        Choice::Gpu if lenient => Some(Unavailable::NotBuilt(Choice::Gpu)),
        Choice::Gpu | Choice::Sim => {
            return Err(OpenError::Unavailable { requested, reason: Unavailable::NotBuilt(requested) });
        }
    };
    let queue = CpuQueue::open(CpuConfig {
        threads: settings.threads,
        simd: settings.simd.unwrap_or(SimdLevel::Avx512),
        allow_table_aes: settings.allow_table_aes,
        budget: settings.mem_limit_bytes.map_or_else(Budget::unlimited, Budget::new),
    })?;
    debug_assert_eq!(queue.caps().kind, backend_api::BackendKind::Cpu);
    Ok((AnyQueue::Cpu(queue), BackendStatus { requested, active: Choice::Cpu, fallback }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(settings: &Settings, domain: Domain, explicit: Option<Choice>) -> Result<BackendStatus, OpenError> {
        open_with(settings, Some(domain), explicit).map(|(_, status)| status)
    }

    #[test]
    fn an_argument_beats_the_domain_variable_which_beats_the_global_one() {
        let settings = Settings { backend: Some(Choice::Sim), pfss_backend: Some(Choice::Gpu), ..Settings::default() };
        let requested = |domain, explicit| match status(&settings, domain, explicit) {
            Ok(status) => status.requested,
            Err(OpenError::Unavailable { requested, .. }) => requested,
            Err(other) => panic!("{other}"),
        };
        assert_eq!(requested(Domain::Pfss, Some(Choice::Cpu)), Choice::Cpu);
        assert_eq!(requested(Domain::Pfss, None), Choice::Gpu);
        assert_eq!(requested(Domain::Stark, None), Choice::Sim);
    }

    #[test]
    fn a_gpu_request_fails_closed_for_pfss_and_by_argument() {
        let gpu = Settings { pfss_backend: Some(Choice::Gpu), nn_backend: Some(Choice::Gpu), ..Settings::default() };
        let refused = OpenError::Unavailable { requested: Choice::Gpu, reason: Unavailable::NotBuilt(Choice::Gpu) };
        assert_eq!(status(&gpu, Domain::Pfss, None).unwrap_err(), refused);
        assert_eq!(status(&gpu, Domain::Nn, Some(Choice::Gpu)).unwrap_err(), refused);
        assert_eq!(status(&gpu, Domain::Stark, Some(Choice::Gpu)).unwrap_err(), refused);
    }

    #[test]
    fn nn_ops_falls_back_when_it_opens_and_says_so_unless_strict() {
        let mut settings = Settings { nn_backend: Some(Choice::Gpu), ..Settings::default() };
        let fallen = status(&settings, Domain::Nn, None).unwrap();
        assert_eq!(fallen.fallback, Some(Unavailable::NotBuilt(Choice::Gpu)));
        assert!(fallen.to_string().contains("not built yet"));
        settings.nn_strict = true;
        assert!(status(&settings, Domain::Nn, None).is_err());
    }

    #[test]
    fn the_memory_limit_reaches_the_queue() {
        let settings = Settings { mem_limit_bytes: Some(1024), ..Settings::default() };
        let (queue, _) = open_with(&settings, None, None).unwrap();
        assert_eq!(queue.budget().limit_bytes(), 1024);
        assert!(queue.zeros::<u8>(4096).is_err());
    }
}
