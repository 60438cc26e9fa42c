//! The place of a queue in a group whose ranks copy from each other.

use core::{fmt, ops::Range, time::Duration};
use std::sync::Arc;

use backend_api::{
    BackendError, Buffer as _, BufferMut as _, BufferRef as _, Collective, CollectiveError, Element, Queue as _, Ranks,
};
use collective::{Call, Local, Message, Sent, Staged, Transport as _};

use super::{
    board::{Board, Offer, StreamPoint},
    inlet::Inlet,
    probe,
};
use crate::{
    CudaBuf, CudaMut, CudaQueue, CudaRef, DeviceCtx, Link,
    mem::{BlockAccess, BlockRegion, DeviceBlock},
};

/// The place of a [`CudaQueue`] in a group of ranks of this process.
///
/// The ranks copy from each other's devices.
///
/// A call is submitted and does not wait for any device, but for [`barrier`](Collective::barrier),
/// for copies that the host carries where there is no pinned memory left for them, and for one that
/// fails: that waits until no rank copies from this one any more.
pub struct PeerRank {
    transport: Local,
    board: Arc<Board>,
    device: Arc<DeviceCtx>,
    /// From each rank.
    inlets: Vec<Inlet>,
    links: Arc<[Link]>,
    sent: Sent,
}

