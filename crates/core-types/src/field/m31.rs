//! The field of 2^31 - 1 elements, on canonical words.

use core::{
    fmt,
    ops::{Add, Mul, Neg, Sub},
};

use bytemuck::{CheckedBitPattern, NoUninit, Zeroable};

use super::{Field, assign_ops, wide::widening_mul};

/// The Mersenne prime 2^31 - 1.
pub const P: u32 = 0x7fff_ffff;

/// An element of GF(2^31 - 1). Invariant: the word is canonical, `0 <= word < P`.
///
/// ```
/// use core_types::field::{M31, P};
///
/// let two = M31::from_u32(2);
/// assert_eq!(two.inverse(), M31::from_canonical(1 << 30));
/// assert_eq!(M31::from_canonical(P), None);
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct M31(u32);

impl M31 {
    /// Zero.
    pub const ZERO: Self = Self(0);
    /// One.
    pub const ONE: Self = Self(1);

    /// The element with canonical word `word`, or `None` for [`P`] and above.
    ///
    /// Each value has one encoding.
    #[inline]
    #[must_use]
    pub const fn from_canonical(word: u32) -> Option<Self> {
        if word < P { Some(Self(word)) } else { None }
    }

    /// `word` modulo P.
    #[inline]
    #[must_use]
    pub const fn from_u32(word: u32) -> Self {
        Self::reduced_once((word & P) + (word >> 31)) // at most P + 1
    }

    /// `word` modulo P.
    #[inline]
    #[must_use]
    pub const fn from_u64(word: u64) -> Self {
        let once = (word & P as u64) + (word >> 31); // < 2^31 + 2^33
        let twice = (once & P as u64) + (once >> 31); // at most P + 5
        Self::reduced_once(twice as u32)
    }

    /// `word` modulo P for `word < 2 P`.
    #[inline]
    pub(super) const fn reduced_once(word: u32) -> Self {
        Self(min(word, word.wrapping_sub(P))) // below P the subtraction wraps above the word
    }

    /// The canonical word, below [`P`].
    #[inline]
    #[must_use]
    pub const fn word(self) -> u32 {
        self.0
    }

    /// `P - word`, at most P.
    ///
    /// It stands for `-self` as a factor or term of sums that are reduced later.
    #[inline]
    pub(super) const fn opposite(self) -> u32 {
        P - self.0
    }

    /// Whether this is zero.
    #[inline]
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// `self + rhs`.
    #[inline]
    #[must_use]
    pub const fn plus(self, rhs: Self) -> Self {
        Self::reduced_once(self.0 + rhs.0) // both < 2^31, so no wrap
    }

    /// `self - rhs`.
    #[inline]
    #[must_use]
    pub const fn minus(self, rhs: Self) -> Self {
        let difference = self.0.wrapping_sub(rhs.0);
        Self(min(difference, difference.wrapping_add(P))) // a negative difference wraps to at least 2^32 - P + 1 > P
    }

    /// `self * rhs`.
    #[inline]
    #[must_use]
    pub const fn times(self, rhs: Self) -> Self {
        // The product's lowest 31 bits and the others: at most (P - 1)^2, so their sum is below 2 P.
        let (low, high) = if cfg!(target_arch = "nvptx64") {
            let (low, high) = widening_mul(self.0, 2 * rhs.0); // a doubled factor splits it at a word
            (low >> 1, high)
        } else {
            let wide = self.0 as u64 * rhs.0 as u64;
            ((wide & P as u64) as u32, (wide >> 31) as u32)
        };
        Self::reduced_once(low + high)
    }

    /// `self * 2^k`: multiplying by two rotates the 31-bit word left by one.
    #[inline]
    #[must_use]
    pub const fn times_power_of_two(self, k: u32) -> Self {
        let k = k % 31;
        Self(((self.0 << k) & P) | (self.0 >> (31 - k))) // a rotation of a canonical word is never all ones
    }

    /// `self / 2^k`.
    #[inline]
    #[must_use]
    pub const fn div_power_of_two(self, k: u32) -> Self {
        self.times_power_of_two(31 - k % 31)
    }

    /// `self^exponent`, with `0^0 = 1`.
    #[must_use]
    pub const fn pow(self, mut exponent: u32) -> Self {
        let mut base = self;
        let mut result = Self::ONE;
        while exponent > 0 {
            if exponent & 1 == 1 {
                result = result.times(base);
            }
            base = base.times(base);
            exponent >>= 1;
        }
        result
    }

    /// The inverse, or `None` for zero.
    #[inline]
    #[must_use]
    pub const fn inverse(self) -> Option<Self> {
        if self.0 == 0 { None } else { Some(self.power_of_p_minus_two()) }
    }

    /// `self^(P - 2)`: the inverse, or zero for zero.
    #[inline]
    const fn power_of_p_minus_two(self) -> Self {
        // P - 2 = 2^31 - 3 is 29 one bits, then 01. run_k is self^(2^k - 1).
        let run_2 = self.squared_times(1, self);
        let run_4 = run_2.squared_times(2, run_2);
        let run_8 = run_4.squared_times(4, run_4);
        let run_16 = run_8.squared_times(8, run_8);
        let run_24 = run_16.squared_times(8, run_8);
        let run_28 = run_24.squared_times(4, run_4);
        let run_29 = run_28.squared_times(1, self);
        run_29.squared_times(2, self)
    }

    /// `self^(2^squarings) * factor`.
    #[inline]
    const fn squared_times(self, squarings: u32, factor: Self) -> Self {
        let mut power = self;
        let mut i = 0;
        while i < squarings {
            power = power.times(power);
            i += 1;
        }
        power.times(factor)
    }
}

#[inline]
const fn min(a: u32, b: u32) -> u32 {
    if a < b { a } else { b }
}

impl Add for M31 {
    type Output = Self;
    #[inline]
    fn add(self, rhs: Self) -> Self {
        self.plus(rhs)
    }
}

impl Sub for M31 {
    type Output = Self;
    #[inline]
    fn sub(self, rhs: Self) -> Self {
        self.minus(rhs)
    }
}

impl Mul for M31 {
    type Output = Self;
    #[inline]
    fn mul(self, rhs: Self) -> Self {
        self.times(rhs)
    }
}

impl Neg for M31 {
    type Output = Self;
    #[inline]
    fn neg(self) -> Self {
        Self::ZERO.minus(self) // P - self would turn 0 into the non-canonical P
    }
}

assign_ops!(M31);

impl Field for M31 {
    const ZERO: Self = Self::ZERO;
    const ONE: Self = Self::ONE;

    #[inline]
    fn double(self) -> Self {
        self.plus(self)
    }

    #[inline]
    fn inverse(self) -> Option<Self> {
        Self::inverse(self)
    }
}

impl fmt::Debug for M31 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Display for M31 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

// SAFETY: zero is canonical.
unsafe impl Zeroable for M31 {}

// SAFETY: one transparent u32, no padding.
unsafe impl NoUninit for M31 {}

// SAFETY: `Bits` has the layout of the transparent word, and every word that passes is canonical.
unsafe impl CheckedBitPattern for M31 {
    type Bits = u32;

    #[inline]
    fn is_valid_bit_pattern(bits: &u32) -> bool {
        *bits < P
    }
}
