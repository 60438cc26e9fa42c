//! Steps down the trees, for several keys at once and without a branch or an address that depends on a secret.

use backend_api::ops::fss::GROUP;
use core_types::Label;

use super::lanes::{Lanes, RoundKeys, Step, TOGETHER, hash};

/// The bits of a label that a seed uses.
const SEED_BITS: u128 = !3;

/// One word for each key of a group, from a row of `count` keys; zero behind the end.
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
pub(super) fn select<L: Lanes>(l: L, mask: L::V, a: L::V, b: L::V) -> L::V {
    l.xor(a, l.and(mask, l.xor(a, b)))
}

/// `a` where the mask of a half is clear, `-a` where it is set.
#[inline(always)]
pub(super) fn negate_if<L: Lanes>(l: L, mask: L::V, a: L::V) -> L::V {
    l.sub(l.xor(a, mask), mask)
}

/// One party's nodes: seeds with clear low bits, and control bits spread over their blocks.
#[derive(Clone, Copy)]
pub(super) struct Nodes<L: Lanes> {
    pub(super) seed: Step<L>,
    pub(super) control: Step<L>,
}

impl<L: Lanes> Nodes<L> {
    /// Room for nodes.
    #[inline(always)]
    pub(super) fn idle(l: L) -> Self {
        Self { seed: [l.splat(0); TOGETHER], control: [l.splat(0); TOGETHER] }
    }

    /// The roots of `party` in `labels`, of which the step's keys begin the slice.
    #[inline(always)]
    pub(super) fn roots(l: L, labels: &[Label], party: u32) -> Self {
        let labels: &[u128] = bytemuck::cast_slice(labels);
        let control = l.spread(l.splat(u128::from(party)));
        let mut nodes = Self { seed: [control; TOGETHER], control: [control; TOGETHER] };
        for (i, seed) in nodes.seed.iter_mut().enumerate() {
            *seed = l.and(l.load(&labels[i * L::N..]), l.splat(SEED_BITS));
        }
        nodes
    }

    /// The hash inputs: seeds with their lowest bit set where `direction` is.
    #[inline(always)]
    pub(super) fn inputs(&self, l: L, direction: &Step<L>) -> Step<L> {
        let one = l.splat(1);
        let mut inputs = self.seed;
        for (u, c) in inputs.iter_mut().zip(direction) {
            *u = l.xor(*u, l.and(*c, one));
        }
        inputs
    }

    /// Moves to `child`, corrected where the control bit is set: by bits 2.. of `word`, and its lowest bit.
    #[inline(always)]
    pub(super) fn replace(&mut self, l: L, i: usize, child: L::V, word: L::V) {
        let child = l.xor(child, l.and(self.control[i], word));
        self.control[i] = l.spread(child);
        self.seed[i] = l.and(child, l.splat(SEED_BITS));
    }

    /// Moves to the children of `inputs` in `direction`, under the correction words that `words` begins with.
    #[inline(always)]
    pub(super) fn descend(&mut self, l: L, keys: &RoundKeys<L>, inputs: &Step<L>, direction: &Step<L>, words: &[u128]) {
        let one = l.splat(1);
        let children = hash(l, keys, inputs);
        for i in 0..TOGETHER {
            let word = l.load(&words[i * L::N..]);
            // bit 0 corrects the control bit of a left child, bit 1 that of a right one
            let right = l.and(l.and(direction[i], one), l.xor(word, l.shr1(word)));
            self.replace(l, i, children[i], l.xor(word, right));
        }
    }
}

/// Points or secrets, read from their highest bit on.
#[derive(Clone, Copy)]
pub(super) struct Directions<L: Lanes> {
    rest: Step<L>,
}

impl<L: Lanes> Directions<L> {
    /// Room for directions.
    #[inline(always)]
    pub(super) fn idle(l: L) -> Self {
        Self { rest: [l.splat(0); TOGETHER] }
    }

    /// Starts at the highest of `bits` bits of the words that the step's keys begin the slice with.
    #[inline(always)]
    pub(super) fn new(l: L, words: &[u64], bits: u32) -> Self {
        let mut aligned = [0; 4 * TOGETHER];
        let aligned = &mut aligned[..TOGETHER * L::N];
        for (aligned, word) in aligned.iter_mut().zip(words) {
            *aligned = word << (64 - bits);
        }
        let mut rest = [l.splat(0); TOGETHER];
        for (i, rest) in rest.iter_mut().enumerate() {
            *rest = l.zip(&aligned[i * L::N..], &aligned[i * L::N..]);
        }
        Self { rest }
    }

    /// The next bit of each key, spread over its block.
    #[inline(always)]
    pub(super) fn next(&mut self, l: L) -> Step<L> {
        let mut directions = self.rest;
        for (c, rest) in directions.iter_mut().zip(&mut self.rest) {
            *c = l.sign(*rest);
            *rest = l.shl1(*rest);
        }
        directions
    }

    /// Bits 0 ..= p of each block, where p is the next 7 bits.
    #[inline(always)]
    pub(super) fn prefix(&self, l: L, i: usize) -> L::V {
        l.prefix(self.rest[i])
    }
}
