//! Collectives that pass through host memory.

use core::ops::Range;

use backend_api::{
    BackendError, Buffer as _, BufferMut as _, BufferRef as _, Collective, CollectiveError, Element, Mut, Queue, Ranks,
    Ref, as_words, from_words,
};

use crate::{Call, Message, Sent, Transport};

/// A [`Collective`] over a transport of messages between hosts or threads.
///
/// A rank reads the data it sends from its queue, and writes the data it receives to its queue.
#[derive(Debug)]
pub struct Staged<T> {
    transport: T,
    sent: Sent,
}

impl<T: Transport> Staged<T> {
    /// The collective over `transport`.
    pub fn new(transport: T) -> Self {
        let sent = Sent::new(transport.rank(), transport.ranks());
        Self { transport, sent }
    }

    /// The transport, for a collective that carries only its agreements over it.
    #[must_use]
    pub fn into_transport(self) -> T {
        self.transport
    }

    fn exchange(&self, call: &Call, message: Message<'_>) -> Result<Vec<T::Received>, CollectiveError> {
        let received = self.transport.exchange(call, message)?;
        self.sent.count(|rank| size_of_val(message.to(rank)));
        Ok(received)
    }

    /// Passes the result on, and gives up the group if the device failed.
    fn or_end<V>(&self, done: Result<V, BackendError>) -> Result<V, CollectiveError> {
        done.map_err(|error| {
            self.give_up();
            error.into()
        })
    }
}

impl<T: Transport> Ranks for Staged<T> {
    fn rank(&self) -> usize {
        self.transport.rank()
    }

    fn ranks(&self) -> usize {
        self.transport.ranks()
    }

    fn give_up(&self) {
        self.transport.fail(CollectiveError::GaveUp { rank: self.transport.rank() });
    }

    fn sent_bytes(&self) -> Vec<u64> {
        self.sent.bytes()
    }
}

impl<T: Transport, Q: Queue> Collective<Q> for Staged<T> {
    fn all_gather<E: Element>(
        &self,
        q: &Q,
        buffer: &mut Q::Buf<E>,
        shares: &[Range<usize>],
    ) -> Result<(), CollectiveError> {
        let own = self.transport.rank();
        let call = Call::all_gather::<E>(self.transport.ranks(), shares)?;
        let read = self.or_end(buffer.slice(shares[own].clone()).and_then(|share| q.read(share)))?;
        let received = self.exchange(&call, Message::Same(as_words(&read)))?;
        for (rank, (share, words)) in shares.iter().zip(received).enumerate() {
            if rank != own {
                let mut write = |words: &[u32]| q.write(&from_words::<E>(words)?, buffer.slice_mut(share.clone())?);
                self.or_end(write(&words))?;
            }
        }
        Ok(())
    }

    fn all_to_all<E: Element>(&self, q: &Q, src: Ref<'_, Q, E>, dst: Mut<'_, Q, E>) -> Result<(), CollectiveError> {
        let (ranks, own) = (self.transport.ranks(), self.transport.rank());
        let (call, part) = Call::all_to_all::<E>(ranks, src.len(), dst.len())?;
        let read = self.or_end(q.read(q.shorten(src)))?;
        let parts: Vec<&[u32]> = (0..ranks).map(|rank| as_words(&read[rank * part..(rank + 1) * part])).collect();
        let received = self.exchange(&call, Message::Each(&parts))?;
        let elements = received.iter().map(|words| from_words::<E>(words)).collect::<Result<Vec<_>, _>>();
        let write = |elements: Vec<Vec<E>>| {
            let own_part = &read[own * part..(own + 1) * part];
            let parts = elements.iter().enumerate().map(|(rank, came)| if rank == own { own_part } else { came });
            q.write_parts(&parts.collect::<Vec<_>>(), dst)
        };
        self.or_end(elements.and_then(write))?;
        Ok(())
    }

    fn broadcast<E: Element>(
        &self,
        q: &Q,
        root: usize,
        buffer: &mut Q::Buf<E>,
        range: Range<usize>,
    ) -> Result<(), CollectiveError> {
        let own = self.transport.rank();
        let call = Call::broadcast::<E>(self.transport.ranks(), root, range.len())?;
        let sent = if own == root { range.clone() } else { 0..0 };
        let read = self.or_end(buffer.slice(sent).and_then(|sent| q.read(sent)))?;
        let received = self.exchange(&call, Message::Same(as_words(&read)))?;
        if own != root {
            let write = || q.write(&from_words::<E>(&received[root])?, buffer.slice_mut(range)?);
            self.or_end(write())?;
        }
        Ok(())
    }

    fn barrier(&self, q: &Q) -> Result<(), CollectiveError> {
        self.or_end(q.finish())?;
        self.exchange(&Call::barrier(), Message::Same(&[]))?;
        Ok(())
    }
}
