//! Links are tried before anybody counts on them.

use core::mem;
use std::{collections::HashSet, sync::Arc};

use backend_api::{BackendError, Buffer as _, Queue as _, Timed as _};

use super::{
    board::{Offer, StreamPoint},
    inlet::Inlet,
};
use crate::{
    CudaBuf, CudaQueue, Detour, Link, Route,
    error::DriverFault,
    ffi::{self, PeerFacts},
};

/// Words that are copied and compared: they fill the minimum budget.
const TRIED_WORDS: usize = (64 << 10) / 4;

/// Bytes that are copied to measure a link.
const MEASURED_BYTES: usize = 64 << 20;

/// Returns the links between the devices of some queues, by pairs.
///
/// The order is: from the first to each other, from the second to each other, and so on.
///
/// A link is tried once: access is enabled, and a copy is compared with its source. Peer copies
/// that deliver wrong bytes are not used, and the route holds the reason.
///
/// # Errors
/// The devices' errors, except refusals of access and of copies. The trial takes 64 KiB of each
/// queue's budget for a moment.
pub fn links(queues: &[CudaQueue]) -> Result<Vec<Link>, BackendError> {
    // All access rights first: rights in a pool may change the path of copies into it.
    let mut begun = HashSet::new();
    let is_new = |(owner, reader): &(&CudaQueue, &CudaQueue)| {
        begun.insert([owner, reader].map(|q| q.device().context().id())) // queues may be of one device
    };
    let trials = pairs(queues).filter(is_new).filter_map(|(owner, reader)| LinkTrial::begin(owner, reader));
    let trials: Vec<LinkTrial<'_>> = trials.collect();
    trials.into_iter().try_for_each(|trial| trial.complete().map(drop))?;
    pairs(queues).map(|(owner, reader)| link(owner, reader)).collect()
}

/// Gives each device access to the pool of every device whose memory it can reach.
pub(crate) fn open_pools(queues: &[CudaQueue]) -> Result<(), BackendError> {
    for (owner, reader) in pairs(queues) {
        let [from, to] = [owner, reader].map(|q| q.device().context());
        if from.ordinal() != to.ordinal() && ffi::peer_facts(to, from).is_ok_and(|facts| facts.can_access) {
            open_pool(owner, reader)?;
        }
    }
    Ok(())
}

/// As [`links`], each with the measured speed of a copy.
///
/// The copy has 64 MiB, or the most that both devices have memory for. A link is measured once.
///
/// # Errors
/// As of [`links`].
pub fn measured_links(queues: &[CudaQueue]) -> Result<Vec<Link>, BackendError> {
    links(queues)?;
    pairs(queues).map(|(owner, reader)| measured_link(owner, reader)).collect()
}

/// All ordered pairs of different queues.
fn pairs(queues: &[CudaQueue]) -> impl Iterator<Item = (&CudaQueue, &CudaQueue)> {
    let others = move |own: usize| queues.iter().enumerate().filter(move |(other, _)| *other != own);
    queues.iter().enumerate().flat_map(move |(own, owner)| others(own).map(move |(_, reader)| (owner, reader)))
}

/// The link from the device of `owner` to the device of `reader`.
pub(super) fn link(owner: &CudaQueue, reader: &CudaQueue) -> Result<Link, BackendError> {
    if let Some(trial) = LinkTrial::begin(owner, reader) {
        return trial.complete();
    }
    let known = reader.device().links().get(&owner.device().context().id()).cloned();
    Ok(known.unwrap_or_else(|| untried(owner, reader)))
}

/// The link between two devices before a trial, or within one.
fn untried(owner: &CudaQueue, reader: &CudaQueue) -> Link {
    let [from, to] = [owner, reader].map(|q| q.device().context().ordinal());
    let (performance_rank, native_atomics, bytes_per_second) = (None, None, None);
    Link { from, to, route: Route::Device, performance_rank, native_atomics, bytes_per_second }
}

/// A link that is being tried.
struct LinkTrial<'a> {
    owner: &'a CudaQueue,
    reader: &'a CudaQueue,
    link: Link,
    /// Whether there is access.
    reached: Result<(), Refusal>,
}

impl<'a> LinkTrial<'a> {
    /// Gives the reader access. `None` for a link that is known, or within a device.
    fn begin(owner: &'a CudaQueue, reader: &'a CudaQueue) -> Option<Self> {
        let [from, to] = [owner, reader].map(|q| q.device().context());
        let mut link = untried(owner, reader);
        if link.from == link.to || reader.device().links().contains_key(&from.id()) {
            return None;
        }
        let facts = ffi::peer_facts(to, from);
        if let Ok(facts) = facts {
            link.performance_rank = Some(facts.performance_rank);
            link.native_atomics = Some(facts.native_atomics);
        }
        let reached = reach(owner, reader, facts);
        Some(Self { owner, reader, link, reached })
    }

