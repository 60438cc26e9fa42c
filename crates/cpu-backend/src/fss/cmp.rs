//! CMP keys on vectors.
//!
//! The share of `1[α <= y]` is the XOR of the control bits where the path of `y` changes direction,
//! from a first direction of 0 on, and of the leaves of the last block up to `y` in a left block,
//! after `y` in a right one (Storrier et al., "Grotto", 2023). With `l` and `r` the XORs of the
//! parties' last children, and `e` the unit vector of α in its block, leaf words are `l ^ e` and
//! `r`, or `l` and `r ^ e` if α goes right.

use core::ops::Range;

use backend_api::ops::fss::GROUP;
use core_types::cmp::CMP_TABLE_BITS;

use super::{
    batch::{At, CmpBatch, CmpSecrets},
    cipher::{Passage, RoundKeys},
    dealer::{Children, NodePair},
    tables,
    walk::{ClusterBlocks, Directions, PartyNodes, Paths, PointBits, group_words, select},
};
use crate::simd::{
    LaneKernel,
    blocks::{AesBlocks, TOGETHER},
};

/// Number of points walked to together.
///
/// The more there are, the less often correction words are read.
const POINTS: usize = 4;

/// Walks that go down together, level by level.
///
/// A level's correction words are then read as whole pages, which hides that rows lie far apart,
/// often by a power of two, while the states of the walks stay in the first-level cache.
const WALKS: usize = 256;

/// How many rows ahead are prefetched, which gives memory that much time to answer.
///
/// It is at most two, the number of leaf rows, which come last: the walk ends when there is no row
/// left to prefetch.
pub(super) const AHEAD: usize = 2;

const _: () = assert!(AHEAD <= 2);

/// Evaluates the keys from `first` on that `rows`, one per point, have words for.
pub(super) struct Eval<'a, 'b> {
    pub(super) batch: &'a CmpBatch<'a>,
    pub(super) first: usize,
    pub(super) rows: &'a mut [&'b mut [u32]],
}

/// Walks that gather their control bits, the last one lowest, in both halves of each block.
type CmpPaths<L> = Paths<L, 1>;

impl<L: AesBlocks> CmpPaths<L> {
    /// Takes vector `i` down along bit `place` of its points.
    ///
    /// It goes to the children that come out of `passage`.
    #[inline(always)]
    fn enter(&mut self, l: L, keys: &RoundKeys<L>, i: usize, place: u32, words: &[u128], passage: &mut Passage<L>) {
        let direction = self.points.bit(l, i, place);
        let control = self.append(l, i);
        let correction = PartyNodes::correction(l, control, direction, l.load(&words[i * L::N..]));
        passage.enter(l, keys, i, self.nodes.input(l, i, direction), correction);
    }

    /// Appends the control bits of vector `i`, and spreads them over their blocks.
    #[inline(always)]
    fn append(&mut self, l: L, i: usize) -> L::V {
        let control = self.nodes.control(l, i);
        let controls = self.gathered[0][i];
        self.gathered[0][i] = l.sub(l.add(controls, controls), control);
        control
    }

    /// Takes every walk down along bit `place` of its points.
    ///
    /// Each run of `points` walks shares the correction words in `words`. A walk is prepared while
    /// the walk before it goes through the rounds.
    #[inline(always)]
    fn level(walks: &mut [Self], l: L, keys: &RoundKeys<L>, place: u32, points: usize, rows: [&[u128]; 2]) {
        let [words, coming] = rows;
        let step_keys = TOGETHER * L::N;
        // one walk's passage is in flight while the next one's is filled
        let mut passages = [Passage::idle(l); 2];
        // The first walk enters the cipher alone.
        for i in 0..TOGETHER {
            walks[0].enter(l, keys, i, place, words, &mut passages[0]);
        }
        // Each walk goes through the rounds while the next one enters.
        let (mut at, mut point) = (0, 0);
        for walk in 0..walks.len() {
            if point == 0 {
                l.prefetch_all(&coming[at..][..step_keys]);
            }
            point += 1;
            if point == points {
                point = 0;
                at += step_keys;
            }
            let (now, next) = (walk % 2, (walk + 1) % 2);
            let mut state = passages[now].begin(l);
            if let Some(walk) = walks.get_mut(walk + 1) {
                let words = &words[at..][..step_keys];
                for (i, key) in keys.accompanied() {
                    l.round(&mut state, key);
                    walk.enter(l, keys, i, place, words, &mut passages[next]);
                }
            } else {
                for (_, key) in keys.accompanied() {
                    l.round(&mut state, key);
                }
            }
            walks[walk].nodes.labels = passages[now].end(l, keys, state);
        }
    }

