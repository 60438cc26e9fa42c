//! Nodes above leaves, one subtree after the other, so that children are still in the cache.
//!
//! A node is `Blake2s(left || right)`, one compression (stwo 2.3, `core/vcs_lifted`).

use core_types::blake2s::{BLOCK_WORDS, Digest};

use crate::{
    CpuQueue,
    blake2s::{one_block, planes_of_rows, rows_of_planes},
    simd::{LaneKernel, WIDEST, bits::Bits, dispatch},
};

/// Log of the lowest nodes of a subtree: 64 KiB.
const LOG_SUBTREE: u32 = 11;

/// Levels of a subtree above the lowest, if there are more subtrees than one.
///
/// The last has sixteen nodes, which a vector takes at most.
const LEVELS: u32 = LOG_SUBTREE - 4;

impl CpuQueue {
    /// Writes all levels above the first of `levels`.
    ///
    /// Each level has half the nodes of the level below.
    pub(super) fn merkle_levels(&self, mut levels: &mut [&mut [Digest]]) {
        while let Some(log_leaves) = levels.len().checked_sub(1).filter(|&above| above > 0) {
            let log_subtrees = (log_leaves as u32).saturating_sub(LOG_SUBTREE);
            let above = if log_subtrees > 0 { LEVELS as usize } else { log_leaves };
            let mut parts: Vec<_> =
                levels[..=above].iter_mut().map(|level| level.chunks_exact_mut(level.len() >> log_subtrees)).collect();
            let subtrees: Vec<_> = (0..1usize << log_subtrees)
                .map(|_| Subtree { levels: parts.iter_mut().filter_map(Iterator::next).collect() })
                .collect();
            self.for_jobs(subtrees, |_, subtree| dispatch(self.simd(), subtree));
            levels = &mut levels[above..];
        }
    }
}

/// Nodes above the first of some levels; each level has half the nodes of the level below.
struct Subtree<'a> {
    levels: Vec<&'a mut [Digest]>,
}

impl<L: Bits> LaneKernel<L> for Subtree<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self, l: L) {
        let mut levels = self.levels.into_iter();
        let Some(mut children) = levels.next() else { return };
        for parents in levels {
            // Less than a vector of nodes is hashed in a padded copy.
            let (mut few_children, mut few) = ([Digest::default(); 2 * WIDEST], [Digest::default(); WIDEST]);
            let direct = parents.len() >= L::N;
            let (from, to): (&[Digest], &mut [Digest]) = if direct {
                (children, &mut *parents)
            } else {
                few_children[..children.len()].copy_from_slice(children);
                (&few_children[..2 * L::N], &mut few[..L::N])
            };
            let rows = bytemuck::must_cast_slice::<_, u32>(from).chunks_exact(BLOCK_WORDS * L::N);
            for (rows, digests) in rows.zip(bytemuck::must_cast_slice_mut::<_, u32>(to).chunks_exact_mut(8 * L::N)) {
                // The block of each lane: two children.
                let mut block = [l.splat(0); BLOCK_WORDS];
                for (i, row) in block.iter_mut().enumerate() {
                    *row = l.load(&rows[i * L::N..]);
                }
                let nodes = one_block(l, &planes_of_rows(l, block), 64);
                for (i, &row) in rows_of_planes(l, nodes).iter().enumerate() {
                    l.store(&mut digests[i * L::N..], row);
                }
            }
            if !direct {
                let len = parents.len();
                parents.copy_from_slice(&few[..len]);
            }
            children = parents;
        }
    }
}
