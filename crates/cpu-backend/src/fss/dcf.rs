//! DCF keys on vectors.
//!
//! Party `p` has the share `(-1)^p` times the sum of `v + t VCW` over the path. A level has
//! `d = lost - held + β 1[α goes right]` and `VCW = (-1)^(t_1) d`, then `held += d - kept`; the
//! last node has `d = v_1 - v_0 - held` (Boyle et al., EUROCRYPT 2021). `lost` and `kept` are
//! `v_1 - v_0` on the side that α leaves and on the other.

use core::ops::Range;

use backend_api::ops::fss::GROUP;
use core_types::{MAX_VALUE_BLOCKS, PrgKeys, Ring};

use super::{
    batch::{At, DcfBatch, DcfSecrets, DcfSections},
    cipher::{Passage, RoundKeys, hash},
    cmp::AHEAD,
    dealer::NodePair,
    walk::{ClusterBlocks, Directions, PartyNodes, Paths, PointBits, group_words, negate_if},
};
use crate::simd::{
    LaneKernel,
    blocks::{AesBlocks, Step, TOGETHER},
};

/// Number of points walked to together.
///
/// The more there are, the less often corrections are read.
const POINTS: usize = 4;

/// Walks that go down together, level by level, so that rows are read in long pieces.
const WALKS: usize = 128;

/// The bit of a hash input that converts the last node.
const LAST: u128 = 2;

/// The expanded ciphers of a bundle.
struct Ciphers<L: AesBlocks> {
    child: RoundKeys<L>,
    value: [RoundKeys<L>; MAX_VALUE_BLOCKS],
}

impl<L: AesBlocks> Ciphers<L> {
    #[inline(always)]
    fn new(l: L, keys: &PrgKeys) -> Self {
        let mut value = [RoundKeys::new(l, &keys.child); MAX_VALUE_BLOCKS];
        for (slot, key) in value.iter_mut().zip(&keys.value) {
            *slot = RoundKeys::new(l, key);
        }
        Self { child: RoundKeys::new(l, &keys.child), value }
    }
}

/// The words `2j` and `2j + 1` of a section, for the keys of one step.
#[derive(Clone, Copy)]
struct WordPair<'a> {
    low: &'a [u64],
    high: &'a [u64],
}

impl<'a> WordPair<'a> {
    /// From rows of `row` keys, the first key at `start`; a missing last row reads as zero.
    #[inline(always)]
    fn new(rows: &'a [u64], row: usize, words: usize, j: usize, start: usize) -> Self {
        let low = &rows[2 * j * row + start..];
        let high = if 2 * j + 1 < words { &rows[(2 * j + 1) * row + start..] } else { &[0; GROUP][..] };
        Self { low, high }
    }

    #[inline(always)]
    fn load<L: AesBlocks>(self, l: L, i: usize) -> L::V {
        l.zip(&self.low[i * L::N..], &self.high[i * L::N..])
    }
}

/// Words of the two halves of each block.
#[inline(always)]
fn unzip<L: AesBlocks>(l: L, blocks: &Step<L>, masks: L::V) -> [[u64; GROUP]; 2] {
    let mut stored = [0u128; GROUP];
    for (i, block) in blocks.iter().enumerate() {
        l.store(&mut stored[i * L::N..], l.and(*block, masks));
    }
    let mut words = [[0; GROUP]; 2];
    for (e, block) in stored.iter().enumerate().take(TOGETHER * L::N) {
        words[0][e] = *block as u64;
        words[1][e] = (*block >> 64) as u64;
    }
    words
}

/// Evaluates the keys from `first` on, one for each element of a row.
///
/// There is one of `rows` per point and payload word.
pub(super) struct Eval<'a, 'b> {
    pub(super) batch: &'a DcfBatch<'a>,
    pub(super) first: usize,
    pub(super) rows: &'a mut [&'b mut [u64]],
}

/// Walks that gather the sums of the values of their nodes.
type DcfPaths<L> = Paths<L, MAX_VALUE_BLOCKS>;