/// What one call is about for one rank.
struct RankExchange<'a> {
    call: Call,
    /// Its own blocks that take part.
    blocks: Vec<(&'a Arc<DeviceBlock>, BlockAccess)>,
    /// What others may read.
    offered: Option<BlockRegion<'a>>,
    /// Its reads: the rank, the first byte in the rank's offer, and the target.
    parts: Vec<(usize, u64, BlockRegion<'a>)>,
}

impl PeerRank {
    /// Makes one group of ranks, one for each queue, in the order of the queues.
    ///
    /// Each rank belongs to a separate thread, together with its queue. Several queues may be on
    /// one device.
    ///
    /// # Errors
    /// As of [`links`](crate::links), which are tried where they were not before.
    pub fn group(queues: &[CudaQueue]) -> Result<Vec<Self>, BackendError> {
        Self::among(queues, Local::group(queues.len()))
    }

    /// As [`group`](Self::group), with a timeout of `patience` instead of ten minutes.
    ///
    /// The ranks wait that long for a missing rank.
    ///
    /// # Errors
    /// As of [`group`](Self::group).
    pub fn patient_group(queues: &[CudaQueue], patience: Duration) -> Result<Vec<Self>, BackendError> {
        Self::among(queues, Local::patient_group(queues.len(), patience))
    }

    fn among(queues: &[CudaQueue], group: Vec<Staged<Local>>) -> Result<Vec<Self>, BackendError> {
        let transports: Vec<Local> = group.into_iter().map(Staged::into_transport).collect();
        let patience = transports.first().map_or(Duration::ZERO, Local::patience);
        let board = Board::new(queues.len(), patience);
        let links: Arc<[Link]> = probe::links(queues)?.into();
        let rank = |(q, transport): (&CudaQueue, Local)| {
            let inlet = |owner: &CudaQueue| Ok(Inlet::new(owner, &probe::link(owner, q)?)?);
            let own = transport.rank();
            Ok(Self {
                transport,
                board: Arc::clone(&board),
                device: Arc::clone(q.device()),
                inlets: queues.iter().map(inlet).collect::<Result<_, BackendError>>()?,
                links: Arc::clone(&links),
                sent: Sent::new(own, queues.len()),
            })
        };
        queues.iter().zip(transports).map(rank).collect()
    }

    /// The links between all ranks, as of [`links`](crate::links).
    #[must_use]
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// Passes the result on, and gives up the group on an error.
    fn or_end<V, E: Into<BackendError>>(&self, done: Result<V, E>) -> Result<V, CollectiveError> {
        done.map_err(|error| {
            self.give_up();
            error.into().into()
        })
    }

    /// The same of a copy from `rank`, whose device may be the one that failed.
    fn or_end_with(&self, rank: usize, done: Result<(), BackendError>) -> Result<(), CollectiveError> {
        if done.is_err() && self.inlets[rank].is_lost() && self.device.context().lost().is_none() {
            let gave_up = CollectiveError::GaveUp { rank };
            self.transport.fail(gave_up.clone());
            return Err(gave_up);
        }
        self.or_end(done)
    }

    /// Waits for the threads of all ranks to come to the same call.
    fn meet(&self, call: &Call) -> Result<(), CollectiveError> {
        let met = self.transport.exchange(call, Message::Same(&[]));
        met.map(drop).map_err(|error| match (&error, self.device.context().lost()) {
            // Another rank, which copied from this one, met the end of this device.
            (CollectiveError::GaveUp { rank }, Some(lost)) if *rank == self.transport.rank() => lost.clone().into(),
            _ => error,
        })
    }

    fn permit(&self, q: &CudaQueue, op: &'static str) -> Result<(), BackendError> {
        if !Arc::ptr_eq(q.device(), &self.device) {
            return Err(BackendError::MixedBackend { op });
        }
        q.track().permit_waiting(op)
    }

    fn exchange(&self, q: &CudaQueue, exchange: &RankExchange<'_>) -> Result<(), CollectiveError> {
        let RankExchange { call, blocks, offered, parts } = exchange;
        let (track, own) = (q.track(), self.transport.rank());
        let (stream, events) = (track.stream(), self.device.events());
        // Behind whatever wrote what others read, and whatever used what they bring.
        let ready = || {
            let _admitted = track.admit(call.name, blocks)?;
            Ok::<_, BackendError>(StreamPoint::after(stream, events)?)
        };
        let (address, bytes) = offered.map_or((0, 0), |region| (region.address(), region.bytes()));
        let offer = Offer { ready: self.or_end(ready())?, address, bytes };
        let kept = blocks.iter().map(|(block, _)| Arc::clone(block)).collect();
        let mut offered = self.board.offer(own, offer, kept);
        self.meet(call)?;

        let couriers = self.inlets.iter().filter_map(Inlet::stream);
        let reading = self.board.read(couriers.chain([stream]).map(Arc::clone).collect());
        for &(rank, start, target) in parts {
            let Some(offer) = reading.offer(rank) else {
                // It failed between the meetings, so no rank comes to the second.
                self.meet(call)?;
                return Err(CollectiveError::GaveUp { rank });
            };
            self.or_end_with(rank, self.inlets[rank].bring(q, offer, start, target))?;
        }
        self.board.has_read(own, self.or_end(StreamPoint::after(stream, events))?);
        self.meet(call)?;
        reading.settle();
        if bytes == 0 {
            return Ok(());
        }

        offered.is_read(self.board.others_read(own));
        let mut order = || {
            let _admitted = track.admit(call.name, blocks)?;
            Ok::<_, BackendError>(offered.order(stream)?)
        };
        self.or_end(order())
    }
}

impl Ranks for PeerRank {
    fn rank(&self) -> usize {
        self.transport.rank()
    }

    fn ranks(&self) -> usize {
        self.inlets.len()
    }

    fn give_up(&self) {
        self.transport.fail(CollectiveError::GaveUp { rank: self.transport.rank() });
    }

    fn sent_bytes(&self) -> Vec<u64> {
        self.sent.bytes()
    }
}

impl Collective<CudaQueue> for PeerRank {
    fn all_gather<T: Element>(
        &self,
        q: &CudaQueue,
        buffer: &mut CudaBuf<T>,
        shares: &[Range<usize>],
    ) -> Result<(), CollectiveError> {
        let (own, call) = (self.rank(), Call::all_gather::<T>(self.ranks(), shares)?);
        self.or_end(self.permit(q, "all_gather"))?;
        let views = shares.iter().map(|share| buffer.view().slice(share.clone()));
        let views = self.or_end(views.collect::<Result<Vec<_>, _>>())?;
        let regions: Vec<_> = views.iter().map(CudaRef::region).collect();
        self.or_end(regions.iter().flatten().try_for_each(|region| q.track().own("all_gather", region.block())))?;
        let others = regions.iter().enumerate().filter(|(rank, _)| *rank != own);
        let parts = others.filter_map(|(rank, region)| Some((rank, 0, (*region)?))).collect();
        let exchange = RankExchange {
            call,
            blocks: buffer.view().region().map(|region| (region.block(), BlockAccess::Write)).into_iter().collect(),
            offered: regions[own],
            parts,
        };
        self.exchange(q, &exchange)?;
        self.sent.count(|_| shares[own].len() * size_of::<T>());
        Ok(())
    }

    fn all_to_all<T: Element>(
        &self,
        q: &CudaQueue,
        src: CudaRef<'_, T>,
        mut dst: CudaMut<'_, T>,
    ) -> Result<(), CollectiveError> {
        let (ranks, own) = (self.ranks(), self.rank());
        let (call, part) = Call::all_to_all::<T>(ranks, src.len(), dst.len())?;
        self.or_end(self.permit(q, "all_to_all"))?;
        let of = |rank: usize| rank * part..(rank + 1) * part;
        let kept = |dst: &mut CudaMut<'_, T>| q.copy(src.slice(of(own))?, dst.reborrow().slice(of(own))?);
        self.or_end(kept(&mut dst))?;
        let bytes = (part * size_of::<T>()) as u64;
        let target = dst.region();
        let others = (0..ranks).filter(|&rank| rank != own);
        let start = |rank: usize| rank as u64 * bytes;
        let parts = others.filter_map(|rank| Some((rank, start(own), target?.part(start(rank), bytes))));
        let read = src.region().map(|region| (region.block(), BlockAccess::Read));
        let written = target.map(|region| (region.block(), BlockAccess::Write));
        let exchange = RankExchange {
            call,
            blocks: read.into_iter().chain(written).collect(),
            offered: src.region(),
            parts: parts.collect(),
        };
        self.exchange(q, &exchange)?;
        self.sent.count(|_| part * size_of::<T>());
        Ok(())
    }

    fn broadcast<T: Element>(
        &self,
        q: &CudaQueue,
        root: usize,
        buffer: &mut CudaBuf<T>,
        range: Range<usize>,
    ) -> Result<(), CollectiveError> {
        let (own, len) = (self.rank(), range.len());
        let call = Call::broadcast::<T>(self.ranks(), root, len)?;
        self.or_end(self.permit(q, "broadcast"))?;
        let region = self.or_end(buffer.view().slice(range))?.region();
        self.or_end(region.map_or(Ok(()), |region| q.track().own("broadcast", region.block())))?;
        let is_root = own == root;
        let access = if is_root { BlockAccess::Read } else { BlockAccess::Write };
        let exchange = RankExchange {
            call,
            blocks: region.map(|region| (region.block(), access)).into_iter().collect(),
            offered: region.filter(|_| is_root),
            parts: region.filter(|_| !is_root).map(|region| (root, 0, region)).into_iter().collect(),
        };
        self.exchange(q, &exchange)?;
        self.sent.count(|_| if is_root { len * size_of::<T>() } else { 0 });
        Ok(())
    }

    fn barrier(&self, q: &CudaQueue) -> Result<(), CollectiveError> {
        self.or_end(self.permit(q, "barrier").and_then(|()| q.finish()))?;
        self.meet(&Call::barrier())
    }
}

impl fmt::Debug for PeerRank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PeerRank")
            .field("rank", &self.transport.rank())
            .field("links", &self.links)
            .finish_non_exhaustive()
    }
}