    /// Goes down to the block of leaves: the shares of the leaves take the place of the labels.
    #[inline(always)]
    fn land(&mut self, l: L, keys: &RoundKeys<L>, [left, right]: [&[u128]; 2]) {
        let mut passage = Passage::idle(l);
        for i in 0..TOGETHER {
            let direction = self.points.bit(l, i, CMP_TABLE_BITS);
            let side = l.spread(direction);
            let control = self.append(l, i);
            let leaf = select(l, side, l.load(&left[i * L::N..]), l.load(&right[i * L::N..]));
            passage.enter(l, keys, i, self.nodes.input(l, i, direction), l.and(control, leaf));
        }
        self.nodes.labels = passage.leave(l, keys);
    }

    /// Writes blocks whose parity is the share, from the block of leaves.
    #[inline(always)]
    fn count(&self, l: L, out: &mut [u128]) {
        let low = l.splat(u128::from(u64::MAX));
        for i in 0..TOGETHER {
            let point = self.points.word(i);
            let side = l.spread(l.shr(point, CMP_TABLE_BITS));
            // a left block adds its leaves up to y; a right block was counted whole and removes those after y
            let counted = l.and(self.nodes.labels[i], l.xor(l.prefix(point), side));
            // the control bits are counted where the direction changes, from a first direction of 0 on
            let turns = l.and(low, l.xor(point, l.shr(point, 1)));
            let parity = l.and(turns, l.shl(self.gathered[0][i], CMP_TABLE_BITS));
            l.store(&mut out[i * L::N..], l.xor(counted, parity));
        }
    }
}

/// Bit `e` is the parity of block `e`.
#[inline(always)]
fn parities(blocks: &[u128; GROUP]) -> u32 {
    let mut bits = 0;
    for (e, block) in blocks.iter().enumerate() {
        let folded = (*block as u64) ^ (*block >> 64) as u64;
        bits |= (folded.count_ones() & 1) << e;
    }
    bits
}

impl Eval<'_, '_> {
    /// Walks the levels `levels` of the steps from key `start` on, `points` walks per step.
    #[inline(always)]
    fn descend<L: AesBlocks>(
        &self,
        l: L,
        round_keys: &RoundKeys<L>,
        walks: &mut [CmpPaths<L>],
        (start, points): (usize, usize),
        levels: Range<usize>,
    ) {
        let (row, keys) = (self.batch.shape.row, walks.len() / points * TOGETHER * L::N);
        let rows = self.batch.corrections.chunks_exact(row);
        let coming = rows.clone().chain(self.batch.leaves.chunks_exact(row)).skip(levels.start + AHEAD);
        let places = (0..self.batch.params.bits).rev().skip(levels.start);
        for ((row, coming), place) in rows.skip(levels.start).take(levels.len()).zip(coming).zip(places) {
            let (words, coming) = (&row[start..][..keys], &coming[start..][..keys]);
            CmpPaths::level(walks, l, round_keys, place, points, [words, coming]);
        }
    }

    /// Evaluates `keys` keys from column `at` on at `points` points from `point` on.
    ///
    /// Keys are whole groups, and `S` steps hold [`WALKS`] walks. The walks start at the roots, or
    /// in the `blocks` of the steps.
    #[inline(always)]
    fn tile<L: AesBlocks, const S: usize>(
        &mut self,
        l: L,
        round_keys: &RoundKeys<L>,
        (at, keys): (usize, usize),
        (point, points): (usize, usize),
        blocks: Option<(&[ClusterBlocks<L, 1>], &[u64])>,
    ) {
        let (params, shape, window) = (self.batch.params, self.batch.shape, self.batch.params.window);
        let (start, step_keys) = (self.first + at, TOGETHER * L::N);
        // Walks start in the blocks of clustered points, or at the roots.
        let mut walks = [CmpPaths::idle(l); S];
        let walks = &mut walks[..keys / step_keys * points];
        for (step, walks) in walks.chunks_exact_mut(points).enumerate() {
            let first = start + step * step_keys;
            for (j, walk) in walks.iter_mut().enumerate() {
                if let Some((blocks, offsets)) = blocks {
                    *walk = blocks[step].walk(l, offsets[point + j], params.bits, window);
                } else {
                    walk.nodes = PartyNodes::roots(l, &self.batch.roots[first..], params.party);
                    walk.points = PointBits::new(l, &self.batch.at.group(point + j, first), params.bits);
                }
            }
        }
        // The levels between the start and the leaves.
        let depth = if blocks.is_some() { (params.bits - window) as usize } else { 0 };
        self.descend(l, round_keys, walks, (start, points), depth.min(shape.levels)..shape.levels);
        // At the leaves, the parity of each block is the share.
        for j in 0..points {
            let mut blocks = [0; WALKS];
            for (step, walks) in walks.chunks_exact_mut(points).enumerate() {
                let from = step * step_keys;
                if depth <= shape.levels {
                    walks[j].land(l, round_keys, self.batch.leaves(start + from));
                }
                walks[j].count(l, &mut blocks[from..]);
            }
            let words = &mut self.rows[point + j][at / GROUP..][..keys / GROUP];
            for (group, (word, blocks)) in words.iter_mut().zip(blocks.as_chunks().0).enumerate() {
                let used = u32::MAX >> (GROUP - (shape.count - start - group * GROUP).min(GROUP));
                *word = parities(blocks) & used;
            }
        }
    }

