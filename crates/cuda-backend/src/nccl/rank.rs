//! The place of a queue in a group whose ranks reach each other by NCCL.

use core::{fmt, ops::Range};
use std::{sync::Arc, thread};

use backend_api::{
    BackendError, Buffer as _, BufferMut as _, BufferRef as _, Collective, CollectiveError, Element, Queue as _, Ranks,
    words_of,
};
use collective::{Call, Local, Message, Sent, Staged, Transport};
use cuda_loader::nccl;

use super::{NcclError, link::RankLink, watch::Watch};
use crate::{
    CudaBuf, CudaMut, CudaQueue, CudaRef,
    ffi::{Communicator, NCCL_ID_WORDS},
    mem::BlockRegion,
    peers::open_pools,
    submit::Leg,
};

/// The place of a [`CudaQueue`] in a group of ranks that exchange data through NCCL.
///
/// The ranks are in one process or in several. Messages between their hosts go over a
/// [`Transport`].
///
/// Calls return when all ranks have submitted their parts, but for [`barrier`](Collective::barrier)
/// none waits for a device. Dropping it waits until its last exchange has run through.
pub struct NcclRank<T: Transport + 'static> {
    link: Arc<RankLink<T>>,
    /// There until it is dropped.
    watch: Option<Watch>,
    ranks: usize,
    sent: Sent,
}

impl<T: Transport + 'static> NcclRank<T> {
    /// Joins the group of `transport`, with the device of `q`.
    ///
    /// All ranks have to, at the same time; no two of them on one device.
    ///
    /// # Errors
    /// Why this machine has no NCCL, the refusal of NCCL or the driver, or the missing rank. A rank
    /// that fails ends all.
    pub fn new(q: &CudaQueue, transport: T) -> Result<Self, NcclError> {
        let gave_up = CollectiveError::GaveUp { rank: transport.rank() };
        let joined = Self::communicator(q, &transport);
        let comm = joined.inspect_err(|_| transport.fail(gave_up.clone()))?;
        let ranks = transport.ranks();
        let sent = Sent::new(transport.rank(), ranks);
        let link = Arc::new(RankLink::new(transport, q.device(), comm));
        let watch = Watch::begin(&link).map_err(|error| {
            link.transport.fail(gave_up);
            CollectiveError::Transport(format!("the thread that watches NCCL did not start: {error}"))
        })?;
        Ok(Self { link, watch: Some(watch), ranks, sent })
    }

    fn communicator(q: &CudaQueue, transport: &T) -> Result<Communicator, NcclError> {
        let library = nccl::available()?;
        let (own, ranks) = (transport.rank(), transport.ranks());
        let context = q.device().context();
        let made = |fault| RankLink::reason(transport, fault);
        let id = if own == 0 { Some(Communicator::unique_id(context, library).map_err(made)?) } else { None };
        let said = id.as_ref().map_or(&[][..], |id| &id[..]);
        let call = Call::new::<u32>("NCCL's unique id", vec![ranks]);
        let received = transport.exchange(&call, Message::Same(said))?;
        let id = match id {
            Some(id) => id,
            None => {
                let words = received.first().map_or(&[][..], |words| &**words);
                let expected = format!("expected {NCCL_ID_WORDS} words of a unique id, got {}", words.len());
                words.try_into().map_err(|_| CollectiveError::Transport(expected))?
            }
        };
        let comm = Communicator::join(context, library, &id, [own, ranks]).map_err(made)?;
        if let Err(fault) = RankLink::wait(transport, &comm) {
            let why = made(fault);
            // Before the communicator is dropped: its end reaches the others through NCCL, and they look up the reason here.
            transport.fail(CollectiveError::GaveUp { rank: own });
            return Err(why.into());
        }
        // This exchange returns once all ranks have a communicator.
        transport.exchange(&Call::new::<u32>("NCCL's communicators", vec![ranks]), Message::Same(&[]))?;
        Ok(comm)
    }

    /// Passes the result on; on an error ends the group and this rank's communicator.
    fn or_end<V, E: Into<CollectiveError>>(&self, done: Result<V, E>) -> Result<V, CollectiveError> {
        done.map_err(|error| {
            let error = error.into();
            self.give_up();
            self.link.end(&error);
            error
        })
    }

    /// Waits for the hosts of all ranks to reach the same call.
    ///
    /// Returns whether all ranks agreed to it.
    fn meet(&self, call: &Call, agrees: bool) -> Result<bool, CollectiveError> {
        let said = self.link.transport.exchange(call, Message::Same(&[u32::from(agrees)]));
        let said = said.inspect_err(|why| self.link.end(why))?;
        let own = self.rank();
        let others = said.iter().enumerate().filter(|(rank, _)| *rank != own);
        Ok(agrees && others.map(|(_, said)| &**said).all(|said| said == [1]))
    }

    fn permit(&self, q: &CudaQueue, op: &'static str) -> Result<(), BackendError> {
        if !Arc::ptr_eq(q.device(), &self.link.device) {
            return Err(BackendError::MixedBackend { op });
        }
        q.track().permit_waiting(op)
    }

    /// Submits this rank's part of a call that all ranks agreed on.
    ///
    /// Returns when all ranks have submitted their parts.
    fn submit(&self, q: &CudaQueue, call: &Call, legs: &[Leg<'_>]) -> Result<(), CollectiveError> {
        if legs.is_empty() {
            return Ok(());
        }
        let event = self.or_end(self.link.submit(q.track(), call.name, legs))?;
        self.meet(&Call { name: "submission", ..call.clone() }, true)?;
        self.link.confirm(event);
        Ok(())
    }
}

