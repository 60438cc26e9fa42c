//! Collectives that do more than a collective does.

use core::{
    ops::Range,
    sync::atomic::{AtomicU64, Ordering},
};
use std::sync::Arc;

use backend_api::{
    Buffer as _, BufferMut as _, Collective, CollectiveError, Element, Mut, Queue, Ranks, Ref, from_words, words_of,
};

/// Fills what other ranks have to bring with words that are in no proof, before they bring it.
pub(crate) struct Poisoned<C>(pub(crate) C);

/// Fails at a call, counted from 0, and counts them all.
pub(crate) struct Failing<C> {
    pub(crate) inner: C,
    pub(crate) calls: Arc<AtomicU64>,
    pub(crate) at: u64,
}

impl<C: Ranks> Ranks for Poisoned<C> {
    fn rank(&self) -> usize {
        self.0.rank()
    }

    fn ranks(&self) -> usize {
        self.0.ranks()
    }

    fn give_up(&self) {
        self.0.give_up();
    }

    fn sent_bytes(&self) -> Vec<u64> {
        self.0.sent_bytes()
    }
}

impl<Q: Queue, C: Collective<Q>> Collective<Q> for Poisoned<C> {
    fn all_gather<T: Element>(
        &self,
        q: &Q,
        buffer: &mut Q::Buf<T>,
        shares: &[Range<usize>],
    ) -> Result<(), CollectiveError> {
        for (_, share) in shares.iter().enumerate().filter(|(rank, _)| *rank != self.0.rank()) {
            let poison = from_words::<T>(&vec![0x2bad_f00d; share.len() * words_of::<T>()])?;
            q.write(&poison, buffer.slice_mut(share.clone())?)?;
        }
        self.0.all_gather(q, buffer, shares)
    }

    fn all_to_all<T: Element>(&self, q: &Q, src: Ref<'_, Q, T>, dst: Mut<'_, Q, T>) -> Result<(), CollectiveError> {
        let mut brought = q.upload(&from_words::<T>(&vec![0x2bad_f00d; dst.len() * words_of::<T>()])?)?;
        self.0.all_to_all(q, src, brought.view_mut())?;
        Ok(q.copy(brought.view(), q.shorten_mut(dst))?)
    }

    fn broadcast<T: Element>(
        &self,
        q: &Q,
        root: usize,
        buffer: &mut Q::Buf<T>,
        range: Range<usize>,
    ) -> Result<(), CollectiveError> {
        self.0.broadcast(q, root, buffer, range)
    }

    fn barrier(&self, q: &Q) -> Result<(), CollectiveError> {
        self.0.barrier(q)
    }
}

impl<C> Failing<C> {
    fn call(&self) -> Result<(), CollectiveError> {
        if self.calls.fetch_add(1, Ordering::Relaxed) == self.at {
            return Err(CollectiveError::Transport("refused".to_owned()));
        }
        Ok(())
    }
}

impl<C: Ranks> Ranks for Failing<C> {
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

impl<Q: Queue, C: Collective<Q>> Collective<Q> for Failing<C> {
    fn all_gather<T: Element>(
        &self,
        q: &Q,
        buffer: &mut Q::Buf<T>,
        shares: &[Range<usize>],
    ) -> Result<(), CollectiveError> {
        self.call()?;
        self.inner.all_gather(q, buffer, shares)
    }

    fn all_to_all<T: Element>(&self, q: &Q, src: Ref<'_, Q, T>, dst: Mut<'_, Q, T>) -> Result<(), CollectiveError> {
        self.call()?;
        self.inner.all_to_all(q, src, dst)
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