impl<L: AesBlocks> DcfPaths<L> {
    /// Adds value block `j` of the nodes, corrected where `controls` is set.
    #[inline(always)]
    fn add(&mut self, l: L, j: usize, blocks: &Step<L>, controls: &Step<L>, corrections: WordPair<'_>) {
        for (i, (sum, block)) in self.gathered[j].iter_mut().zip(blocks).enumerate() {
            let correction = l.and(controls[i], corrections.load(l, i));
            *sum = l.add(*sum, l.add(*block, correction));
        }
    }
}

impl Eval<'_, '_> {
    /// Walks the levels `levels` of the steps from key `start` on, `points` walks per step.
    #[inline(always)]
    fn descend<L: AesBlocks>(
        &self,
        l: L,
        ciphers: &Ciphers<L>,
        walks: &mut [DcfPaths<L>],
        (start, points): (usize, usize),
        levels: Range<usize>,
    ) {
        let (shape, step_keys) = (self.batch.shape, TOGETHER * L::N);
        let blocks = shape.words.div_ceil(2);
        // Rows of corrections with the rows to prefetch meanwhile.
        let values = self.batch.values.chunks_exact(shape.words * shape.row);
        let rows = self.batch.corrections.chunks_exact(shape.row).zip(values);
        let coming = rows.clone().skip(levels.start + AHEAD).map(Some).chain(core::iter::repeat(None));
        let places = (0..self.batch.params.bits).rev().skip(levels.start);
        for (((words, values), coming), place) in rows.skip(levels.start).take(levels.len()).zip(coming).zip(places) {
            // All steps take one level before the next level begins.
            for (step, walks) in walks.chunks_exact_mut(points).enumerate() {
                let first = start + step * step_keys;
                if let Some((words, values)) = coming {
                    l.prefetch_all(&words[first..][..step_keys]);
                    (0..shape.words).for_each(|word| l.prefetch_all(&values[word * shape.row + first..][..step_keys]));
                }
                for walk in walks {
                    let words = &words[first..][..step_keys];
                    // The children enter the cipher with their corrections.
                    let (mut inputs, mut controls) = (walk.nodes.labels, walk.nodes.labels);
                    let mut passage = Passage::idle(l);
                    for i in 0..TOGETHER {
                        let direction = walk.points.bit(l, i, place);
                        inputs[i] = walk.nodes.input(l, i, direction);
                        controls[i] = walk.nodes.control(l, i);
                        let correction = PartyNodes::correction(l, controls[i], direction, l.load(&words[i * L::N..]));
                        passage.enter(l, &ciphers.child, i, inputs[i], correction);
                    }
                    // The values of the node join the sums of its walk.
                    for j in 0..blocks {
                        let pair = WordPair::new(values, shape.row, shape.words, j, first);
                        walk.add(l, j, &hash(l, &ciphers.value[j], &inputs), &controls, pair);
                    }
                    walk.nodes.labels = passage.leave(l, &ciphers.child);
                }
            }
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
        ciphers: &Ciphers<L>,
        (at, keys): (usize, usize),
        (point, points): (usize, usize),
        blocks: Option<(&[ClusterBlocks<L, MAX_VALUE_BLOCKS>], &[u64])>,
    ) {
        let (params, shape, window) = (self.batch.params, self.batch.shape, self.batch.params.window);
        let (start, step_keys) = (self.first + at, TOGETHER * L::N);
        // Walks start in the blocks of clustered points, or at the roots.
        let mut walks = [DcfPaths::idle(l); S];
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
        // The levels between the start and the last node.
        let depth = if blocks.is_some() { (params.bits - window) as usize } else { 0 };
        self.descend(l, ciphers, walks, (start, points), depth..shape.levels);
        // The last node is converted to values, and party 1 negates its sums.
        let last = l.splat(LAST);
        let negative = l.spread(l.splat(u128::from(params.party)));
        let mask = word_mask(l, shape.width);
        for j in 0..points {
            let rows = &mut self.rows[(point + j) * shape.words..][..shape.words];
            for (step, walks) in walks.chunks_exact_mut(points).enumerate() {
                let (walk, first) = (&mut walks[j], start + step * step_keys);
                let (mut inputs, mut controls) = (walk.nodes.labels, walk.nodes.labels);
                for i in 0..TOGETHER {
                    inputs[i] = walk.nodes.input(l, i, last);
                    controls[i] = walk.nodes.control(l, i);
                }
                for (block, rows) in rows.chunks_mut(2).enumerate() {
                    let pair = WordPair::new(self.batch.last, shape.row, shape.words, block, first);
                    walk.add(l, block, &hash(l, &ciphers.value[block], &inputs), &controls, pair);
                    for sum in &mut walk.gathered[block] {
                        *sum = negate_if(l, negative, *sum);
                    }
                    store_words(l, &walk.gathered[block], mask, rows, at + step * step_keys);
                }
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
        ciphers: &Ciphers<L>,
        (at, keys): (usize, usize),
        (x_hat, offset): (&[u64], u64),
        blocks: &mut [ClusterBlocks<L, MAX_VALUE_BLOCKS>],
    ) {
        let (params, window) = (self.batch.params, self.batch.params.window);
        let (bits, start, step_keys) = (params.bits, self.first + at, TOGETHER * L::N);
        let mut walks = [DcfPaths::idle(l); S];
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
        self.descend(l, ciphers, walks, (start, 2), 0..(bits - window) as usize);
        for (blocks, walks) in blocks.iter_mut().zip(walks.as_chunks::<2>().0) {
            blocks.walks = *walks;
        }
    }

    /// Evaluates every key at every point.
    ///
    /// `S` steps hold [`WALKS`] walks, and `K` steps hold [`POINTS`] points.
    #[inline(always)]
    fn tiles<L: AesBlocks, const S: usize, const K: usize>(&mut self, l: L) {
        let ciphers = Ciphers::new(l, &self.batch.params.keys);
        let all_points = self.batch.shape.points;
        let all_keys = self.rows.first().map_or(0, |row| row.len()).next_multiple_of(GROUP);
        let batches = (0..all_points).step_by(POINTS).map(|point| (point, (all_points - point).min(POINTS)));
        let At { x_hat, offsets } = self.batch.at;
        if self.batch.params.window < self.batch.params.bits {
            for at in (0..all_keys).step_by(WALKS / POINTS) {
                let keys = (at, (all_keys - at).min(WALKS / POINTS));
                let mut blocks = [ClusterBlocks::<L, MAX_VALUE_BLOCKS>::idle(l); K];
                self.blocks::<L, S>(l, &ciphers, keys, (x_hat, offsets[0]), &mut blocks);
                for points in batches.clone() {
                    self.tile::<L, S>(l, &ciphers, keys, points, Some((&blocks, offsets)));
                }
            }
        } else {
            for (point, points) in batches {
                let most_keys = WALKS / points / GROUP * GROUP;
                for at in (0..all_keys).step_by(most_keys) {
                    let keys = (all_keys - at).min(most_keys);
                    self.tile::<L, S>(l, &ciphers, (at, keys), (point, points), None);
                }
            }
        }
    }
}

impl<L: AesBlocks> LaneKernel<L> for Eval<'_, '_> {
    type Out = ();

    #[inline(always)]
    fn run(mut self, l: L) {
        match L::N {
            4 => self.tiles::<L, { WALKS / (4 * TOGETHER) }, { WALKS / POINTS / (4 * TOGETHER) }>(l),
            2 => self.tiles::<L, { WALKS / (2 * TOGETHER) }, { WALKS / POINTS / (2 * TOGETHER) }>(l),
            _ => self.tiles::<L, { WALKS / TOGETHER }, { WALKS / POINTS / TOGETHER }>(l),
        }
    }
}

/// Makes the keys from `first` on that `sections` has columns for.
pub(super) struct Gen<'a, 'b> {
    pub(super) secrets: &'a DcfSecrets<'a>,
    pub(super) first: usize,
    pub(super) sections: &'a mut DcfSections<'b>,
}

impl Gen<'_, '_> {
    /// Generates the keys of one step; the first is column `at`.
    #[inline(always)]
    fn step<L: AesBlocks>(&mut self, l: L, ciphers: &Ciphers<L>, at: usize) {
        let (params, shape, roots) = (self.secrets.params, self.secrets.shape, self.secrets.roots);
        let start = self.first + at;
        let mask = word_mask(l, shape.width);
        let zero = [l.splat(0); TOGETHER];
        // Sums of both parties' values on the path to the secret point so far.
        let mut path_sums = [zero; MAX_VALUE_BLOCKS];
        let mut betas = [[0; GROUP]; 2 * MAX_VALUE_BLOCKS];
        for (betas, row) in betas.iter_mut().zip(self.secrets.betas.chunks_exact(shape.count.max(1))) {
            *betas = group_words(row, start);
        }
        // Both parties start at their roots.
        let mut pair = NodePair::roots(l, &roots[start..], &roots[shape.row + start..]);
        let mut directions = Directions::new(l, &group_words(self.secrets.alphas, start), params.bits);
        let DcfSections { corrections, values, last } = &mut *self.sections;
        // Each level corrects the values, then the children.
        for (row, values) in corrections.iter_mut().zip(values.chunks_mut(shape.words)) {
            let kept = directions.next(l);
            let mut lost = kept;
            for c in &mut lost {
                *c = l.xor(*c, l.splat(u128::MAX));
            }
            // Value words of both parties on the side that α leaves and on the other.
            for (j, rows) in values.chunks_mut(2).enumerate() {
                let keys = &ciphers.value[j];
                let [first, second] = &pair.nodes;
                let lost = [hash(l, keys, &first.inputs(l, &lost)), hash(l, keys, &second.inputs(l, &lost))];
                let values = [hash(l, keys, &first.inputs(l, &kept)), hash(l, keys, &second.inputs(l, &kept))];
                let mut made = zero;
                for i in 0..TOGETHER {
                    let beta = l.and(kept[i], l.zip(&betas[2 * j][i * L::N..], &betas[2 * j + 1][i * L::N..]));
                    let change = l.add(l.sub(l.sub(lost[1][i], lost[0][i]), path_sums[j][i]), beta);
                    made[i] = negate_if(l, second.control(l, i), change);
                    path_sums[j][i] = l.add(l.add(path_sums[j][i], change), l.sub(values[0][i], values[1][i]));
                }
                store_words(l, &made, mask, rows, at);
            }
            for (i, word) in pair.descend(l, &ciphers.child, &kept).iter().enumerate() {
                l.store(&mut row[at + i * L::N..], *word);
            }
        }
        let [first, second] = &pair.nodes;
        // The last node is converted to values, which cancel the sums.
        let mut inputs = [first.labels, second.labels];
        for (inputs, nodes) in inputs.iter_mut().zip(&pair.nodes) {
            for (i, u) in inputs.iter_mut().enumerate() {
                *u = nodes.input(l, i, l.splat(LAST));
            }
        }
        for (j, rows) in last.chunks_mut(2).enumerate() {
            let ends = [hash(l, &ciphers.value[j], &inputs[0]), hash(l, &ciphers.value[j], &inputs[1])];
            let mut made = zero;
            for i in 0..TOGETHER {
                let change = l.sub(l.sub(ends[1][i], ends[0][i]), path_sums[j][i]);
                made[i] = negate_if(l, second.control(l, i), change);
            }
            store_words(l, &made, mask, rows, at);
        }
    }
}

/// The bits of payload words of `width`, in both halves of each block.
#[inline(always)]
fn word_mask<L: AesBlocks>(l: L, width: Ring) -> L::V {
    let mask = u128::from(width.mask());
    l.splat(mask << 64 | mask)
}

/// Writes the halves of each block, masked, to one or two rows from column `at` on.
#[inline(always)]
fn store_words<L: AesBlocks>(l: L, blocks: &Step<L>, mask: L::V, rows: &mut [&mut [u64]], at: usize) {
    let words = unzip(l, blocks, mask);
    for (row, words) in rows.iter_mut().zip(&words) {
        let len = row.len().saturating_sub(at).min(TOGETHER * L::N);
        let at = at.min(row.len());
        row[at..at + len].copy_from_slice(&words[..len]);
    }
}

impl<L: AesBlocks> LaneKernel<L> for Gen<'_, '_> {
    type Out = ();

    #[inline(always)]
    fn run(mut self, l: L) {
        let ciphers = Ciphers::new(l, &self.secrets.params.keys);
        for at in (0..self.sections.last[0].len()).step_by(TOGETHER * L::N) {
            self.step(l, &ciphers, at);
        }
    }
}
