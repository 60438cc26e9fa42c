//! A rank whose group is mirrors of it.

use core::ops::Range;
use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use backend_api::{
    BackendError, Buffer as _, BufferMut as _, BufferRef as _, Collective, CollectiveError, Element, Mut, Queue, Ranks,
    Ref, from_words, words_of,
};
use collective::Call;

/// What a rank has exchanged with the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Exchanged {
    /// Bytes that it sent to each other rank.
    pub(super) bytes_to_each: u64,
    /// Calls of the collective.
    pub(super) calls: u32,
    /// Time that passed in them.
    pub(super) time: Duration,
}

/// The first rank of a group in which every other one brings what this one has.
///
/// It computes what a rank of such a group computes, and sends as many bytes: one device is enough to time and count it. What comes of
/// it is no proof. That exchanges take time here says nothing about links, so that time is kept apart.
#[derive(Debug)]
pub(super) struct Mirror {
    ranks: usize,
    exchanged: Mutex<Exchanged>,
}

impl Mirror {
    pub(super) fn new(ranks: usize) -> Self {
        Self { ranks, exchanged: Mutex::default() }
    }

    /// What it has exchanged so far.
    pub(super) fn exchanged(&self) -> Exchanged {
        // What a panic left behind is whole.
        *self.exchanged.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a call with so many bytes to each other rank, and times it apart from the work before.
    fn call<Q: Queue>(
        &self,
        q: &Q,
        bytes_to_each: usize,
        bring: impl FnOnce() -> Result<(), BackendError>,
    ) -> Result<(), CollectiveError> {
        q.finish()?;
        let begin = Instant::now();
        bring()?;
        q.finish()?;
        let mut exchanged = self.exchanged.lock().unwrap_or_else(PoisonError::into_inner);
        exchanged.bytes_to_each += bytes_to_each as u64;
        exchanged.calls += 1;
        exchanged.time += begin.elapsed();
        Ok(())
    }
}

impl Ranks for Mirror {
    fn rank(&self) -> usize {
        0
    }

    fn ranks(&self) -> usize {
        self.ranks
    }

    /// There is nobody who waits.
    fn give_up(&self) {}

    fn sent_bytes(&self) -> Vec<u64> {
        let bytes = self.exchanged().bytes_to_each;
        (0..self.ranks).map(|rank| if rank == 0 { 0 } else { bytes }).collect()
    }
}

impl<Q: Queue> Collective<Q> for Mirror {
    fn all_gather<T: Element>(
        &self,
        q: &Q,
        buffer: &mut Q::Buf<T>,
        shares: &[Range<usize>],
    ) -> Result<(), CollectiveError> {
        Call::all_gather::<T>(self.ranks, shares)?;
        let Some((own, others)) = shares.split_first() else { return Ok(()) };
        self.call(q, own.len() * size_of::<T>(), || {
            let own = q.read(buffer.slice(own.clone())?)?;
            for share in others {
                let brought = match &own[..] {
                    [] => from_words::<T>(&vec![0; share.len() * words_of::<T>()])?,
                    own => own.iter().copied().cycle().take(share.len()).collect(),
                };
                q.write(&brought, buffer.slice_mut(share.clone())?)?;
            }
            Ok(())
        })
    }

    fn all_to_all<T: Element>(&self, q: &Q, src: Ref<'_, Q, T>, dst: Mut<'_, Q, T>) -> Result<(), CollectiveError> {
        let (_, part) = Call::all_to_all::<T>(self.ranks, src.len(), dst.len())?;
        self.call(q, part * size_of::<T>(), || q.copy(q.shorten(src), q.shorten_mut(dst)))
    }

    /// From the first rank, what it has; from others, what there was.
    fn broadcast<T: Element>(
        &self,
        q: &Q,
        root: usize,
        _: &mut Q::Buf<T>,
        range: Range<usize>,
    ) -> Result<(), CollectiveError> {
        Call::broadcast::<T>(self.ranks, root, range.len())?;
        self.call(q, if root == 0 { range.len() * size_of::<T>() } else { 0 }, || Ok(()))
    }

    fn barrier(&self, q: &Q) -> Result<(), CollectiveError> {
        self.call(q, 0, || Ok(()))
    }
}
