//! CMP keys on vectors.

use core_types::cmp::CMP_TABLE_BITS;

use super::{
    batch::{CmpBatch, CmpSecrets, GROUP},
    dealer::{Children, Pair},
    lanes::{Kernel, Lanes, RoundKeys, Step, TOGETHER, hash, round_keys},
    scalar,
    walk::{Directions, Nodes, group_words, key, select, steps},
};

/// Points that walk down a tree together: the more, the fewer times correction words are read.
const POINTS: usize = 4;

/// Rows ahead that correction words are asked for, so that memory answers in time. Few, because rows of a large batch
/// lie a power of two apart and share cache sets.
const AHEAD: usize = 5;

/// Evaluates the keys from `first` on that `rows`, one per point, have words for.
pub(super) struct Eval<'a, 'b> {
    pub(super) batch: &'a CmpBatch<'a>,
    pub(super) first: usize,
    pub(super) rows: &'a mut [&'b mut [u32]],
}

/// The walks of one step along one point.
#[derive(Clone, Copy)]
struct Walk<L: Lanes> {
    nodes: Nodes<L>,
    directions: Directions<L>,
    /// Each block's lowest bit is the parity of the covered control bits.
    parity: Step<L>,
}

impl<L: Lanes> Walk<L> {
    #[inline(always)]
    fn idle(l: L) -> Self {
        let zero = [l.splat(0); TOGETHER];
        Self { nodes: Nodes { seed: zero, control: zero }, directions: Directions { rest: zero }, parity: zero }
    }

    #[inline(always)]
    fn level(&mut self, l: L, keys: &RoundKeys<L>, words: &[u128]) {
        let before = self.nodes.control;
        let direction = self.directions.next(l);
        let inputs = self.nodes.inputs(l, &direction);
        self.nodes.descend(l, keys, &inputs, &direction, words);
        for i in 0..TOGETHER {
            // a turn at level i counts t_i (c_i ^ c_(i-1)); summed by parts, a right step counts t_i ^ t_(i+1)
            let turned = l.and(direction[i], l.xor(before[i], self.nodes.control[i]));
            self.parity[i] = l.xor(self.parity[i], turned);
        }
    }

    /// Writes blocks whose parity is the share.
    #[inline(always)]
    fn finish(&mut self, l: L, keys: &RoundKeys<L>, left: &[u128], right: &[u128], out: &mut [u128]) {
        let one = l.splat(1);
        let direction = self.directions.next(l);
        let inputs = self.nodes.inputs(l, &direction);
        let blocks = hash(l, keys, &inputs);
        for i in 0..TOGETHER {
            let at = i * L::N;
            let (c, control) = (direction[i], self.nodes.control[i]);
            let leaf = select(l, c, l.load(&left[at..]), l.load(&right[at..]));
            let block = l.xor(blocks[i], l.and(control, leaf));
            // a left block adds its leaves up to y; a right block was counted whole and removes those after y
            let counted = l.and(block, l.xor(self.directions.prefix(l, i), c));
            let parity = l.and(one, l.xor(self.parity[i], l.and(c, control)));
            l.store(&mut out[at..], l.xor(counted, parity));
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
    /// Asks for the words of a coming row: `row` counts the corrections and then the two leaf rows.
    #[inline(always)]
    fn prefetch<L: Lanes>(&self, l: L, row: usize, start: usize) {
        let shape = self.batch.shape;
        let (row, start) = if row < shape.levels + 2 { (row, start) } else { (row - shape.levels - 2, start + GROUP) };
        let words = match row.checked_sub(shape.levels) {
            None => self.batch.corrections.get(row * shape.row + start..),
            Some(side) => self.batch.leaves.get(side * shape.row + start..),
        };
        if let Some(words) = words {
            for line in words.chunks(4).take(GROUP / 4) {
                l.prefetch(line);
            }
        }
    }

    /// Evaluates one group, which `S` steps hold, at `P` points from `point` on.
    #[inline(always)]
    fn group<L: Lanes, const S: usize, const P: usize>(
        &mut self,
        l: L,
        keys: &RoundKeys<L>,
        group: usize,
        point: usize,
    ) {
        let (params, shape) = (self.batch.params, self.batch.shape);
        let start = self.first + group * GROUP;
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
            self.prefetch(l, level + AHEAD, start);
            let words = &self.batch.corrections[level * shape.row + start..][..GROUP];
            for walks in &mut walks {
                for (step, walk) in walks.iter_mut().enumerate() {
                    walk.level(l, keys, &words[key::<L>(step)..]);
                }
            }
        }
        let (left, right) = self.batch.leaves.split_at(shape.row);
        let (left, right) = (&left[start..][..GROUP], &right[start..][..GROUP]);
        let used = u32::MAX >> (GROUP - (shape.count - start).min(GROUP));
        for (j, walks) in walks.iter_mut().enumerate() {
            let mut blocks = [0; GROUP];
            for (step, walk) in walks.iter_mut().enumerate() {
                let at = key::<L>(step);
                walk.finish(l, keys, &left[at..], &right[at..], &mut blocks[at..]);
            }
            self.rows[point + j][group] = parities(&blocks) & used;
        }
    }

    /// Evaluates every group at every point.
    #[inline(always)]
    fn groups<L: Lanes, const S: usize>(&mut self, l: L) {
        let keys = round_keys(l, &self.batch.params.key);
        let points = self.batch.shape.points;
        let together = points - points % POINTS;
        for group in 0..self.rows.first().map_or(0, |row| row.len()) {
            for point in (0..together).step_by(POINTS) {
                self.group::<L, S, POINTS>(l, &keys, group, point);
            }
            for point in together..points {
                self.group::<L, S, 1>(l, &keys, group, point);
            }
        }
    }
}

impl Kernel for Eval<'_, '_> {
    #[inline(always)]
    fn run<L: Lanes>(mut self, l: L) {
        if self.batch.params.bits <= CMP_TABLE_BITS {
            return self.scalar(); // no AES there
        }
        match steps::<L>() {
            1 => self.groups::<L, 1>(l),
            2 => self.groups::<L, 2>(l),
            _ => self.groups::<L, 4>(l),
        }
    }

