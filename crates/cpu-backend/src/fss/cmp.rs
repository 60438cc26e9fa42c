//! CMP keys on vectors.

use backend_api::ops::fss::GROUP;
use core_types::cmp::CMP_TABLE_BITS;

use super::{
    batch::{CmpBatch, CmpSecrets},
    dealer::{Children, Pair},
    lanes::{Kernel, Lanes, Passage, RoundKeys, Step, TOGETHER, round_keys},
    scalar,
    walk::{Directions, Nodes, Points, group_words, select},
};

/// Points that walk down a tree together: the more, the fewer times correction words are read.
const POINTS: usize = 4;

/// Walks that go down together, level by level. Then a level's correction words are read as whole pages, which hides
/// that rows lie far apart, often by a power of two; the states of the walks stay in the first-level cache.
const WALKS: usize = 256;

/// Rows that are asked for ahead, so that memory has their time to answer.
pub(super) const AHEAD: usize = 2;

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
    points: Points<L>,
    /// The control bits on the way, the last one lowest, in both halves of each block.
    controls: Step<L>,
}

impl<L: Lanes> Walk<L> {
    #[inline(always)]
    fn idle(l: L) -> Self {
        Self { nodes: Nodes::idle(l), points: Points::idle(l), controls: [l.splat(0); TOGETHER] }
    }

    /// Takes vector `i` down by bit `place` of its points, to the children that come out of `passage`.
    #[inline(always)]
    fn enter(&mut self, l: L, keys: &RoundKeys<L>, i: usize, place: u32, words: &[u128], passage: &mut Passage<L>) {
        let direction = self.points.bit(l, i, place);
        let control = self.append(l, i);
        let correction = Nodes::correction(l, control, direction, l.load(&words[i * L::N..]));
        passage.enter(l, keys, i, self.nodes.input(l, i, direction), correction);
    }

    /// Appends the control bits of vector `i`, and spreads them over their blocks.
    #[inline(always)]
    fn append(&mut self, l: L, i: usize) -> L::V {
        let control = self.nodes.control(l, i);
        let controls = self.controls[i];
        self.controls[i] = l.sub(l.add(controls, controls), control);
        control
    }

