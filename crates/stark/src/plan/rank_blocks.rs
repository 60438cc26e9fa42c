//! Which blocks of the committed values a rank has, and where.
//!
//! If columns are gathered, a rank computes consecutive blocks, one at a time. If they are
//! [column-partitioned](crate::placement::column_partition), it keeps one block of each copy of the
//! trace, so that all ranks hold equal shares of the data that exists on the first copies only.

use core::ops::Range;

use backend_api::{CollectiveError, Element, Queue};

use crate::{
    plan::ranks::{GatherElements, ProofExchange, RankGroup, RankPlace},
    plan::shape::{StatementShape, TreeShape, nodes},
};

impl RankPlace {
    /// The blocks of this rank among the first `blocks`, each with its number among them.
    pub(crate) fn own_blocks(self, blocks: usize) -> impl Iterator<Item = (usize, usize)> {
        let own = if self.partitioned { 0..blocks >> self.log_ranks } else { self.share(blocks) };
        let block = move |own| if self.partitioned { (own << self.log_ranks) + self.rank } else { own };
        own.enumerate().map(move |(number, own)| (number, block(own)))
    }

    /// The blocks of all ranks among the first `blocks`.
    ///
    /// Each list has a range of consecutive blocks for every rank.
    pub(crate) fn shared_blocks(self, blocks: usize) -> Vec<Vec<Range<usize>>> {
        let ranks = self.ranks();
        let copy = |first| (first..first + ranks).map(|block| block..block + 1).collect();
        if self.partitioned {
            (0..blocks).step_by(ranks).map(copy).collect()
        } else {
            vec![self.shares(blocks).collect()]
        }
    }
}

impl<Q: Queue> RankGroup<Q> {
    /// Gathers the blocks of all ranks on this rank.
    ///
    /// Of `buffer`, `blocks` blocks of `len` elements follow each other from element `first` on.
    pub(crate) fn gather_blocks<T: Element>(
        &self,
        q: &Q,
        place: RankPlace,
        buffer: &mut Q::Buf<T>,
        blocks: usize,
        [first, len]: [usize; 2],
    ) -> Result<(), CollectiveError>
    where
        dyn ProofExchange<Q>: GatherElements<Q, T>,
    {
        for shares in place.shared_blocks(blocks) {
            let elements = |blocks: Range<usize>| first + blocks.start * len..first + blocks.end * len;
            self.all_gather(q, buffer, shares.into_iter().map(elements))?;
        }
        Ok(())
    }
}

impl StatementShape {
    /// The parts of a tree that this rank hashes, each with its number among them.
    pub(crate) fn own_parts(&self, tree: &TreeShape) -> Vec<(usize, usize)> {
        match self.log_parts(tree) {
            0 => vec![(0, 0)],
            log_parts => self.place.own_blocks(1 << log_parts).collect(),
        }
    }

    /// The nodes of a part of a tree, which is number `part` of this rank.
    pub(crate) fn part_nodes(&self, tree: &TreeShape, part: usize) -> Range<usize> {
        let len = nodes(self.log_kept(tree));
        part * len..(part + 1) * len
    }

    /// The first node of a block of this rank in the lowest stored level.
    pub(crate) fn first_node(&self, tree: &TreeShape, number: usize) -> usize {
        // With column-partitioned ranks, a block is a part of the tree.
        if self.place.partitioned {
            self.part_nodes(tree, number).start
        } else {
            number << (tree.height - self.log_blocks - tree.truncated)
        }
    }

    /// Blocks whose values are in memory at once.
    pub(crate) const fn slots(&self) -> usize {
        if self.place.partitioned { 1 << self.log_blowup } else { 1 }
    }

    /// The location of a block's values and gathered neighbours.
    ///
    /// `number` is the index of the block within this rank.
    pub(crate) const fn slot(&self, number: usize) -> Range<usize> {
        let first = if self.place.partitioned { number * self.slot_words } else { 0 };
        first..first + self.slot_words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_is_that_of_one_rank() {
        for (log_ranks, partitioned) in [(0, false), (2, false), (2, true), (3, true)] {
            for blocks in [1, 2, 4].map(|copies| copies << log_ranks) {
                let lists = RankPlace { rank: 0, log_ranks, partitioned }.shared_blocks(blocks);
                let mut seen = vec![0; blocks];
                for rank in 0..1 << log_ranks {
                    let own: Vec<_> = RankPlace { rank, log_ranks, partitioned }.own_blocks(blocks).collect();
                    let listed = lists.iter().flat_map(|list| list[rank].clone());
                    assert_eq!(own, listed.enumerate().collect::<Vec<_>>());
                    assert_eq!(own.len(), blocks >> log_ranks);
                    own.iter().for_each(|(_, block)| seen[*block] += 1);
                }
                assert!(seen.iter().all(|&count| count == 1));
            }
        }
    }
}
