//! The functions between wires, with the pieces that their fraction bits need.

use super::WiredFn;
use crate::{
    PfssError, SignedRange,
    functions::{
        Accuracy, FRACTION_BITS, RING_BITS, check_fraction_bits, check_parameter, gelu, neg_exp, reciprocal_octaves,
        rsqrt_of_quotient, silu,
    },
};

/// Octaves of [`WiredFn::rsqrt`], from 1/16 to 256.
const ROOT_OCTAVES: u32 = 12;
/// The most fraction bits of a spline's input beyond its results', for [`WiredFn::rsqrt`].
const MORE_BITS: u32 = 4;

impl WiredFn {
    /// The greatest input of [`reciprocal`](Self::reciprocal).
    pub const MAX_RECIPROCAL: u32 = 1 << 12;

    /// [`gelu`](crate::functions::gelu) with 8 to 20 fraction bits.
    ///
    /// Inputs satisfy `|x| < 2^12`, or `|x| < 2^(27 - f)` with `f > 15` fraction bits, and `n` is
    /// at least `f + 14`, or 29. The error is at most 0.62 units of the last place for 12 fraction
    /// bits, 0.75 for 16 and 1.1 for 20.
    ///
    /// # Errors
    /// [`PfssError::Suf`] for other fraction bits and for `n` above 64, [`PfssError::Range`] for a
    /// ring without room for the inputs.
    pub fn gelu(n: u32, fraction_bits: u32) -> Result<Self, PfssError> {
        Self::whole(gelu(Accuracy::recommended(fraction_bits))?, n)
    }

    /// [`silu`](crate::functions::silu) for the inputs and rings of [`gelu`](Self::gelu).
    ///
    /// The error is at most 0.83 units of the last place for 12 fraction bits, 1.16 for 16 and 1.97
    /// for 20.
    ///
    /// # Errors
    /// As [`gelu`](Self::gelu).
    pub fn silu(n: u32, fraction_bits: u32) -> Result<Self, PfssError> {
        Self::whole(silu(Accuracy::recommended(fraction_bits))?, n)
    }

    /// `exp(-t)` for `t >= 0`, by [`neg_exp`], with 8 to 20 fraction bits.
    ///
    /// Inputs are fixed-point integers below `2^(n-2)`, or any with `n = 64`; `n` is at least
    /// `f + 7`. The error is at most 1.33 units of the last place for 12 fraction bits, 0.6 for 16
    /// and 0.86 for 20.
    ///
    /// # Errors
    /// As [`gelu`](Self::gelu).
    pub fn neg_exp(n: u32, fraction_bits: u32) -> Result<Self, PfssError> {
        let function = neg_exp(Accuracy::recommended(fraction_bits))?;
        let inputs = match n {
            RING_BITS => function.inputs(),
            // the gap of the ring
            _ => SignedRange::of_bits(n.saturating_sub(1)).relu(),
        };
        // the function must have room to vanish
        inputs.holds(SignedRange::new(0, 16 << fraction_bits)?)?;
        Self::new(function, n, 0, inputs)
    }

    /// The reciprocal `1 / z` for `1 <= z <= max` with 8 to 20 fraction bits.
    ///
    /// `max` is at most [`MAX_RECIPROCAL`](Self::MAX_RECIPROCAL), and `n` is at least `f + 3 +
    /// log2(max)`, rounded up, or `f + 4`. The error is at most 0.55 units of the last place for 12
    /// fraction bits, 0.63 for 16 and 2.4 for 20.
    ///
    /// # Errors
    /// As [`gelu`](Self::gelu), and [`PfssError::Suf`] for `max` outside `1..=MAX_RECIPROCAL`.
    pub fn reciprocal(n: u32, fraction_bits: u32, max: u32) -> Result<Self, PfssError> {
        check_parameter("for the greatest input of a reciprocal (at least 1)", 1..=Self::MAX_RECIPROCAL, max)?;
        check_fraction_bits(fraction_bits)?;
        let accuracy = Accuracy::recommended_by_octave(fraction_bits);
        let count = max.next_power_of_two().trailing_zeros().max(1);
        Self::whole(reciprocal_octaves(accuracy, fraction_bits, count)?, n)
    }

    /// The reciprocal square root `1 / sqrt(x / divisor)` for `1/16 <= x / divisor <= 256`.
    ///
    /// There are `f` fraction bits, 8 to 20, and `n` is at least `f + 11 + log2(divisor)`, rounded
    /// up. The spline takes the quotient with `f + 4` fraction bits, at most 20, and drops the bits
    /// of `x` below. The error is at most 1.6 units of the last place up to `f = 16`, and at most
    /// 1.2 for divisors below 32, where no bit is dropped then. It is at most 2.6, 4.6, 8.6 and 17
    /// units for `f` of 17, 18, 19 and 20.
    ///
    /// # Errors
    /// As [`gelu`](Self::gelu), and [`PfssError::Suf`] for a divisor of 0 or above `2^31 - 1`.
    pub fn rsqrt(n: u32, fraction_bits: u32, divisor: u32) -> Result<Self, PfssError> {
        check_parameter("for the divisor (at least 1)", 1..=i32::MAX.cast_unsigned(), divisor)?;
        check_fraction_bits(fraction_bits)?;
        // The divisor is `quotient 2^exponent`, and the spline's input `floor(x / 2^dropped)` has more fraction bits.
        let exponent = divisor.ilog2();
        let more = exponent.min(MORE_BITS).min(FRACTION_BITS.end() - fraction_bits);
        let dropped = exponent - more;
        let quotient = f64::from(divisor) / f64::from(1u32 << exponent);
        let accuracy = Accuracy::recommended_by_octave(fraction_bits + more);
        let function = rsqrt_of_quotient(accuracy, fraction_bits, (quotient, dropped > 0), ROOT_OCTAVES)?;
        // Every input of the ring that has its upper bits in the spline's range.
        let taken = function.inputs();
        let inputs = SignedRange::new(taken.min() << dropped, ((taken.max() + 1) << dropped) - 1)?;
        Self::new(function, n, dropped, inputs)
    }
}