    /// Tries a copy, and stores the link for later calls.
    fn complete(self) -> Result<Link, BackendError> {
        let Self { owner, reader, mut link, reached } = self;
        link.route = match reached.and_then(|()| attempt(owner, reader, &link)) {
            Ok(()) => Route::Peer,
            Err(Refusal::Detour(detour)) => Route::Host(detour),
            Err(Refusal::Failure(error)) => return Err(error),
        };
        reader.device().links().insert(owner.device().context().id(), link.clone());
        Ok(link)
    }
}

/// Why there are no peer copies.
enum Refusal {
    Detour(Detour),
    /// The devices cannot be used at all.
    Failure(BackendError),
}

impl Refusal {
    /// The refusal for a failure of calls that only peer copies need.
    fn of(error: BackendError) -> Self {
        match error {
            refused @ BackendError::Driver { .. } => Self::Detour(Detour::Refused(refused)),
            other => Self::Failure(other),
        }
    }
}

impl From<DriverFault> for Refusal {
    fn from(fault: DriverFault) -> Self {
        Self::of(fault.into())
    }
}

/// Gives `reader` access to memory of `owner`.
fn reach(owner: &CudaQueue, reader: &CudaQueue, facts: Result<PeerFacts, DriverFault>) -> Result<(), Refusal> {
    if !facts?.can_access {
        return Err(Refusal::Detour(Detour::NoAccess));
    }
    ffi::enable_access(reader.device().context(), owner.device().context())?;
    Ok(open_pool(owner, reader)?)
}

/// Gives `reader` access to the pool of `owner`.
///
/// Stored links into `owner` may be outdated, so they are dropped.
fn open_pool(owner: &CudaQueue, reader: &CudaQueue) -> Result<(), DriverFault> {
    owner.device().links().clear();
    owner.device().pool().allow(reader.device().context().ordinal())
}

/// Tries whether a copy delivers the bytes that were sent.
fn attempt(owner: &CudaQueue, reader: &CudaQueue, link: &Link) -> Result<(), Refusal> {
    let failed = Refusal::Failure;
    let sent: Vec<u32> = (1..=TRIED_WORDS as u32).map(|i| i.wrapping_mul(0x9e37_79b9)).collect();
    let source = owner.upload(&sent).map_err(failed)?;
    let mut target = reader.zeros::<u32>(TRIED_WORDS).map_err(failed)?;
    let inlet = Inlet::new(owner, &Link { route: Route::Peer, ..link.clone() })?;
    carry(&inlet, (owner, &source), (reader, &mut target)).map_err(Refusal::of)?;
    let came = reader.download(&target).map_err(failed)?;
    let [sent, came]: [&[u8]; 2] = [bytemuck::cast_slice(&sent), bytemuck::cast_slice(&came)];
    match sent.iter().zip(came).position(|(sent, came)| sent != came) {
        None => Ok(()),
        Some(first) => Err(Refusal::Detour(Detour::Wrong { bytes: sent.len(), first })),
    }
}

/// The link with the speed of a copy.
fn measured_link(owner: &CudaQueue, reader: &CudaQueue) -> Result<Link, BackendError> {
    let mut link = link(owner, reader)?;
    if link.route == Route::Device || link.bytes_per_second.is_some() {
        return Ok(link);
    }
    let inlet = Inlet::new(owner, &link)?;
    let mut words = MEASURED_BYTES / 4;
    let (source, mut target) = loop {
        let memory = owner.zeros::<u32>(words).and_then(|source| Ok((source, reader.zeros::<u32>(words)?)));
        match memory {
            Err(BackendError::BudgetExceeded { .. } | BackendError::OutOfMemory { .. }) if words > TRIED_WORDS => {
                words /= 2;
            }
            other => break other?,
        }
    };
    let nanoseconds = carry(&inlet, (owner, &source), (reader, &mut target))?;
    let seconds = nanoseconds.max(1) as f64 * 1e-9;
    link.bytes_per_second = Some(4.0 * words as f64 / seconds);
    reader.device().links().insert(owner.device().context().id(), link.clone());
    Ok(link)
}

/// Copies a buffer of one rank to a buffer of another and waits for it.
///
/// Returns the nanoseconds that it took on the device.
fn carry(
    inlet: &Inlet,
    (owner, source): (&CudaQueue, &CudaBuf<u32>),
    (reader, target): (&CudaQueue, &mut CudaBuf<u32>),
) -> Result<i64, BackendError> {
    owner.finish()?;
    let (from, to) = (source.view().region(), target.view_mut().region());
    let Some((from, to)) = from.zip(to) else { return Ok(0) };
    let ready = StreamPoint::after(owner.track().stream(), owner.device().events())?;
    let offer = Offer { ready, address: from.address(), bytes: from.bytes() };
    let submit = || {
        let begin = reader.mark()?;
        inlet.bring(reader, &offer, 0, to)?;
        Ok((begin, reader.mark()?))
    };
    let marks: Result<_, BackendError> = submit();
    let streams = inlet.stream().into_iter().chain([reader.track().stream()]);
    if !streams.fold(true, |settled, stream| settled & stream.is_settled()) {
        // A copy may still read there.
        mem::forget(Arc::clone(from.block()));
    }
    let (begin, end) = marks?;
    reader.elapsed_ns(&begin, &end)
}
