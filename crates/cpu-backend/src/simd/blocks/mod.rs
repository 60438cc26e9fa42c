//! Vectors of 128-bit blocks, and steps of such vectors that go through AES together.

#[cfg(target_arch = "x86_64")]
mod aesni;
mod bitsliced;
mod portable;
#[cfg(target_arch = "x86_64")]
mod registers;
#[cfg(target_arch = "x86_64")]
mod vaes256;
#[cfg(target_arch = "x86_64")]
mod vaes512;

/// Vectors that are encrypted together, which hides the latency of a round.
pub(crate) const TOGETHER: usize = 8;

/// Bytes that memory delivers at once.
const LINE_BYTES: usize = 64;

/// Blocks in vectors of one instruction set.
///
/// A value of the implementing token proves that the set may be used.
///
/// "Half" means the low or the high 64 bits of a block.
pub(crate) trait AesBlocks: Copy {
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

    /// Hints that the first [`N`](Self::N) blocks of `s` are written soon.
    #[inline(always)]
    fn prefetch_write(self, _s: &[u128]) {}
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
    /// The XOR of the two lowest bits of `a`, as the lowest bit of each block.
    ///
    /// The other bits are arbitrary.
    fn differ(self, a: Self::V) -> Self::V;
    /// Bits 0 ..= p of each block.
    ///
    /// p is the 7 lowest bits of the block's low half. The high half repeats the low half.
    fn prefix(self, a: Self::V) -> Self::V;
    /// The key of a middle round.
    fn round_key(self, key: u128) -> Self::RoundKey;
    /// A step to which the first round key was added, on its way into the middle rounds.
    fn begin(self, step: &Step<Self>) -> Self::State;
    /// One middle round.
    fn round(self, state: &mut Self::State, key: &Self::RoundKey);
    /// The last round, with a key for each block.
    fn end(self, state: Self::State, last: &Step<Self>) -> Step<Self>;
    /// Prefetches the line that holds `s[0]`, if there is one.
    fn prefetch<T>(self, s: &[T]);
    /// Prefetches every line of `s`, which starts at the beginning of a line.
    #[inline(always)]
    fn prefetch_all<T>(self, s: &[T]) {
        s.chunks(LINE_BYTES / size_of::<T>()).for_each(|line| self.prefetch(line));
    }
}

/// Vectors of one step.
pub(crate) type Step<L> = [<L as AesBlocks>::V; TOGETHER];