    fn scalar(self) {
        scalar::eval_cmp(self.batch, self.first, self.rows);
    }
}

/// Makes the keys from `first` on that `corrections` and the two rows of `leaves` have columns for.
pub(super) struct Gen<'a, 'b> {
    pub(super) secrets: &'a CmpSecrets<'a>,
    pub(super) first: usize,
    pub(super) corrections: &'a mut [&'b mut [u128]],
    pub(super) leaves: &'a mut [&'b mut [u128]],
}

impl Gen<'_, '_> {
    /// Makes the keys of one step, the first of which is column `at`.
    #[inline(always)]
    fn step<L: Lanes>(&mut self, l: L, keys: &RoundKeys<L>, at: usize) {
        let (params, shape, roots) = (self.secrets.params, self.secrets.shape, self.secrets.roots);
        let start = self.first + at;
        let alphas = group_words(self.secrets.alphas, start);
        let mut pair = Pair::roots(l, &roots[start..], &roots[shape.row + start..]);
        let mut directions = Directions::new(l, &alphas, params.bits);
        for row in self.corrections.iter_mut() {
            let direction = directions.next(l);
            let words = pair.descend(l, keys, &direction);
            for (i, word) in words.iter().enumerate() {
                l.store(&mut row[at + i * L::N..], *word);
            }
        }
        let direction = directions.next(l);
        let Children { left, right } = pair.children(l, keys);
        let mut units = [0u128; GROUP];
        for (unit, alpha) in units.iter_mut().zip(&alphas) {
            *unit = 1 << (alpha & 127);
        }
        for i in 0..TOGETHER {
            let at = at + i * L::N;
            let unit = l.load(&units[i * L::N..]);
            let right_unit = l.and(direction[i], unit);
            let left_unit = l.xor(right_unit, unit);
            l.store(&mut self.leaves[0][at..], l.xor(left_unit, l.xor(left[0][i], left[1][i])));
            l.store(&mut self.leaves[1][at..], l.xor(right_unit, l.xor(right[0][i], right[1][i])));
        }
    }
}

impl Kernel for Gen<'_, '_> {
    #[inline(always)]
    fn run<L: Lanes>(mut self, l: L) {
        if self.secrets.params.bits <= CMP_TABLE_BITS {
            return self.scalar(); // no AES there
        }
        let keys = round_keys(l, &self.secrets.params.key);
        for at in (0..self.leaves[0].len()).step_by(TOGETHER * L::N) {
            self.step(l, &keys, at);
        }
    }

    fn scalar(self) {
        scalar::gen_cmp(self.secrets, self.first, self.corrections, self.leaves);
    }
}
