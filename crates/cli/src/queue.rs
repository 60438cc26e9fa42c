//! The queue of a command.

use core::num::NonZeroUsize;

use anyhow::Result;
use backend_api::Queue as _;
use runtime::{AnyQueue, Choice, Domain, Launch, OpenError, Settings};

use crate::exit::note;

/// Opens the queue that the arguments and the environment ask for. If it is another one, standard error says why.
pub(crate) fn open(domain: Domain, backend: Option<Choice>) -> Result<AnyQueue> {
    Ok(open_first(&Settings::from_env().map_err(OpenError::from)?, domain, backend)?.0)
}

/// Opens a queue on each of so many devices: the one that [`open`] opens and those after it. The processor is one device, whose threads
/// and memory limit are dealt out.
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

/// Opens the queue of a process among others: as [`open`], on the device of its number on its machine from the one that was asked for on.
pub(crate) fn open_of_rank(domain: Domain, backend: Option<Choice>, launch: &Launch) -> Result<AnyQueue> {
    let settings = Settings::from_env().map_err(OpenError::from)?;
    let cuda_device = settings.cuda_device.saturating_add(launch.local_rank.unwrap_or(0));
    let own = Settings { cuda_device, ..settings };
    if launch.rank == 0 {
        return Ok(open_first(&own, domain, backend)?.0);
    }
    Ok(runtime::open_with(&own, Some(domain), backend)?.0)
}

/// Opens the queue that was asked for, and says of which backend it is.
fn open_first(settings: &Settings, domain: Domain, backend: Option<Choice>) -> Result<(AnyQueue, Choice)> {
    let (queue, status) = runtime::open_with(settings, Some(domain), backend)?;
    if status.fallback.is_some() {
        note(&format!("backend: {status}\n"))?;
    }
    Ok((queue, status.active))
}
