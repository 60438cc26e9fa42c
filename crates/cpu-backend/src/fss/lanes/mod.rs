//! Vectors of 128-bit blocks, one key to a block: the few primitives that the kernels are written in.

#[cfg(target_arch = "x86_64")]
mod aesni;
#[cfg(target_arch = "x86_64")]
mod vaes256;
#[cfg(target_arch = "x86_64")]
mod vaes512;

use core_types::AesKey;

use crate::AesPath;

/// Vectors that are encrypted together, which hides the latency of a round.
pub(super) const TOGETHER: usize = 8;

/// Bytes that memory delivers at once.
const LINE_BYTES: usize = 64;

/// Blocks in vectors of one instruction set. A value of the implementing type proves that the set may be used.
///
/// "Half" means the low or the high 64 bits of a block.
pub(super) trait Lanes: Copy {
    /// Blocks in a vector; divides 4.
    const N: usize;
    /// `N` blocks.
    type V: Copy;

    /// The first `N` blocks of `s`.
    fn load(self, s: &[u128]) -> Self::V;
    /// Writes the first `N` blocks of `s`.
    fn store(self, s: &mut [u128], v: Self::V);
    /// The same block everywhere.
    fn splat(self, block: u128) -> Self::V;
    /// Block `i` has `lo[i]` and `hi[i]` as its halves; both hold at least `N` words.
    fn zip(self, lo: &[u64], hi: &[u64]) -> Self::V;
    /// Bitwise exclusive or.
    fn xor(self, a: Self::V, b: Self::V) -> Self::V;
    /// Bitwise and.
    fn and(self, a: Self::V, b: Self::V) -> Self::V;
    /// Sum of halves.
    fn add(self, a: Self::V, b: Self::V) -> Self::V;
    /// Difference of halves.
    fn sub(self, a: Self::V, b: Self::V) -> Self::V;
    /// Halves shifted left by `count` bits, up to 63.
    fn shl(self, a: Self::V, count: u32) -> Self::V;
    /// Halves shifted right by `count` bits, up to 63.
    fn shr(self, a: Self::V, count: u32) -> Self::V;
    /// Each half is filled with its highest bit.
    fn sign(self, a: Self::V) -> Self::V;
    /// Each block is filled with its lowest bit.
    fn spread(self, a: Self::V) -> Self::V;
    /// The lowest bit of each block is the XOR of the two lowest bits of `a`; the other bits are arbitrary.
    fn differ(self, a: Self::V) -> Self::V;
    /// Bits 0 ..= p of each block, where p is the 7 lowest bits of its low half, which its high half repeats.
    fn prefix(self, a: Self::V) -> Self::V;
    /// One middle AES round.
    fn round(self, state: Self::V, key: Self::V) -> Self::V;
    /// The last AES round.
    fn last_round(self, state: Self::V, key: Self::V) -> Self::V;
    /// Asks for the line that holds `s[0]`, if there is one.
    fn prefetch<T>(self, s: &[T]);
    /// Asks for every line of `s`, whose start begins one.
    #[inline(always)]
    fn prefetch_all<T>(self, s: &[T]) {
        s.chunks(LINE_BYTES / size_of::<T>()).for_each(|line| self.prefetch(line));
    }
}

/// A computation written once for every instruction set.
pub(super) trait Kernel {
    /// Runs it on vectors.
    fn run<L: Lanes>(self, l: L);
    /// Runs it by the scalar formulas, with AES by table look-up.
    fn scalar(self);
}

