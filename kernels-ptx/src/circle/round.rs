//! Four layers on sixteen words of one thread.
//!
//! # Safety
//! The twiddles of a [`Round`] belong to its domain, and its position and layers lie in the domain.

use core_types::field::{M31, Twiddle};

use crate::dev::unroll::unroll;

/// The words of a thread.
///
/// Word `j` stands at position `base + (j << s)` for some `s`, with bits `s..s + 4` of `base` zero.
pub(super) type Words = [M31; 16];

/// Place in shared memory of word `index` of a tile or a strip.
///
/// One word in 33 stays free, so that no arrangement of a tile meets a bank twice.
pub(super) const fn padded(index: u32) -> u32 {
    index + (index >> 5)
}

/// A run of up to four layers.
///
/// Local layer `k` is layer `layer + k` of the transform and pairs words that differ in bit `k`.
#[derive(Clone, Copy)]
pub(super) struct Round {
    /// The factors of the domain, `2^(log_domain - 1)`.
    pub(super) twiddles: *const Twiddle,
    /// Log of the number of points of the domain.
    pub(super) log_domain: u32,
    /// The transform's layer of local layer 0.
    pub(super) layer: u32,
    /// Position of the words in the domain without its lowest `layer` bits, as a number.
    pub(super) position: u32,
    /// Bits of a word's index that belong to its position in the domain.
    ///
    /// There are 15, or fewer for a small column.
    pub(super) mask: u32,
    /// First local layer to run.
    pub(super) first: u32,
    /// One past the last local layer to run.
    pub(super) end: u32,
}

impl Round {
    /// The factor of pair group `m` of local layer `k`, which is not layer 0 of the transform.
    #[inline(always)]
    unsafe fn twiddle(&self, k: u32, m: u32) -> Twiddle {
        let layer = self.layer + k;
        let offset = (1 << (self.log_domain - 1)) - (1 << (self.log_domain - layer));
        *self.twiddles.add((offset + (self.position >> (k + 1)) + (m & self.mask >> (k + 1))) as usize)
    }

    /// Runs the layers downwards: coefficients to values.
    #[inline(always)]
    pub(super) unsafe fn evaluate(&self, words: &mut Words) {
        self.evaluate_with(words, |k, m| self.twiddle(k, m));
    }

    /// Runs the layers upwards: values to coefficients.
    #[inline(always)]
    pub(super) unsafe fn interpolate(&self, words: &mut Words) {
        self.interpolate_with(words, |k, m| self.twiddle(k, m));
    }

    /// [`evaluate`](Self::evaluate) where local layer 0 is layer 0 of the transform.
    #[inline(always)]
    pub(super) unsafe fn evaluate_lowest(&self, words: &mut Words) {
        let low = self.lowest();
        self.evaluate_with(words, |k, m| if k < 2 { low.twiddle(k, m) } else { self.twiddle(k, m) });
    }

    /// [`interpolate`](Self::interpolate) where local layer 0 is layer 0 of the transform.
    #[inline(always)]
    pub(super) unsafe fn interpolate_lowest(&self, words: &mut Words) {
        let low = self.lowest();
        self.interpolate_with(words, |k, m| if k < 2 { low.twiddle(k, m) } else { self.twiddle(k, m) });
    }

    #[inline(always)]
    unsafe fn lowest(&self) -> Lowest {
        let group = self.twiddles.add((self.position >> 2) as usize);
        let entry = |e: u32| *group.add((e & self.mask >> 2) as usize);
        Lowest([entry(0), entry(1), entry(2), entry(3)])
    }

    #[inline(always)]
    fn evaluate_with(&self, words: &mut Words, twiddle: impl Fn(u32, u32) -> Twiddle) {
        unroll!(DOWN in 0..4 => {
            const K: u32 = 3 - DOWN;
            if self.first <= K && K < self.end {
                unroll!(PAIR in 0..8 => {
                    const P: Pair = Pair::new(K, PAIR);
                    (words[P.a], words[P.b]) = words[P.a].butterfly(words[P.b], twiddle(K, P.group));
                });
            }
        });
    }

    #[inline(always)]
    fn interpolate_with(&self, words: &mut Words, twiddle: impl Fn(u32, u32) -> Twiddle) {
        unroll!(K in 0..4 => {
            if self.first <= K && K < self.end {
                unroll!(PAIR in 0..8 => {
                    const P: Pair = Pair::new(K, PAIR);
                    (words[P.a], words[P.b]) = words[P.a].inverse_butterfly(words[P.b], twiddle(K, P.group));
                });
            }
        });
    }
}

/// The four entries of `T_0` that serve layers 0 and 1 of sixteen consecutive positions.
struct Lowest([Twiddle; 4]);

impl Lowest {
    /// Entries `x0, x1` give the factors `x1, -x1, -x0, x0` in layer 0.
    #[inline(always)]
    fn twiddle(&self, k: u32, m: u32) -> Twiddle {
        if k == 1 {
            return self.0[m as usize];
        }
        let pair = (m / 4 * 2) as usize;
        match m % 4 {
            0 => self.0[pair + 1],
            1 => self.0[pair + 1].negated(),
            2 => self.0[pair].negated(),
            _ => self.0[pair],
        }
    }
}

/// Two words that differ in one bit.
struct Pair {
    a: usize,
    b: usize,
    /// Pairs of one group share their factor.
    group: u32,
}

impl Pair {
    /// Pair `number` of eight that differ in bit `k`.
    const fn new(k: u32, number: u32) -> Self {
        let group = number >> k;
        let a = (group << (k + 1) | number & ((1 << k) - 1)) as usize;
        Self { a, b: a | 1 << k, group }
    }
}