    /// Takes every walk down by bit `place` of its points, `points` of them after each other under the same correction
    /// words, which `words` holds. A walk is prepared while the one before it goes through the rounds.
    #[inline(always)]
    fn level(walks: &mut [Self], l: L, keys: &RoundKeys<L>, place: u32, points: usize, rows: [&[u128]; 2]) {
        let [words, coming] = rows;
        let step_keys = TOGETHER * L::N;
        // one walk's passage is under way while the next one's is filled
        let mut passages = [Passage::idle(l); 2];
        for i in 0..TOGETHER {
            walks[0].enter(l, keys, i, place, words, &mut passages[0]);
        }
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
            let mut state = passages[now].state;
            if let Some(walk) = walks.get_mut(walk + 1) {
                let words = &words[at..][..step_keys];
                for (i, key) in keys.accompanied() {
                    keys.round(l, key, &mut state);
                    walk.enter(l, keys, i, place, words, &mut passages[next]);
                }
            } else {
                for (_, key) in keys.accompanied() {
                    keys.round(l, key, &mut state);
                }
            }
            walks[walk].nodes.labels = passages[now].end(l, keys, state);
        }
    }

    /// Writes blocks whose parity is the share.
    #[inline(always)]
    fn finish(&mut self, l: L, keys: &RoundKeys<L>, left: &[u128], right: &[u128], out: &mut [u128]) {
        let low = l.splat(u128::from(u64::MAX));
        let mut passage = Passage::idle(l);
        for i in 0..TOGETHER {
            let direction = self.points.bit(l, i, CMP_TABLE_BITS);
            let side = l.spread(direction);
            let control = self.append(l, i);
            let leaf = select(l, side, l.load(&left[i * L::N..]), l.load(&right[i * L::N..]));
            passage.enter(l, keys, i, self.nodes.input(l, i, direction), l.and(control, leaf));
        }
        let blocks = passage.leave(l, keys);
        for i in 0..TOGETHER {
            let point = self.points.word(i);
            let side = l.spread(l.shr(point, CMP_TABLE_BITS));
            // a left block adds its leaves up to y; a right block was counted whole and removes those after y
            let counted = l.and(blocks[i], l.xor(l.prefix(point), side));
            // the control bits are counted where the direction changes, from a first direction of 0 on
            let turns = l.and(low, l.xor(point, l.shr(point, 1)));
            let parity = l.and(turns, l.shl(self.controls[i], CMP_TABLE_BITS));
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
    /// Evaluates `keys` keys from column `at` on, whole groups, at `points` points from `point` on; `S` steps hold
    /// [`WALKS`] walks.
    #[inline(always)]
    fn tile<L: Lanes, const S: usize>(
        &mut self,
        l: L,
        round_keys: &RoundKeys<L>,
        (at, keys): (usize, usize),
        (point, points): (usize, usize),
    ) {
        let (params, shape) = (self.batch.params, self.batch.shape);
        let (start, step_keys) = (self.first + at, TOGETHER * L::N);
        let mut walks = [Walk::idle(l); S];
        let walks = &mut walks[..keys / step_keys * points];
        for j in 0..points {
            let row = &self.batch.points[(point + j) * shape.count..][..shape.count];
            for (step, walks) in walks.chunks_exact_mut(points).enumerate() {
                let first = start + step * step_keys;
                walks[j].nodes = Nodes::roots(l, &self.batch.roots[first..], params.party);
                walks[j].points = Points::new(l, &group_words(row, first), params.bits);
            }
        }
        let rows = self.batch.corrections.chunks_exact(shape.row);
        let coming = rows.clone().skip(AHEAD).chain(self.batch.leaves.chunks_exact(shape.row));
        for ((row, coming), place) in rows.zip(coming).zip((0..params.bits).rev()) {
            let (words, coming) = (&row[start..][..keys], &coming[start..][..keys]);
            Walk::level(walks, l, round_keys, place, points, [words, coming]);
        }
        let (left, right) = self.batch.leaves.split_at(shape.row);
        let (left, right) = (&left[start..][..keys], &right[start..][..keys]);
        for j in 0..points {
            let mut blocks = [0; WALKS];
            for (step, walks) in walks.chunks_exact_mut(points).enumerate() {
                let from = step * step_keys;
                walks[j].finish(l, round_keys, &left[from..], &right[from..], &mut blocks[from..]);
            }
            let words = &mut self.rows[point + j][at / GROUP..][..keys / GROUP];
            for (group, (word, blocks)) in words.iter_mut().zip(blocks.as_chunks().0).enumerate() {
                let used = u32::MAX >> (GROUP - (shape.count - start - group * GROUP).min(GROUP));
                *word = parities(blocks) & used;
            }
        }
    }

    /// Evaluates every key at every point.
    #[inline(always)]
    fn tiles<L: Lanes, const S: usize>(&mut self, l: L) {
        let round_keys = round_keys(l, &self.batch.params.key);
        let all_points = self.batch.shape.points;
        let all_keys = self.rows.first().map_or(0, |row| row.len()) * GROUP;
        for point in (0..all_points).step_by(POINTS) {
            let points = (all_points - point).min(POINTS);
            let most_keys = WALKS / points / GROUP * GROUP;
            for at in (0..all_keys).step_by(most_keys) {
                let keys = (all_keys - at).min(most_keys);
                self.tile::<L, S>(l, &round_keys, (at, keys), (point, points));
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
        match L::N {
            4 => self.tiles::<L, { WALKS / (4 * TOGETHER) }>(l),
            2 => self.tiles::<L, { WALKS / (2 * TOGETHER) }>(l),
            _ => self.tiles::<L, { WALKS / TOGETHER }>(l),
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

/// Keys that are made together, level by level, for the same reason as [`WALKS`].
const PAIRS: usize = 128;

impl Gen<'_, '_> {
    /// Makes `keys` keys from column `at` on, whole groups; `S` steps hold [`PAIRS`] keys.
    #[inline(always)]
    fn tile<L: Lanes, const S: usize>(&mut self, l: L, round_keys: &RoundKeys<L>, at: usize, keys: usize) {
        let (params, shape, roots) = (self.secrets.params, self.secrets.shape, self.secrets.roots);
        let step_keys = TOGETHER * L::N;
        let first = |step: usize| self.first + at + step * step_keys;
        let mut walks = [(Pair::idle(l), Directions::idle(l)); S];
        let walks = &mut walks[..keys / step_keys];
        for (step, (pair, directions)) in walks.iter_mut().enumerate() {
            let first = first(step);
            *pair = Pair::roots(l, &roots[first..], &roots[shape.row + first..]);
            *directions = Directions::new(l, &group_words(self.secrets.alphas, first), params.bits);
        }
        for row in self.corrections.iter_mut() {
            for ((pair, directions), out) in walks.iter_mut().zip(row[at..].chunks_exact_mut(step_keys)) {
                let direction = directions.next(l);
                let words = pair.descend(l, round_keys, &direction);
                for (i, word) in words.iter().enumerate() {
                    l.store(&mut out[i * L::N..], *word);
                }
            }
        }
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
    fn tiles<L: Lanes, const S: usize>(&mut self, l: L) {
        let round_keys = round_keys(l, &self.secrets.params.key);
        let all_keys = self.leaves[0].len();
        for at in (0..all_keys).step_by(PAIRS) {
            self.tile::<L, S>(l, &round_keys, at, (all_keys - at).min(PAIRS));
        }
    }
}

impl Kernel for Gen<'_, '_> {
    #[inline(always)]
    fn run<L: Lanes>(mut self, l: L) {
        if self.secrets.params.bits <= CMP_TABLE_BITS {
            return self.scalar(); // no AES there
        }
        match L::N {
            4 => self.tiles::<L, { PAIRS / (4 * TOGETHER) }>(l),
            2 => self.tiles::<L, { PAIRS / (2 * TOGETHER) }>(l),
            _ => self.tiles::<L, { PAIRS / TOGETHER }>(l),
        }
    }

    fn scalar(self) {
        scalar::gen_cmp(self.secrets, self.first, self.corrections, self.leaves);
    }
}
