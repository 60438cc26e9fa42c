//! Steps down the trees, for several keys at once.
//!
//! No branch and no address depends on a secret.
//!
//! The child in direction `c` of a node with seed `s` and control bit `t` is `H(s | c) ^ t CW_c`.
//! `CW_c` has the seed correction of its level and, in bit 0, the control correction of direction
//! `c` (Boyle, Gilboa, Ishai, CCS 2016).

use backend_api::ops::fss::GROUP;
use core_types::Label;

use super::cipher::{Passage, RoundKeys, room};
use crate::simd::blocks::{AesBlocks, Step, TOGETHER};

/// The bits of a label that a seed uses.
const SEED_BITS: u128 = !3;

/// One word for each key of a group, from a row of `count` keys; zero past the end.
#[inline(always)]
pub(super) fn group_words(row: &[u64], start: usize) -> [u64; GROUP] {
    let mut words = [0; GROUP];
    let rest = &row[start.min(row.len())..];
    let len = rest.len().min(GROUP);
    words[..len].copy_from_slice(&rest[..len]);
    words
}

/// `a` where `mask` is clear, `b` where it is set.
#[inline(always)]
pub(super) fn select<L: AesBlocks>(l: L, mask: L::V, a: L::V, b: L::V) -> L::V {
    l.xor(a, l.and(mask, l.xor(a, b)))
}

/// `a` where the mask of a half is clear, `-a` where it is set.
#[inline(always)]
pub(super) fn negate_if<L: AesBlocks>(l: L, mask: L::V, a: L::V) -> L::V {
    l.sub(l.xor(a, mask), mask)
}

/// One party's nodes, as labels.
///
/// The lowest bit of a label is the control bit, the next bit is arbitrary, and the other bits are
/// the seed.
#[derive(Clone, Copy)]
pub(super) struct PartyNodes<L: AesBlocks> {
    pub(super) labels: Step<L>,
}

impl<L: AesBlocks> PartyNodes<L> {
    /// Room for nodes.
    #[inline(always)]
    pub(super) fn idle(l: L) -> Self {
        Self { labels: room(l) }
    }

    /// The first of `pair` where `mask` is clear, the second where it is set.
    #[inline(always)]
    pub(super) fn select(l: L, mask: &Step<L>, pair: [&Self; 2]) -> Self {
        let mut nodes = *pair[0];
        for (i, label) in nodes.labels.iter_mut().enumerate() {
            *label = select(l, mask[i], *label, pair[1].labels[i]);
        }
        nodes
    }

    /// The roots of `party` in `labels`; the slice begins with the step's keys.
    #[inline(always)]
    pub(super) fn roots(l: L, labels: &[Label], party: u32) -> Self {
        let roots: &[u128] = bytemuck::cast_slice(labels);
        let mut labels = [l.splat(u128::from(party)); TOGETHER];
        for (i, label) in labels.iter_mut().enumerate() {
            *label = l.xor(*label, l.and(l.load(&roots[i * L::N..]), l.splat(SEED_BITS)));
        }
        Self { labels }
    }

    /// The control bit, spread over its block.
    #[inline(always)]
    pub(super) fn control(&self, l: L, i: usize) -> L::V {
        l.spread(self.labels[i])
    }

    /// The hash input: the seed with `low` in its two lowest bits.
    #[inline(always)]
    pub(super) fn input(&self, l: L, i: usize, low: L::V) -> L::V {
        l.xor(l.and(self.labels[i], l.splat(SEED_BITS)), low)
    }

    /// The hash inputs: seeds with their lowest bit set where `direction` is.
    #[inline(always)]
    pub(super) fn inputs(&self, l: L, direction: &Step<L>) -> Step<L> {
        let mut inputs = *direction;
        for (i, u) in inputs.iter_mut().enumerate() {
            *u = self.input(l, i, l.and(*u, l.splat(1)));
        }
        inputs
    }

    /// The correction of children in `direction`, 0 or 1, where `control` is set.
    #[inline(always)]
    pub(super) fn correction(l: L, control: L::V, direction: L::V, word: L::V) -> L::V {
        // bit 0 corrects the control bit of a left child, bit 1 the control bit of a right one
        l.and(control, l.xor(word, l.and(direction, l.differ(word))))
    }

    /// Enters the children of vector `i` in `direction`, corrected by `word`.
    ///
    /// `direction` is 0 or 1. The children come out of `passage`.
    #[inline(always)]
    pub(super) fn enter(
        &self,
        l: L,
        keys: &RoundKeys<L>,
        i: usize,
        (direction, word): (L::V, L::V),
        passage: &mut Passage<L>,
    ) {
        let correction = Self::correction(l, self.control(l, i), direction, word);
        passage.enter(l, keys, i, self.input(l, i, direction), correction);
    }
}

/// Points whose bits are read by their place.
#[derive(Clone, Copy)]
pub(super) struct PointBits<L: AesBlocks> {
    words: Step<L>,
}

impl<L: AesBlocks> PointBits<L> {
    /// Room for points.
    #[inline(always)]
    pub(super) fn idle(l: L) -> Self {
        Self { words: room(l) }
    }

