//! DCF keys on vectors.

use core_types::{MAX_VALUE_BLOCKS, PrgKeys};

use super::{
    batch::{DcfBatch, DcfSecrets, DcfSections, GROUP},
    dealer::Pair,
    lanes::{Kernel, Lanes, RoundKeys, Step, TOGETHER, hash, round_keys},
    scalar,
    walk::{Directions, Nodes, group_words, key, negate_if, steps},
};

/// Points that walk down a tree together: the more, the fewer times corrections are read.
const POINTS: usize = 4;

/// The bit of a hash input that converts the last node.
const LAST: u128 = 2;

/// The expanded ciphers of a bundle.
struct Ciphers<L: Lanes> {
    child: RoundKeys<L>,
    value: [RoundKeys<L>; MAX_VALUE_BLOCKS],
}

impl<L: Lanes> Ciphers<L> {
    #[inline(always)]
    fn new(l: L, keys: &PrgKeys) -> Self {
        let mut value = [round_keys(l, &keys.child); MAX_VALUE_BLOCKS];
        for (slot, key) in value.iter_mut().zip(&keys.value) {
            *slot = round_keys(l, key);
        }
        Self { child: round_keys(l, &keys.child), value }
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
    fn load<L: Lanes>(self, l: L, i: usize) -> L::V {
        l.zip(&self.low[i * L::N..], &self.high[i * L::N..])
    }
}

/// Words of the two halves of each block.
#[inline(always)]
fn unzip<L: Lanes>(l: L, blocks: &Step<L>, masks: L::V) -> [[u64; GROUP]; 2] {
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

/// Evaluates the keys from `first` on that `rows`, one per point and payload word, have elements for.
pub(super) struct Eval<'a, 'b> {
    pub(super) batch: &'a DcfBatch<'a>,
    pub(super) first: usize,
    pub(super) rows: &'a mut [&'b mut [u64]],
}

/// The walks of one step along one point.
#[derive(Clone, Copy)]
struct Walk<L: Lanes> {
    nodes: Nodes<L>,
    directions: Directions<L>,
    sums: [Step<L>; MAX_VALUE_BLOCKS],
}

impl<L: Lanes> Walk<L> {
    #[inline(always)]
    fn idle(l: L) -> Self {
        let zero = [l.splat(0); TOGETHER];
        Self {
            nodes: Nodes { seed: zero, control: zero },
            directions: Directions { rest: zero },
            sums: [zero; MAX_VALUE_BLOCKS],
        }
    }

    /// Adds value block `j` of the nodes, corrected where the control bit is set.
    #[inline(always)]
    fn add(&mut self, l: L, keys: &RoundKeys<L>, inputs: &Step<L>, j: usize, corrections: WordPair<'_>) {
        let blocks = hash(l, keys, inputs);
        for (i, (sum, block)) in self.sums[j].iter_mut().zip(&blocks).enumerate() {
            let correction = l.and(self.nodes.control[i], corrections.load(l, i));
            *sum = l.add(*sum, l.add(*block, correction));
        }
    }
}

impl Eval<'_, '_> {
    /// Evaluates one group, which `S` steps hold, at `P` points from `point` on.
    #[inline(always)]
    fn group<L: Lanes, const S: usize, const P: usize>(&mut self, l: L, ciphers: &Ciphers<L>, at: usize, point: usize) {
        let (params, shape) = (self.batch.params, self.batch.shape);
        let start = self.first + at;
        let blocks = shape.words.div_ceil(2);
        let mut walks = [[Walk::idle(l); S]; P];
        for (j, walks) in walks.iter_mut().enumerate() {
            let words = group_words(&self.batch.points[(point + j) * shape.count..][..shape.count], start);
            for (step, walk) in walks.iter_mut().enumerate() {
                let at = key::<L>(step);
                walk.nodes = Nodes::roots(l, &self.batch.roots[start + at..], params.party);
                walk.directions = Directions::new(l, &words[at..], params.bits);
            }
        }
        for level in 0..shape.levels {
            let words = &self.batch.corrections[level * shape.row + start..][..GROUP];
            let values = &self.batch.values[level * shape.words * shape.row..][..shape.words * shape.row];
            for walks in &mut walks {
                for (step, walk) in walks.iter_mut().enumerate() {
                    let at = key::<L>(step);
                    let direction = walk.directions.next(l);
                    let inputs = walk.nodes.inputs(l, &direction);
                    for j in 0..blocks {
                        let pair = WordPair::new(values, shape.row, shape.words, j, start + at);
                        walk.add(l, &ciphers.value[j], &inputs, j, pair);
                    }
                    walk.nodes.descend(l, &ciphers.child, &inputs, &direction, &words[at..]);
                }
            }
        }
        let last = l.splat(LAST);
        let negative = l.spread(l.splat(u128::from(params.party)));
        let mask = u128::from(shape.width.mask());
        let mask = l.splat(mask << 64 | mask);
        for (j, walks) in walks.iter_mut().enumerate() {
            let rows = &mut self.rows[(point + j) * shape.words..][..shape.words];
            for (step, walk) in walks.iter_mut().enumerate() {
                let from = key::<L>(step);
                let mut inputs = walk.nodes.seed;
                for u in &mut inputs {
                    *u = l.xor(*u, last);
                }
                for (j, rows) in rows.chunks_mut(2).enumerate() {
                    let pair = WordPair::new(self.batch.last, shape.row, shape.words, j, start + from);
                    walk.add(l, &ciphers.value[j], &inputs, j, pair);
                    for sum in &mut walk.sums[j] {
                        *sum = negate_if(l, negative, *sum);
                    }
                    let words = unzip(l, &walk.sums[j], mask);
                    for (row, words) in rows.iter_mut().zip(&words) {
                        let end = row.len().min(at + from + TOGETHER * L::N);
                        let row = &mut row[(at + from).min(end)..end];
                        row.copy_from_slice(&words[..row.len()]);
                    }
                }
            }
        }
    }