impl NcclRank<Local> {
    /// Makes one group of ranks, one for each queue, in the order of the queues.
    ///
    /// Each rank belongs to a separate thread, together with its queue. No two queues may be on one
    /// device.
    ///
    /// # Errors
    /// As of [`new`](Self::new).
    pub fn group(queues: &[CudaQueue]) -> Result<Vec<Self>, NcclError> {
        Self::among(queues, Local::group(queues.len()))
    }

    /// As [`group`](Self::group), of the places that are given.
    ///
    /// # Errors
    /// As of [`new`](Self::new).
    pub fn among(queues: &[CudaQueue], places: Vec<Staged<Local>>) -> Result<Vec<Self>, NcclError> {
        // Within a process NCCL's kernels reach into the memory of other devices, and ask for no rights in pools.
        open_pools(queues).map_err(CollectiveError::from)?;
        let made: Vec<Result<Self, NcclError>> = thread::scope(|scope| {
            let places = queues.iter().zip(places);
            let ranks = places.map(|(q, place)| scope.spawn(|| Self::new(q, place.into_transport())));
            let ranks: Vec<_> = ranks.collect();
            let gone = |rank: usize| Err(CollectiveError::Gone { rank }.into());
            ranks.into_iter().enumerate().map(|(rank, made)| made.join().unwrap_or_else(|_| gone(rank))).collect()
        });
        let mut ranks = Vec::new();
        let mut failure = None;
        for made in made {
            match made {
                Ok(rank) => ranks.push(rank),
                // Others end because one failed: its own error has the reason.
                Err(NcclError::Collective(error @ (CollectiveError::GaveUp { .. } | CollectiveError::Gone { .. }))) => {
                    failure.get_or_insert(NcclError::Collective(error));
                }
                Err(error) => return Err(error),
            }
        }
        failure.map_or(Ok(ranks), Err)
    }
}

impl<T: Transport + 'static> Ranks for NcclRank<T> {
    fn rank(&self) -> usize {
        self.link.transport.rank()
    }

    fn ranks(&self) -> usize {
        self.ranks
    }

    fn give_up(&self) {
        self.link.transport.fail(CollectiveError::GaveUp { rank: self.rank() });
    }

    fn sent_bytes(&self) -> Vec<u64> {
        self.sent.bytes()
    }
}

