//! The queue of a command.

use core::num::NonZeroUsize;

use anyhow::{Result, bail};
use backend_api::{BackendKind, Queue as _};
use runtime::{AnyQueue, Choice, CollectiveKind, Domain, Launch, OpenError, Settings};

use crate::exit::{UsageError, note};

/// Opens the queue chosen by the arguments and the environment.
///
/// If another queue takes its place, the reason is printed on standard error.
pub(crate) fn open(domain: Domain, backend: Option<Choice>) -> Result<AnyQueue> {
    Ok(open_first(&Settings::from_env().map_err(OpenError::from)?, domain, backend)?.0)
}

/// Opens a queue on each of `count` devices, from the one of [`open`] on.
///
/// The processor is one device; its threads and its memory limit are divided.
pub(crate) fn open_many(domain: Domain, backend: Option<Choice>, count: usize) -> Result<Vec<AnyQueue>> {
    let settings = Settings::from_env().map_err(OpenError::from)?;
    let (first, active) = open_first(&settings, domain, backend)?;
    if count == 1 {
        return Ok(vec![first]);
    }
    let open_next = |settings: &Settings| Ok(runtime::open_with(settings, Some(domain), Some(active))?.0);
    if active == Choice::Cpu {
        let threads = NonZeroUsize::new(first.caps().threads / count).unwrap_or(NonZeroUsize::MIN);
        let mem_limit_bytes = settings.mem_limit_bytes.map(|bytes| bytes / count as u64);
        let own = Settings { threads: Some(threads), mem_limit_bytes, ..settings };
        return (0..count).map(|_| open_next(&own)).collect();
    }
    let others = (1..count as u32).map(|index| {
        let own = Settings { cuda_device: settings.cuda_device + index, ..settings.clone() };
        open_next(&own)
    });
    core::iter::once(Ok(first)).chain(others).collect()
}

/// Opens the queue of one process of several, on the device of its local rank.
///
/// As [`open`], with devices counted from the configured one on. The processes exchange data
/// through their hosts; another transport is refused.
pub(crate) fn open_of_rank(domain: Domain, backend: Option<Choice>, launch: &Launch) -> Result<AnyQueue> {
    let settings = Settings::from_env().map_err(OpenError::from)?;
    if let Some(kind @ (CollectiveKind::Nccl | CollectiveKind::Peer)) = settings.collective {
        let message = format!(
            "MPI processes communicate through their hosts: expected TREFOIL_COLLECTIVE of `auto` or `host`, \
             got `{kind}`"
        );
        return Err(UsageError(message).into());
    }
    let cuda_device = settings.cuda_device.saturating_add(launch.local_rank.unwrap_or(0));
    let own = Settings { cuda_device, ..settings };
    let (queue, _) = open_first(&own, domain, backend)?;
    if launch.local_rank.is_none() && queue.caps().kind == BackendKind::Cuda {
        bail!("the MPI launcher sets no local rank, so all processes of a machine would use the same GPU");
    }
    Ok(queue)
}

/// Opens the chosen queue, and returns its backend.
fn open_first(settings: &Settings, domain: Domain, backend: Option<Choice>) -> Result<(AnyQueue, Choice)> {
    let (queue, status) = runtime::open_with(settings, Some(domain), backend)?;
    if status.fallback.is_some() {
        note(&format!("backend: {status}\n"))?;
    }
    Ok((queue, status.active))
}
