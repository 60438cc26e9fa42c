//! Vectors of 128-bit blocks, one key to a block: the few primitives that the kernels are written in.

#[cfg(target_arch = "x86_64")]
mod aesni;
mod bitsliced;
mod portable;
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
    /// A step between rounds of AES.
    type State: Copy;
    /// The key of a middle round.
    type RoundKey: Copy;

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
    /// The key of a middle round.
    fn round_key(self, key: u128) -> Self::RoundKey;
    /// A step to which the first round key was added, on its way into the middle rounds.
    fn begin(self, step: &Step<Self>) -> Self::State;
    /// One middle round.
    fn round(self, state: &mut Self::State, key: &Self::RoundKey);
    /// The last round, with a key for each block.
    fn end(self, state: Self::State, last: &Step<Self>) -> Step<Self>;
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
    /// Runs it; implementations are `#[inline(always)]`.
    fn run<L: Lanes>(self, l: L);
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
        _ => kernel.run(portable::Portable),
    }
}

/// The round keys of one cipher.
///
/// The number of middle rounds is kept from the compiler: knowing it, it unrolls the rounds and orders them vector by
/// vector to save registers, which leaves one vector's latency exposed.
#[derive(Clone, Copy)]
pub(super) struct RoundKeys<L: Lanes> {
    first: L::V,
    middle: [L::RoundKey; 9],
    last: L::V,
    accompanied: usize,
}

impl<L: Lanes> RoundKeys<L> {
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

    /// The keys of the middle rounds but the last: one for each vector of another step, to which something can be done
    /// beside that round. The units that compute rounds leave the others idle.
    #[inline(always)]
    pub(super) fn accompanied(&self) -> impl Iterator<Item = (usize, &L::RoundKey)> {
        self.middle[..self.accompanied].iter().enumerate().map(|(i, key)| (i % TOGETHER, key))
    }
}

/// Vectors of one step.
pub(super) type Step<L> = [<L as Lanes>::V; TOGETHER];

/// A step on its way through a cipher: what enters the first middle round, and what the last round adds.
#[derive(Clone, Copy)]
pub(super) struct Passage<L: Lanes> {
    entered: Step<L>,
    last: Step<L>,
}

impl<L: Lanes> Passage<L> {
    /// Room for a step.
    #[inline(always)]
    pub(super) fn idle(l: L) -> Self {
        Self { entered: [l.splat(0); TOGETHER], last: [l.splat(0); TOGETHER] }
    }

    /// Lets vector `i` come out as H(u) ^ `change`, where H(u) = AES(u) ^ u.
    #[inline(always)]
    pub(super) fn enter(&mut self, l: L, keys: &RoundKeys<L>, i: usize, u: L::V, change: L::V) {
        self.entered[i] = l.xor(u, keys.first);
        // feed-forward and change join the last round key, off the critical path
        self.last[i] = l.xor(l.xor(u, keys.last), change);
    }

    /// What goes through the middle rounds.
    #[inline(always)]
    pub(super) fn begin(&self, l: L) -> L::State {
        l.begin(&self.entered)
    }

    /// Ends the rounds of `state`, which has gone through the [accompanied](RoundKeys::accompanied) ones since
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
pub(super) fn hash<L: Lanes>(l: L, keys: &RoundKeys<L>, u: &Step<L>) -> Step<L> {
    let mut passage = Passage::idle(l);
    for (i, u) in u.iter().enumerate() {
        passage.enter(l, keys, i, *u, l.splat(0));
    }
    passage.leave(l, keys)
}
