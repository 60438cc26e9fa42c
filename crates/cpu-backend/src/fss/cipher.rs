//! Steps of blocks through the cipher of a key tree.
//!
//! The hash of a block `u` is `H(u) = AES(u) ^ u` under a fixed key (Matyas, Meyer, Oseas).

use core_types::AesKey;

use crate::simd::blocks::{AesBlocks, Step, TOGETHER};

/// The round keys of one cipher.
///
/// The number of middle rounds is hidden from the compiler: if it knew, it would unroll the rounds
/// and order them vector by vector to save registers, which leaves one vector's latency exposed.
#[derive(Clone, Copy)]
pub(super) struct RoundKeys<L: AesBlocks> {
    first: L::V,
    middle: [L::RoundKey; 9],
    last: L::V,
    accompanied: usize,
}

impl<L: AesBlocks> RoundKeys<L> {
    /// Broadcasts a key schedule.
    #[inline(always)]
    pub(super) fn new(l: L, key: &AesKey) -> Self {
        let [first, middle @ .., last] = *key.rounds();
        let mut keys = [l.round_key(0); 9];
        for (slot, round) in keys.iter_mut().zip(middle) {
            *slot = l.round_key(round);
        }
        let accompanied = core::hint::black_box(TOGETHER);
        Self { first: l.splat(first), middle: keys, last: l.splat(last), accompanied }
    }

    /// The keys of all middle rounds but the last.
    ///
    /// One vector of another step can be processed alongside each of these rounds: the units that
    /// compute rounds leave the other units idle.
    #[inline(always)]
    pub(super) fn accompanied(&self) -> impl Iterator<Item = (usize, &L::RoundKey)> {
        self.middle[..self.accompanied].iter().enumerate().map(|(i, key)| (i % TOGETHER, key))
    }
}

/// A step of zeros, to be filled.
#[inline(always)]
pub(super) fn room<L: AesBlocks>(l: L) -> Step<L> {
    [l.splat(0); TOGETHER]
}

/// A step passing through a cipher.
///
/// It holds the input of the first middle round and the words that the last round adds.
#[derive(Clone, Copy)]
pub(super) struct Passage<L: AesBlocks> {
    entered: Step<L>,
    last: Step<L>,
}

impl<L: AesBlocks> Passage<L> {
    /// Room for a step.
    #[inline(always)]
    pub(super) fn idle(l: L) -> Self {
        Self { entered: room(l), last: room(l) }
    }

    /// Makes vector `i` come out as H(u) ^ `change`, where H(u) = AES(u) ^ u.
    #[inline(always)]
    pub(super) fn enter(&mut self, l: L, keys: &RoundKeys<L>, i: usize, u: L::V, change: L::V) {
        self.entered[i] = l.xor(u, keys.first);
        // feed-forward and change join the last round key, off the critical path
        self.last[i] = l.xor(l.xor(u, keys.last), change);
    }

    /// The state that goes through the middle rounds.
    #[inline(always)]
    pub(super) fn begin(&self, l: L) -> L::State {
        l.begin(&self.entered)
    }

    /// Ends the rounds of `state`.
    ///
    /// It has gone through the [accompanied](RoundKeys::accompanied) rounds since
    /// [`begin`](Self::begin).
    #[inline(always)]
    pub(super) fn end(&self, l: L, keys: &RoundKeys<L>, mut state: L::State) -> Step<L> {
        l.round(&mut state, &keys.middle[8]);
        l.end(state, &self.last)
    }

    /// All rounds.
    #[inline(always)]
    pub(super) fn leave(&self, l: L, keys: &RoundKeys<L>) -> Step<L> {
        let mut state = self.begin(l);
        for (_, key) in keys.accompanied() {
            l.round(&mut state, key);
        }
        self.end(l, keys, state)
    }
}

/// H(u) = AES(u) xor u of every block.
#[inline(always)]
pub(super) fn hash<L: AesBlocks>(l: L, keys: &RoundKeys<L>, u: &Step<L>) -> Step<L> {
    let mut passage = Passage::idle(l);
    for (i, u) in u.iter().enumerate() {
        passage.enter(l, keys, i, *u, l.splat(0));
    }
    passage.leave(l, keys)
}