impl<T: Transport + 'static> Collective<CudaQueue> for NcclRank<T> {
    fn all_gather<E: Element>(
        &self,
        q: &CudaQueue,
        buffer: &mut CudaBuf<E>,
        shares: &[Range<usize>],
    ) -> Result<(), CollectiveError> {
        let (ranks, own) = (self.ranks(), self.rank());
        let call = Call::all_gather::<E>(ranks, shares)?;
        self.or_end(self.permit(q, "all_gather"))?;
        let views = shares.iter().map(|share| buffer.view().slice(share.clone()));
        let views = self.or_end(views.collect::<Result<Vec<_>, _>>())?;
        let regions: Vec<_> = views.iter().map(CudaRef::region).collect();
        self.or_end(regions.iter().flatten().try_for_each(|region| q.track().own("all_gather", region.block())))?;
        // Shares of one length that follow each other are one call of NCCL, if they do on all ranks.
        let follow = shares.windows(2).all(|pair| pair[0].end == pair[1].start && pair[0].len() == pair[1].len());
        let legs = if self.meet(&call, follow)? && ranks > 1 {
            let all = self.or_end(buffer.view().slice(shares[0].start..shares[ranks - 1].end))?.region();
            let words = (shares[own].len() * words_of::<E>()) as u64;
            all.map(|all| Leg::AllGather { rank: own, all, words }).into_iter().collect()
        } else {
            let regions = regions.iter().enumerate().filter(|_| ranks > 1);
            let leg = |(root, region): (usize, &Option<_>)| Some(Leg::Broadcast { root, region: (*region)? });
            regions.filter_map(leg).collect::<Vec<_>>()
        };
        self.submit(q, &call, &legs)?;
        self.sent.count(|_| shares[own].len() * size_of::<E>());
        Ok(())
    }

    fn all_to_all<E: Element>(
        &self,
        q: &CudaQueue,
        src: CudaRef<'_, E>,
        dst: CudaMut<'_, E>,
    ) -> Result<(), CollectiveError> {
        let (ranks, own) = (self.ranks(), self.rank());
        let (call, part) = Call::all_to_all::<E>(ranks, src.len(), dst.len())?;
        self.or_end(self.permit(q, "all_to_all"))?;
        let bytes = (part * size_of::<E>()) as u64;
        let mut legs = Vec::new();
        if let (Some(src), Some(dst)) = (src.region(), dst.region()) {
            let check = |region: BlockRegion<'_>| q.track().own("all_to_all", region.block());
            self.or_end(check(src).and_then(|()| check(dst)))?;
            for rank in 0..ranks {
                let start = rank as u64 * bytes;
                let (from, to) = (src.part(start, bytes), dst.part(start, bytes));
                if rank == own {
                    legs.push(Leg::Copy { from, to });
                } else {
                    legs.extend([Leg::Send { to: rank, from }, Leg::Receive { from: rank, to }]);
                }
            }
        }
        self.meet(&call, true)?;
        self.submit(q, &call, &legs)?;
        self.sent.count(|_| part * size_of::<E>());
        Ok(())
    }

    fn broadcast<E: Element>(
        &self,
        q: &CudaQueue,
        root: usize,
        buffer: &mut CudaBuf<E>,
        range: Range<usize>,
    ) -> Result<(), CollectiveError> {
        let (ranks, own, len) = (self.ranks(), self.rank(), range.len());
        let call = Call::broadcast::<E>(ranks, root, len)?;
        self.or_end(self.permit(q, "broadcast"))?;
        let region = self.or_end(buffer.view().slice(range))?.region();
        self.or_end(region.map_or(Ok(()), |region| q.track().own("broadcast", region.block())))?;
        let leg = region.filter(|_| ranks > 1).map(|region| Leg::Broadcast { root, region });
        self.meet(&call, true)?;
        self.submit(q, &call, leg.as_slice())?;
        self.sent.count(|_| if own == root { len * size_of::<E>() } else { 0 });
        Ok(())
    }

    fn barrier(&self, q: &CudaQueue) -> Result<(), CollectiveError> {
        self.or_end(self.permit(q, "barrier").and_then(|()| q.finish()))?;
        self.meet(&Call::barrier(), true).map(drop)
    }
}

impl<T: Transport + 'static> Drop for NcclRank<T> {
    fn drop(&mut self) {
        let settled = self.link.is_settled();
        if !settled {
            // Others may wait for what this one does not bring any more.
            self.give_up();
        }
        if let Some(watch) = self.watch.take() {
            watch.end();
        }
        if settled {
            self.link.part();
        } else {
            self.link.end(&CollectiveError::GaveUp { rank: self.rank() });
        }
    }
}

impl<T: Transport + 'static> fmt::Debug for NcclRank<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NcclRank").field("rank", &self.rank()).field("ranks", &self.ranks()).finish_non_exhaustive()
    }
}