/// Runs a kernel on `path`, which the processor must have (a [`Simd`](crate::Simd) proves it).
pub(super) fn dispatch<K: Kernel>(path: AesPath, kernel: K) {
    match path {
        // SAFETY: the path is available, so its instructions are.
        #[cfg(target_arch = "x86_64")]
        AesPath::AesNi => unsafe { aesni::run(kernel) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        AesPath::Vaes256 => unsafe { vaes256::run(kernel) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        AesPath::Vaes512 => unsafe { vaes512::run(kernel) },
        _ => kernel.scalar(),
    }
}

/// The round keys of one cipher, everywhere in a vector.
///
/// The number of middle rounds is kept from the compiler: knowing it, it unrolls the rounds and orders them vector by
/// vector to save registers, which leaves one vector's latency exposed.
pub(super) struct RoundKeys<L: Lanes> {
    keys: [L::V; 11],
    accompanied: usize,
}

impl<L: Lanes> Copy for RoundKeys<L> {}

impl<L: Lanes> Clone for RoundKeys<L> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<L: Lanes> RoundKeys<L> {
    /// The keys of the middle rounds but the last: one for each vector of another step, to which something can be done
    /// beside that round. The units that compute rounds leave the others idle.
    #[inline(always)]
    pub(super) fn accompanied(&self) -> impl Iterator<Item = (usize, L::V)> {
        let keys = &self.keys[1..][..self.accompanied];
        keys.iter().enumerate().map(|(i, &key)| (i % TOGETHER, key))
    }

    /// A middle round.
    #[inline(always)]
    pub(super) fn round(&self, l: L, key: L::V, state: &mut Step<L>) {
        for s in state {
            *s = l.round(*s, key);
        }
    }
}

/// Vectors of one step.
pub(super) type Step<L> = [<L as Lanes>::V; TOGETHER];

/// Broadcasts a key schedule.
#[inline(always)]
pub(super) fn round_keys<L: Lanes>(l: L, key: &AesKey) -> RoundKeys<L> {
    let mut keys = [l.splat(0); 11];
    for (slot, &round) in keys.iter_mut().zip(key.rounds()) {
        *slot = l.splat(round);
    }
    RoundKeys { keys, accompanied: core::hint::black_box(TOGETHER) }
}

/// A step on its way through a cipher: what enters the first middle round, and what the last round adds.
#[derive(Clone, Copy)]
pub(super) struct Passage<L: Lanes> {
    pub(super) state: Step<L>,
    last: Step<L>,
}

impl<L: Lanes> Passage<L> {
    /// Room for a step.
    #[inline(always)]
    pub(super) fn idle(l: L) -> Self {
        Self { state: [l.splat(0); TOGETHER], last: [l.splat(0); TOGETHER] }
    }

    /// Lets vector `i` come out as H(u) ^ `change`, where H(u) = AES(u) ^ u.
    #[inline(always)]
    pub(super) fn enter(&mut self, l: L, keys: &RoundKeys<L>, i: usize, u: L::V, change: L::V) {
        self.state[i] = l.xor(u, keys.keys[0]);
        // feed-forward and change join the last round key, off the critical path
        self.last[i] = l.xor(l.xor(u, keys.keys[10]), change);
    }

    /// Ends the rounds that `state` has gone through from [`begin`](Self::begin) on.
    #[inline(always)]
    pub(super) fn end(&self, l: L, keys: &RoundKeys<L>, mut state: Step<L>) -> Step<L> {
        keys.round(l, keys.keys[9], &mut state);
        for (s, last) in state.iter_mut().zip(&self.last) {
            *s = l.last_round(*s, *last);
        }
        state
    }

    /// All rounds.
    #[inline(always)]
    pub(super) fn leave(&self, l: L, keys: &RoundKeys<L>) -> Step<L> {
        let mut state = self.state;
        for &key in &keys.keys[1..][..keys.accompanied] {
            keys.round(l, key, &mut state);
        }
        self.end(l, keys, state)
    }
}

/// H(u) = AES(u) xor u of every block.
#[inline(always)]
pub(super) fn hash<L: Lanes>(l: L, keys: &RoundKeys<L>, u: &Step<L>) -> Step<L> {
    let mut passage = Passage::idle(l);
    for (i, u) in u.iter().enumerate() {
        passage.enter(l, keys, i, *u, l.splat(0));
    }
    passage.leave(l, keys)
}
