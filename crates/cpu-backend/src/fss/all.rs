//! CMP keys evaluated at every point, on vectors.
//!
//! All keys of a step walk through their trees in parallel.
//!
//! The block on side `c` below a node with seed `s` and control bit `t` is `H(s | c) ^ t leaf_c`:
//! XOR shares of 128 entries of the unit vector of α (Boyle, Gilboa, Ishai, CCS 2016).

use backend_api::ops::fss::GROUP;
use core_types::cmp::{CMP_ALL_BITS, CMP_TABLE_BITS, CmpTour};

use super::{
    batch::CmpAllBatch,
    cipher::{Passage, RoundKeys},
    tables,
    walk::PartyNodes,
};
use crate::simd::{
    LaneKernel,
    blocks::{AesBlocks, TOGETHER},
};

/// Nodes above the leaf blocks on the way to one of them: one per level.
const KEPT: usize = (CMP_ALL_BITS - CMP_TABLE_BITS - 1) as usize;

/// Evaluates the keys from `first` on that `rows`, one per block of points, have words for.
pub(super) struct EvalAll<'a, 'b> {
    pub(super) batch: &'a CmpAllBatch<'a>,
    pub(super) first: usize,
    pub(super) rows: &'a mut [&'b mut [u128]],
}

impl EvalAll<'_, '_> {
    /// Evaluates the keys of one step from column `at` on.
    #[inline(always)]
    fn step<L: AesBlocks>(&mut self, l: L, round_keys: &RoundKeys<L>, at: usize) {
        let (batch, shape) = (self.batch, self.batch.shape);
        // `first` is a multiple of the keys of a step, which divide the padding of rows
        let (start, step_keys) = (self.first + at, TOGETHER * L::N);
        let columns = |row: usize| row * shape.row + start..row * shape.row + start + step_keys;
        // The walk starts at the roots and keeps a node for each level.
        let mut nodes = PartyNodes::roots(l, &batch.roots[start..], batch.params.party);
        let mut kept = [PartyNodes::idle(l); KEPT];
        let mut tour = CmpTour::start(shape.levels as u32, 0);
        for row in self.rows.iter_mut() {
            // Down to the node above the next block of leaves.
            while !tour.at_leaves() {
                let level = tour.level() as usize;
                kept[level] = nodes;
                let direction = l.splat(u128::from(tour.direction()));
                let corrections = &batch.corrections[columns(level)];
                let mut passage = Passage::idle(l);
                for i in 0..TOGETHER {
                    let word = l.load(&corrections[i * L::N..]);
                    nodes.enter(l, round_keys, i, (direction, word), &mut passage);
                }
                nodes.labels = passage.leave(l, round_keys);
                tour.down();
            }
            // The block of leaves on the next side.
            let side = l.splat(u128::from(tour.direction()));
            let leaves = &batch.leaves[columns(tour.direction() as usize)];
            let mut passage = Passage::idle(l);
            for i in 0..TOGETHER {
                let leaf = l.and(nodes.control(l, i), l.load(&leaves[i * L::N..]));
                passage.enter(l, round_keys, i, nodes.input(l, i, side), leaf);
            }
            let mut units = [0; GROUP];
            for (i, block) in passage.leave(l, round_keys).iter().enumerate() {
                l.store(&mut units[i * L::N..], *block);
            }
            // Keys past the last one are dropped.
            let out = &mut row[at..];
            let used = out.len().min(step_keys);
            out[..used].copy_from_slice(&units[..used]);
            // The next block starts from the deepest node above both.
            tour.on();
            if !tour.at_leaves() {
                nodes = kept[tour.level() as usize];
            }
        }
    }
}

impl<L: AesBlocks> LaneKernel<L> for EvalAll<'_, '_> {
    type Out = ();

    #[inline(always)]
    fn run(mut self, l: L) {
        if self.batch.params.bits <= CMP_TABLE_BITS {
            return tables::eval_all(self.batch, self.first, self.rows);
        }
        let round_keys = RoundKeys::new(l, &self.batch.params.key);
        let keys = self.rows.first().map_or(0, |row| row.len());
        for at in (0..keys).step_by(TOGETHER * L::N) {
            self.step(l, &round_keys, at);
        }
    }
}