    /// The lower `bits` bits of the words that the step's keys begin the slice with.
    #[inline(always)]
    pub(super) fn new(l: L, words: &[u64], bits: u32) -> Self {
        let mask = u128::from(u64::MAX >> (64 - bits));
        let mut points = Self::idle(l);
        for (i, point) in points.words.iter_mut().enumerate() {
            *point = l.and(l.zip(&words[i * L::N..], &words[i * L::N..]), l.splat(mask << 64 | mask));
        }
        points
    }

    /// These points of `bits` bits less `word`.
    #[inline(always)]
    pub(super) fn less(&self, l: L, word: u64, bits: u32) -> Self {
        let [word, mask] = [word, u64::MAX >> (64 - bits)].map(u128::from).map(|word| l.splat(word << 64 | word));
        let mut points = *self;
        for point in &mut points.words {
            *point = l.and(l.sub(*point, word), mask);
        }
        points
    }

    /// Where bit `place` differs from the same bit of `other`, spread over each block.
    #[inline(always)]
    pub(super) fn differ(&self, l: L, other: &Self, place: u32) -> Step<L> {
        let mut masks = self.words;
        for (mask, other) in masks.iter_mut().zip(&other.words) {
            *mask = l.spread(l.shr(l.xor(*mask, *other), place));
        }
        masks
    }

    /// Bit `place` of vector `i`, as 0 or 1.
    #[inline(always)]
    pub(super) fn bit(&self, l: L, i: usize, place: u32) -> L::V {
        l.and(l.splat(1), l.shr(self.words[i], place))
    }

    /// The words of vector `i`, in both halves of each block.
    #[inline(always)]
    pub(super) fn word(&self, i: usize) -> L::V {
        self.words[i]
    }
}

/// Points or secrets, read from their highest bit on.
#[derive(Clone, Copy)]
pub(super) struct Directions<L: AesBlocks> {
    rest: Step<L>,
}

impl<L: AesBlocks> Directions<L> {
    /// Room for directions.
    #[inline(always)]
    pub(super) fn idle(l: L) -> Self {
        Self { rest: room(l) }
    }

    /// Directions from the highest of `bits` bits on.
    ///
    /// The slice begins with the words of the step's keys.
    #[inline(always)]
    pub(super) fn new(l: L, words: &[u64], bits: u32) -> Self {
        let mut aligned = [0; 4 * TOGETHER];
        let aligned = &mut aligned[..TOGETHER * L::N];
        for (aligned, word) in aligned.iter_mut().zip(words) {
            *aligned = word << (64 - bits);
        }
        let mut directions = Self::idle(l);
        for (i, rest) in directions.rest.iter_mut().enumerate() {
            *rest = l.zip(&aligned[i * L::N..], &aligned[i * L::N..]);
        }
        directions
    }

    /// The next bit of each key, spread over its block.
    #[inline(always)]
    pub(super) fn next(&mut self, l: L) -> Step<L> {
        let mut directions = self.rest;
        for (c, rest) in directions.iter_mut().zip(&mut self.rest) {
            *c = l.sign(*rest);
            *rest = l.add(*rest, *rest);
        }
        directions
    }
}

/// The walks of one step along one point, which gather `K` steps of blocks on the way.
#[derive(Clone, Copy)]
pub(super) struct Paths<L: AesBlocks, const K: usize> {
    pub(super) nodes: PartyNodes<L>,
    pub(super) points: PointBits<L>,
    pub(super) gathered: [Step<L>; K],
}

impl<L: AesBlocks, const K: usize> Paths<L, K> {
    /// Room for walks.
    #[inline(always)]
    pub(super) fn idle(l: L) -> Self {
        Self { nodes: PartyNodes::idle(l), points: PointBits::idle(l), gathered: [room(l); K] }
    }

    /// Selects the first of `pair` where `mask` is clear, the second where it is set.
    ///
    /// The walk continues to `points`.
    #[inline(always)]
    fn select(l: L, mask: &Step<L>, pair: &[Self; 2], points: PointBits<L>) -> Self {
        let mut gathered = pair[0].gathered;
        for (blocks, others) in gathered.iter_mut().zip(&pair[1].gathered) {
            for (i, block) in blocks.iter_mut().enumerate() {
                *block = select(l, mask[i], *block, others[i]);
            }
        }
        Self { nodes: PartyNodes::select(l, mask, [&pair[0].nodes, &pair[1].nodes]), points, gathered }
    }
}

/// The clustered points of one step, and the walks to the two blocks that hold them.
#[derive(Clone, Copy)]
pub(super) struct ClusterBlocks<L: AesBlocks, const K: usize> {
    pub(super) x_hat: PointBits<L>,
    pub(super) first: PointBits<L>,
    pub(super) walks: [Paths<L, K>; 2],
}

impl<L: AesBlocks, const K: usize> ClusterBlocks<L, K> {
    /// Room for them.
    #[inline(always)]
    pub(super) fn idle(l: L) -> Self {
        Self { x_hat: PointBits::idle(l), first: PointBits::idle(l), walks: [Paths::idle(l); 2] }
    }

    /// The walk to the points `x_hat` - `offset` of `bits` bits.
    ///
    /// It starts at their blocks of 2^`window` points.
    #[inline(always)]
    pub(super) fn walk(&self, l: L, offset: u64, bits: u32, window: u32) -> Paths<L, K> {
        let points = self.x_hat.less(l, offset, bits);
        Paths::select(l, &points.differ(l, &self.first, window), &self.walks, points)
    }
}
