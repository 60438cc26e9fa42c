//! Provers on several devices that make one proof together.
//!
//! A rank does its share of what grows with the number of columns: it interpolates some of them,
//! and computes and hashes some of the blocks of their values. Where there are fewer ranks than
//! copies of the trace, or not enough memory, all ranks gather all coefficients first; else columns
//! are [partitioned](crate::placement::column_partition). The rest, which does not grow with the
//! number of columns, all ranks do alike, so that their transcripts are one.

use core::ops::Range;
use std::sync::Arc;

use backend_api::{Buffer as _, Collective, CollectiveError, Element, Mut, Queue, Ranks, Ref};
use core_types::{
    blake2s::Digest,
    field::{M31, QM31},
};

use crate::ProverError;

/// The place of a prover among those that make a proof together.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RankPlace {
    pub(crate) rank: usize,
    pub(crate) log_ranks: u32,
    /// Whether columns are partitioned: each rank then has only its own columns' coefficients.
    pub(crate) partitioned: bool,
}

impl RankPlace {
    pub(crate) const fn is_alone(self) -> bool {
        self.log_ranks == 0
    }

    pub(crate) const fn ranks(self) -> usize {
        1 << self.log_ranks
    }

    /// This rank's share of `count` items.
    pub(crate) const fn share(self, count: usize) -> Range<usize> {
        share(count, self.rank, self.log_ranks)
    }

    /// Each rank's share of `count` items.
    pub(crate) fn shares(self, count: usize) -> impl Iterator<Item = Range<usize>> {
        (0..self.ranks()).map(move |rank| share(count, rank, self.log_ranks))
    }
}

/// Shares follow each other, and differ by one at most.
const fn share(count: usize, rank: usize, log_ranks: u32) -> Range<usize> {
    (rank * count) >> log_ranks..((rank + 1) * count) >> log_ranks
}

/// [`Collective::all_gather`] of one type.
pub(crate) trait GatherElements<Q: Queue, T: Element> {
    fn gather(&self, q: &Q, buffer: &mut Q::Buf<T>, shares: &[Range<usize>]) -> Result<(), CollectiveError>;
}

impl<Q: Queue, T: Element, C: Collective<Q>> GatherElements<Q, T> for C {
    fn gather(&self, q: &Q, buffer: &mut Q::Buf<T>, shares: &[Range<usize>]) -> Result<(), CollectiveError> {
        self.all_gather(q, buffer, shares)
    }
}

/// [`Collective::all_to_all`] of the values of columns.
pub(crate) trait Bring<Q: Queue> {
    fn bring(&self, q: &Q, src: Ref<'_, Q, M31>, dst: Mut<'_, Q, M31>) -> Result<(), CollectiveError>;
}

impl<Q: Queue, C: Collective<Q>> Bring<Q> for C {
    fn bring(&self, q: &Q, src: Ref<'_, Q, M31>, dst: Mut<'_, Q, M31>) -> Result<(), CollectiveError> {
        self.all_to_all(q, src, dst)
    }
}

/// The operations of a [`Collective`] that a proof uses.
pub(crate) trait ProofExchange<Q: Queue>:
    Ranks + GatherElements<Q, M31> + GatherElements<Q, QM31> + GatherElements<Q, Digest> + GatherElements<Q, u32> + Bring<Q>
{
}

impl<Q: Queue, C: Collective<Q>> ProofExchange<Q> for C {}

/// The ranks that make a proof together; none if a prover is alone.
pub(crate) struct RankGroup<Q>(Option<Arc<dyn ProofExchange<Q>>>);

impl<Q: Queue> RankGroup<Q> {
    pub(crate) const ALONE: Self = Self(None);

    pub(crate) fn new(collective: impl Collective<Q> + 'static) -> Self {
        Self(Some(Arc::new(collective)))
    }

    /// Gathers every rank's share of a buffer on this rank.
    pub(crate) fn all_gather<T: Element>(
        &self,
        q: &Q,
        buffer: &mut Q::Buf<T>,
        shares: impl Iterator<Item = Range<usize>>,
    ) -> Result<(), CollectiveError>
    where
        dyn ProofExchange<Q>: GatherElements<Q, T>,
    {
        match &self.0 {
            Some(exchange) => exchange.gather(q, buffer, &shares.collect::<Vec<_>>()),
            None => Ok(()),
        }
    }

    /// Sends part `r` of `src` to rank `r`, and receives this rank's part from each rank.
    ///
    /// Does nothing on a single rank.
    pub(crate) fn all_to_all(&self, q: &Q, src: Ref<'_, Q, M31>, dst: Mut<'_, Q, M31>) -> Result<(), CollectiveError> {
        match &self.0 {
            Some(exchange) => exchange.bring(q, src, dst),
            None => Ok(()),
        }
    }

    /// Returns the maximum of `number` over the ranks, if their `facts` are equal.
    pub(crate) fn agree(&self, q: &Q, place: RankPlace, facts: &[u32], number: u32) -> Result<u32, ProverError> {
        let len = facts.len() + 1;
        let of = |rank: usize| rank * len..(rank + 1) * len;
        let mut all = q.alloc::<u32>(len * place.ranks())?;
        let own = [&[number], facts].concat();
        q.write(&own, all.slice_mut(of(place.rank))?)?;
        self.all_gather(q, &mut all, (0..place.ranks()).map(of))?;
        let all = q.download(&all)?;
        let rows = || all.chunks_exact(len);
        match rows().zip(rows().skip(1)).position(|(before, row)| before[1..] != row[1..]) {
            Some(rank) => Err(ProverError::Disagreement { rank: rank + 1 }),
            None => Ok(rows().map(|row| row[0]).fold(number, u32::max)),
        }
    }

    /// Ends the group if the device failed.
    ///
    /// An error of the caller can be corrected, and does not end it.
    pub(crate) fn or_end<V>(&self, done: Result<V, ProverError>) -> Result<V, ProverError> {
        if let (Some(exchange), Err(ProverError::Backend(_))) = (&self.0, &done) {
            exchange.give_up();
        }
        done
    }

    /// Work of all ranks: a rank that does not complete it ends the group.
    pub(crate) fn begin(&self) -> CollectiveWork<Q> {
        CollectiveWork(self.0.clone())
    }
}

/// Work of all ranks.
///
/// If it is dropped before it is complete, the other ranks do not wait for this one.
pub(crate) struct CollectiveWork<Q>(Option<Arc<dyn ProofExchange<Q>>>);

impl<Q> CollectiveWork<Q> {
    pub(crate) fn complete(mut self) {
        self.0 = None;
    }
}

impl<Q> Drop for CollectiveWork<Q> {
    fn drop(&mut self) {
        if let Some(exchange) = &self.0 {
            exchange.give_up();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_cover_everything_once_and_differ_by_one_at_most() {
        for (count, log_ranks) in (0..40).flat_map(|count| (0..=3).map(move |log_ranks| (count, log_ranks))) {
            let shares: Vec<_> = RankPlace { rank: 0, log_ranks, partitioned: false }.shares(count).collect();
            let all: Vec<usize> = shares.iter().cloned().flatten().collect();
            assert_eq!(all, (0..count).collect::<Vec<_>>());
            let lens = || shares.iter().map(ExactSizeIterator::len);
            assert!(lens().max() <= lens().min().map(|len| len + 1));
            for (rank, share) in shares.iter().enumerate() {
                assert_eq!(RankPlace { rank, log_ranks, partitioned: false }.share(count), *share);
            }
        }
    }
}