    /// Walks to both blocks of the clustered points of `keys` keys from column `at` on.
    ///
    /// `S` steps hold [`WALKS`] walks.
    #[inline(always)]
    fn blocks<L: AesBlocks, const S: usize>(
        &self,
        l: L,
        round_keys: &RoundKeys<L>,
        (at, keys): (usize, usize),
        (x_hat, offset): (&[u64], u64),
        blocks: &mut [ClusterBlocks<L, 1>],
    ) {
        let (params, window) = (self.batch.params, self.batch.params.window);
        let (bits, start, step_keys) = (params.bits, self.first + at, TOGETHER * L::N);
        let mut walks = [CmpPaths::idle(l); S];
        let walks = &mut walks[..keys / step_keys * 2];
        for (step, (walks, blocks)) in walks.as_chunks_mut::<2>().0.iter_mut().zip(blocks.iter_mut()).enumerate() {
            let key = start + step * step_keys;
            blocks.x_hat = PointBits::new(l, &group_words(x_hat, key), bits);
            blocks.first = blocks.x_hat.less(l, offset, bits);
            for (walk, points) in walks.iter_mut().zip([blocks.first, blocks.first.less(l, 1 << window, bits)]) {
                walk.nodes = PartyNodes::roots(l, &self.batch.roots[key..], params.party);
                walk.points = points;
            }
        }
        let (depth, levels) = ((bits - window) as usize, self.batch.shape.levels);
        self.descend(l, round_keys, walks, (start, 2), 0..depth.min(levels));
        if depth > levels {
            for (step, walks) in walks.as_chunks_mut::<2>().0.iter_mut().enumerate() {
                let leaves = self.batch.leaves(start + step * step_keys);
                walks.iter_mut().for_each(|walk| walk.land(l, round_keys, leaves));
            }
        }
        for (blocks, walks) in blocks.iter_mut().zip(walks.as_chunks::<2>().0) {
            blocks.walks = *walks;
        }
    }

    /// Evaluates every key at every point.
    ///
    /// `S` steps hold [`WALKS`] walks, and `K` steps hold [`POINTS`] points.
    #[inline(always)]
    fn tiles<L: AesBlocks, const S: usize, const K: usize>(&mut self, l: L) {
        let round_keys = RoundKeys::new(l, &self.batch.params.key);
        let all_points = self.batch.shape.points;
        let all_keys = self.rows.first().map_or(0, |row| row.len()) * GROUP;
        let batches = (0..all_points).step_by(POINTS).map(|point| (point, (all_points - point).min(POINTS)));
        let At { x_hat, offsets } = self.batch.at;
        if self.batch.params.window < self.batch.params.bits {
            for at in (0..all_keys).step_by(WALKS / POINTS) {
                let keys = (at, (all_keys - at).min(WALKS / POINTS));
                let mut blocks = [ClusterBlocks::<L, 1>::idle(l); K];
                self.blocks::<L, S>(l, &round_keys, keys, (x_hat, offsets[0]), &mut blocks);
                for points in batches.clone() {
                    self.tile::<L, S>(l, &round_keys, keys, points, Some((&blocks, offsets)));
                }
            }
        } else {
            for (point, points) in batches {
                let most_keys = WALKS / points / GROUP * GROUP;
                for at in (0..all_keys).step_by(most_keys) {
                    let keys = (all_keys - at).min(most_keys);
                    self.tile::<L, S>(l, &round_keys, (at, keys), (point, points), None);
                }
            }
        }
    }
}

impl<L: AesBlocks> LaneKernel<L> for Eval<'_, '_> {
    type Out = ();

    #[inline(always)]
    fn run(mut self, l: L) {
        if self.batch.params.bits <= CMP_TABLE_BITS {
            return tables::eval(self.batch, self.first, self.rows);
        }
        match L::N {
            4 => self.tiles::<L, { WALKS / (4 * TOGETHER) }, { WALKS / POINTS / (4 * TOGETHER) }>(l),
            2 => self.tiles::<L, { WALKS / (2 * TOGETHER) }, { WALKS / POINTS / (2 * TOGETHER) }>(l),
            _ => self.tiles::<L, { WALKS / TOGETHER }, { WALKS / POINTS / TOGETHER }>(l),
        }
    }
}

