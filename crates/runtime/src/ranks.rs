//! From queues to ranks that reach each other.

use backend_api::CollectiveError;
use collective::Local;
#[cfg(feature = "cuda")]
use cuda_backend::{CudaQueue, NcclError, NcclRank, PeerRank};
use thiserror::Error;

use crate::{AnyQueue, AnyRank, CollectiveKind, Settings, SettingsError};

/// Why there are no ranks.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RanksError {
    /// A setting cannot be used.
    #[error("environment: {0}")]
    Settings(#[from] SettingsError),
    /// The requested transport is unavailable. There is no fallback.
    #[error("transport `{requested}` between ranks was requested: {reason}")]
    Unavailable {
        /// The requested transport.
        requested: CollectiveKind,
        /// The reason it is unavailable.
        reason: NoReach,
    },
    /// The devices do not reach each other.
    #[error(transparent)]
    Collective(#[from] CollectiveError),
}

/// Why ranks cannot reach each other in a way.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NoReach {
    /// This program was built without the feature `cuda` of crate `runtime`.
    #[error("this program was built without CUDA (feature `cuda` of crate `runtime`)")]
    NotBuilt,
    /// Not all queues are on GPUs.
    #[error("expected all {queues} queues on GPUs, got {gpus}")]
    Processor {
        /// Queues on GPUs.
        gpus: usize,
        /// All queues.
        queues: usize,
    },
    /// There is no NCCL, or it refused.
    #[cfg(feature = "cuda")]
    #[error("{0}")]
    Nccl(Box<NcclError>),
}

/// Makes one group of ranks, one for each queue, in the order of the queues.
///
/// Each rank belongs to a separate thread, together with its queue. `TREFOIL_COLLECTIVE` selects
/// the transport. By default queues on GPUs copy from each other; if any queue is on the CPU, all
/// data passes through host memory.
///
/// # Errors
/// [`RanksError`]; there is no fallback for a requested transport that is unavailable.
pub fn ranks(queues: &[AnyQueue]) -> Result<Vec<AnyRank>, RanksError> {
    ranks_with(&Settings::from_env()?, queues)
}

/// [`ranks`] with given settings instead of the process environment.
///
/// # Errors
/// As of [`ranks`].
pub fn ranks_with(settings: &Settings, queues: &[AnyQueue]) -> Result<Vec<AnyRank>, RanksError> {
    let requested = settings.collective.unwrap_or_default();
    let refused = |reason| RanksError::Unavailable { requested, reason };
    match requested {
        CollectiveKind::Host => Ok(by_host(queues)),
        CollectiveKind::Auto => match by_peers(queues) {
            Ok(made) => Ok(made?),
            Err(_) => Ok(by_host(queues)),
        },
        CollectiveKind::Peer => Ok(by_peers(queues).map_err(refused)??),
        CollectiveKind::Nccl => by_nccl(settings, queues).map_err(refused),
    }
}

fn by_host(queues: &[AnyQueue]) -> Vec<AnyRank> {
    Local::group(queues.len()).into_iter().map(AnyRank::Host).collect()
}

#[cfg(feature = "cuda")]
fn by_peers(queues: &[AnyQueue]) -> Result<Result<Vec<AnyRank>, CollectiveError>, NoReach> {
    let made = PeerRank::group(&gpus(queues)?);
    Ok(made.map(|ranks| ranks.into_iter().map(AnyRank::Peer).collect()).map_err(Into::into))
}

#[cfg(feature = "cuda")]
fn by_nccl(settings: &Settings, queues: &[AnyQueue]) -> Result<Vec<AnyRank>, NoReach> {
    let queues = gpus(queues)?;
    let refused = |error: NcclError| NoReach::Nccl(Box::new(error));
    crate::cuda::open_nccl(settings).map_err(|error| refused(error.into()))?;
    let made = NcclRank::group(&queues).map_err(refused)?;
    Ok(made.into_iter().map(AnyRank::Nccl).collect())
}

/// The queues, if all are on GPUs and there are any.
#[cfg(feature = "cuda")]
fn gpus(queues: &[AnyQueue]) -> Result<Vec<CudaQueue>, NoReach> {
    let gpu = |q: &AnyQueue| match q {
        AnyQueue::Cuda(q) => Some(q.clone()),
        AnyQueue::Cpu(_) => None,
    };
    let gpus: Vec<_> = queues.iter().filter_map(gpu).collect();
    if gpus.is_empty() || gpus.len() < queues.len() {
        return Err(NoReach::Processor { gpus: gpus.len(), queues: queues.len() });
    }
    Ok(gpus)
}

#[cfg(not(feature = "cuda"))]
fn by_peers(_: &[AnyQueue]) -> Result<Result<Vec<AnyRank>, CollectiveError>, NoReach> {
    Err(NoReach::NotBuilt)
}

#[cfg(not(feature = "cuda"))]
fn by_nccl(_: &Settings, _: &[AnyQueue]) -> Result<Vec<AnyRank>, NoReach> {
    Err(NoReach::NotBuilt)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_that_was_asked_for_and_cannot_be_had_is_an_error() {
        let queues = [AnyQueue::Cpu(crate::cpu().unwrap()), AnyQueue::Cpu(crate::cpu().unwrap())];
        let with = |collective| ranks_with(&Settings { collective, ..Settings::default() }, &queues);
        for collective in [None, Some(CollectiveKind::Auto), Some(CollectiveKind::Host)] {
            let ranks = with(collective).unwrap();
            assert!(ranks.len() == 2 && ranks.iter().all(|rank| matches!(rank, AnyRank::Host(_))));
        }
        for requested in [CollectiveKind::Peer, CollectiveKind::Nccl] {
            let reason = match cfg!(feature = "cuda") {
                true => NoReach::Processor { gpus: 0, queues: 2 },
                false => NoReach::NotBuilt,
            };
            assert_eq!(with(Some(requested)).unwrap_err(), RanksError::Unavailable { requested, reason });
        }
    }
}