    /// Evaluates every group at every point.
    #[inline(always)]
    fn groups<L: Lanes, const S: usize>(&mut self, l: L) {
        let ciphers = Ciphers::new(l, &self.batch.params.keys);
        let points = self.batch.shape.points;
        let together = points - points % POINTS;
        for at in (0..self.rows.first().map_or(0, |row| row.len())).step_by(GROUP) {
            for point in (0..together).step_by(POINTS) {
                self.group::<L, S, POINTS>(l, &ciphers, at, point);
            }
            for point in together..points {
                self.group::<L, S, 1>(l, &ciphers, at, point);
            }
        }
    }
}

impl Kernel for Eval<'_, '_> {
    #[inline(always)]
    fn run<L: Lanes>(mut self, l: L) {
        match steps::<L>() {
            1 => self.groups::<L, 1>(l),
            2 => self.groups::<L, 2>(l),
            _ => self.groups::<L, 4>(l),
        }
    }

    fn scalar(self) {
        scalar::eval_dcf(self.batch, self.first, self.rows);
    }
}

/// Makes the keys from `first` on that `sections` has columns for.
pub(super) struct Gen<'a, 'b> {
    pub(super) secrets: &'a DcfSecrets<'a>,
    pub(super) first: usize,
    pub(super) sections: &'a mut DcfSections<'b>,
}

impl Gen<'_, '_> {
    /// Makes the keys of one step, the first of which is column `at`.
    #[inline(always)]
    fn step<L: Lanes>(&mut self, l: L, ciphers: &Ciphers<L>, at: usize) {
        let (params, shape, roots) = (self.secrets.params, self.secrets.shape, self.secrets.roots);
        let start = self.first + at;
        let mask = u128::from(shape.width.mask());
        let mask = l.splat(mask << 64 | mask);
        let zero = [l.splat(0); TOGETHER];
        let mut held = [zero; MAX_VALUE_BLOCKS];
        let mut betas = [[0; GROUP]; 2 * MAX_VALUE_BLOCKS];
        for (betas, row) in betas.iter_mut().zip(self.secrets.betas.chunks_exact(shape.count.max(1))) {
            *betas = group_words(row, start);
        }
        let mut pair = Pair::roots(l, &roots[start..], &roots[shape.row + start..]);
        let mut directions = Directions::new(l, &group_words(self.secrets.alphas, start), params.bits);
        let DcfSections { corrections, values, last } = &mut *self.sections;
        for (row, values) in corrections.iter_mut().zip(values.chunks_mut(shape.words)) {
            let kept = directions.next(l);
            let mut lost = kept;
            for c in &mut lost {
                *c = l.xor(*c, l.splat(u128::MAX));
            }
            for (j, rows) in values.chunks_mut(2).enumerate() {
                let keys = &ciphers.value[j];
                let [first, second] = &pair.nodes;
                let lost = [hash(l, keys, &first.inputs(l, &lost)), hash(l, keys, &second.inputs(l, &lost))];
                let values = [hash(l, keys, &first.inputs(l, &kept)), hash(l, keys, &second.inputs(l, &kept))];
                let mut made = zero;
                for i in 0..TOGETHER {
                    let beta = l.and(kept[i], l.zip(&betas[2 * j][i * L::N..], &betas[2 * j + 1][i * L::N..]));
                    let change = l.add(l.sub(l.sub(lost[1][i], lost[0][i]), held[j][i]), beta);
                    made[i] = negate_if(l, second.control[i], change);
                    held[j][i] = l.add(l.add(held[j][i], change), l.sub(values[0][i], values[1][i]));
                }
                store_words(l, &made, mask, rows, at);
            }
            for (i, word) in pair.descend(l, &ciphers.child, &kept).iter().enumerate() {
                l.store(&mut row[at + i * L::N..], *word);
            }
        }
        let [first, second] = &pair.nodes;
        let mut inputs = [first.seed, second.seed];
        for input in inputs.as_flattened_mut() {
            *input = l.xor(*input, l.splat(LAST));
        }
        for (j, rows) in last.chunks_mut(2).enumerate() {
            let ends = [hash(l, &ciphers.value[j], &inputs[0]), hash(l, &ciphers.value[j], &inputs[1])];
            let mut made = zero;
            for i in 0..TOGETHER {
                let change = l.sub(l.sub(ends[1][i], ends[0][i]), held[j][i]);
                made[i] = negate_if(l, second.control[i], change);
            }
            store_words(l, &made, mask, rows, at);
        }
    }
}

/// Writes the halves of each block, masked, to one or two rows from column `at` on.
#[inline(always)]
fn store_words<L: Lanes>(l: L, blocks: &Step<L>, mask: L::V, rows: &mut [&mut [u64]], at: usize) {
    let words = unzip(l, blocks, mask);
    for (row, words) in rows.iter_mut().zip(&words) {
        let len = (row.len() - at).min(TOGETHER * L::N);
        row[at..at + len].copy_from_slice(&words[..len]);
    }
}

impl Kernel for Gen<'_, '_> {
    #[inline(always)]
    fn run<L: Lanes>(mut self, l: L) {
        let ciphers = Ciphers::new(l, &self.secrets.params.keys);
        for at in (0..self.sections.last[0].len()).step_by(TOGETHER * L::N) {
            self.step(l, &ciphers, at);
        }
    }

    fn scalar(self) {
        scalar::gen_dcf(self.secrets, self.first, self.sections);
    }
}