/// Generates the keys from `first` on.
///
/// There is a key for each column of `corrections` and of the two rows of `leaves`.
pub(super) struct Gen<'a, 'b> {
    pub(super) secrets: &'a CmpSecrets<'a>,
    pub(super) first: usize,
    pub(super) corrections: &'a mut [&'b mut [u128]],
    pub(super) leaves: &'a mut [&'b mut [u128]],
}

/// Keys that are made together, level by level, for the same reason as [`WALKS`].
const PAIRS: usize = 128;

impl Gen<'_, '_> {
    /// Makes `keys` keys from column `at` on, whole groups; `S` steps hold [`PAIRS`] keys.
    #[inline(always)]
    fn tile<L: AesBlocks, const S: usize>(&mut self, l: L, round_keys: &RoundKeys<L>, at: usize, keys: usize) {
        let (params, shape, roots) = (self.secrets.params, self.secrets.shape, self.secrets.roots);
        let step_keys = TOGETHER * L::N;
        let first = |step: usize| self.first + at + step * step_keys;
        // Both parties start at their roots.
        let mut walks = [(NodePair::idle(l), Directions::idle(l)); S];
        let walks = &mut walks[..keys / step_keys];
        for (step, (pair, directions)) in walks.iter_mut().enumerate() {
            let first = first(step);
            *pair = NodePair::roots(l, &roots[first..], &roots[shape.row + first..]);
            *directions = Directions::new(l, &group_words(self.secrets.alphas, first), params.bits);
        }
        // Each level gives a correction word and moves on along α. The row of the next level is fetched
        // meanwhile: writing whole lines that are in no cache takes twice as long.
        for level in 0..self.corrections.len() {
            let (rows, later) = self.corrections.split_at_mut(level + 1);
            let next = later.first().map_or(&[][..], |row| &row[at..]);
            let outs = rows[level][at..].chunks_exact_mut(step_keys);
            for (step, ((pair, directions), out)) in walks.iter_mut().zip(outs).enumerate() {
                let fetched = next.get(step * step_keys..(step + 1) * step_keys).unwrap_or_default();
                fetched.chunks_exact(L::N).for_each(|blocks| l.prefetch_write(blocks));
                let direction = directions.next(l);
                let words = pair.descend(l, round_keys, &direction);
                for (i, word) in words.iter().enumerate() {
                    l.store(&mut out[i * L::N..], *word);
                }
            }
        }
        // Leaf words make the blocks of both parties differ in bit α only.
        for (step, (pair, directions)) in walks.iter_mut().enumerate() {
            let direction = directions.next(l);
            let Children { left, right } = pair.children(l, round_keys);
            let mut units = [0u128; GROUP];
            for (unit, alpha) in units.iter_mut().zip(group_words(self.secrets.alphas, first(step))) {
                *unit = 1 << (alpha & 127);
            }
            for i in 0..TOGETHER {
                let at = at + step * step_keys + i * L::N;
                let unit = l.load(&units[i * L::N..]);
                let right_unit = l.and(direction[i], unit);
                let left_unit = l.xor(right_unit, unit);
                l.store(&mut self.leaves[0][at..], l.xor(left_unit, l.xor(left[0][i], left[1][i])));
                l.store(&mut self.leaves[1][at..], l.xor(right_unit, l.xor(right[0][i], right[1][i])));
            }
        }
    }

    /// Makes every key.
    #[inline(always)]
    fn tiles<L: AesBlocks, const S: usize>(&mut self, l: L) {
        let round_keys = RoundKeys::new(l, &self.secrets.params.key);
        let all_keys = self.leaves[0].len();
        for at in (0..all_keys).step_by(PAIRS) {
            self.tile::<L, S>(l, &round_keys, at, (all_keys - at).min(PAIRS));
        }
    }
}

impl<L: AesBlocks> LaneKernel<L> for Gen<'_, '_> {
    type Out = ();

    #[inline(always)]
    fn run(mut self, l: L) {
        if self.secrets.params.bits <= CMP_TABLE_BITS {
            return tables::generate(self.secrets, self.first, self.leaves);
        }
        match L::N {
            4 => self.tiles::<L, { PAIRS / (4 * TOGETHER) }>(l),
            2 => self.tiles::<L, { PAIRS / (2 * TOGETHER) }>(l),
            _ => self.tiles::<L, { PAIRS / TOGETHER }>(l),
        }
    }
}
