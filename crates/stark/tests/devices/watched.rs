//! A collective that does more than a collective does.

use core::{
    ops::Range,
    sync::atomic::{AtomicU64, Ordering},
};
use std::sync::Arc;

use backend_api::{
    BackendError, Buffer as _, BufferMut as _, Collective, CollectiveError, Element, Mut, Queue, Ranks, Ref,
    from_words, words_of,
};

/// Fills what other ranks have to bring with words that are in no proof, before they bring it.
///
/// It counts the calls, and fails at one of them, counted from 0.
pub(crate) struct Watched<C> {
    inner: C,
    calls: Arc<AtomicU64>,
    fails_at: u64,
}

impl<C> Watched<C> {
    /// A collective that does not fail.
    pub(crate) fn new(inner: C) -> Self {
        Self::failing(inner, Arc::default(), u64::MAX)
    }

    pub(crate) const fn failing(inner: C, calls: Arc<AtomicU64>, fails_at: u64) -> Self {
        Self { inner, calls, fails_at }
    }

    fn call(&self) -> Result<(), CollectiveError> {
        if self.calls.fetch_add(1, Ordering::Relaxed) == self.fails_at {
            return Err(CollectiveError::Transport("refused".to_owned()));
        }
        Ok(())
    }
}

/// Elements that are in no proof. One is checked, and copied.
fn poison<T: Element>(len: usize) -> Result<Vec<T>, BackendError> {
    let element = from_words::<T>(&vec![0x2bad_f00d; words_of::<T>()])?;
    Ok(vec![element[0]; len])
}

impl<C: Ranks> Ranks for Watched<C> {
    fn rank(&self) -> usize {
        self.inner.rank()
    }

    fn ranks(&self) -> usize {
        self.inner.ranks()
    }

    fn give_up(&self) {
        self.inner.give_up();
    }

    fn sent_bytes(&self) -> Vec<u64> {
        self.inner.sent_bytes()
    }
}

impl<Q: Queue, C: Collective<Q>> Collective<Q> for Watched<C> {
    fn all_gather<T: Element>(
        &self,
        q: &Q,
        buffer: &mut Q::Buf<T>,
        shares: &[Range<usize>],
    ) -> Result<(), CollectiveError> {
        self.call()?;
        for (_, share) in shares.iter().enumerate().filter(|(rank, _)| *rank != self.inner.rank()) {
            q.write(&poison::<T>(share.len())?, buffer.slice_mut(share.clone())?)?;
        }
        self.inner.all_gather(q, buffer, shares)
    }

    fn all_to_all<T: Element>(&self, q: &Q, src: Ref<'_, Q, T>, dst: Mut<'_, Q, T>) -> Result<(), CollectiveError> {
        self.call()?;
        let mut brought = q.upload(&poison::<T>(dst.len())?)?;
        self.inner.all_to_all(q, src, brought.view_mut())?;
        Ok(q.copy(brought.view(), q.shorten_mut(dst))?)
    }

    fn broadcast<T: Element>(
        &self,
        q: &Q,
        root: usize,
        buffer: &mut Q::Buf<T>,
        range: Range<usize>,
    ) -> Result<(), CollectiveError> {
        self.call()?;
        self.inner.broadcast(q, root, buffer, range)
    }

    fn barrier(&self, q: &Q) -> Result<(), CollectiveError> {
        self.call()?;
        self.inner.barrier(q)
    }
}
