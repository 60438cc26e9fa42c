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

/// The exchanges of a rank with the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Exchanged {
    /// Bytes that it sent to each other rank.
    pub(super) bytes_to_each: u64,
    /// Calls of the collective.
    pub(super) calls: u32,
    /// Time that passed in them.
    pub(super) time: Duration,
}

/// The first rank of a group in which every other rank contributes copies of its data.
///
/// It computes and sends like a rank of a real group: one device is enough to time and count it.
/// The result is no proof. The time of exchanges here is no measure of links, so it is kept apart.
#[derive(Debug)]
pub(super) struct Mirror {
    ranks: usize,
    exchanged: Mutex<Exchanged>,
}

impl Mirror {
    pub(super) fn new(ranks: usize) -> Self {
        Self { ranks, exchanged: Mutex::default() }
    }

    /// The exchanges so far.
    pub(super) fn exchanged(&self) -> Exchanged {
        // A panic cannot interrupt an update.
        *self.exchanged.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a call that sends `bytes_to_each` to each other rank.
    ///
    /// It is timed apart from the work before.
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

    /// Does nothing: no other rank waits.
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

    /// Counts the bytes that the first rank sends; the buffer stays unchanged for any root.
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
