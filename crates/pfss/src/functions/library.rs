//! The elementary functions: their cuts, tails and accuracies.

use super::{FixedFn, RING_BITS, Spline, Tail, check_fraction_bits, check_parameter, special::normal_cdf};
use crate::{PfssError, SignedRange};

/// Fraction bits unless stated otherwise.
const USUAL_BITS: u32 = 12;
/// Bits after the point of a leading coefficient.
const LEADING_BITS: u32 = 14;

/// How fine a spline is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accuracy {
    /// Degree of the pieces, 1 to 3.
    pub degree: u32,
    /// The number of pieces, in total or per octave.
    ///
    /// For functions on a fixed interval it is the total; for [`reciprocal`] and [`rsqrt`] it is
    /// per octave. A power of two, at least 2 for functions that are fitted on both sides of zero.
    pub pieces: u32,
    /// Fraction bits of the input, 8 to 20.
    ///
    /// The results of [`gelu`], [`silu`] and [`neg_exp`] have the same number.
    pub fraction_bits: u32,
}

impl Accuracy {
    /// Cubic pieces, 16 of them: the recommended choice for [`gelu`], [`silu`] and [`neg_exp`].
    pub const CUBIC_16: Self = Self::new(3, 16);
    /// Quadratic pieces, 32 of them: an alternative for [`gelu`] with smaller keys.
    pub const QUADRATIC_32: Self = Self::new(2, 32);
    /// Lines, two to an octave: for [`reciprocal`] and [`rsqrt`] as the start of Newton's method.
    pub const LINEAR_HALF_OCTAVE: Self = Self::new(1, 2);
    /// Cubic pieces, four to an octave.
    ///
    /// The recommended choice for [`reciprocal`] and [`rsqrt`]: it needs no step of Newton's
    /// method.
    pub const CUBIC_QUARTER_OCTAVE: Self = Self::new(3, 4);

    /// `pieces` pieces of degree `degree`, for 12 fraction bits.
    #[must_use]
    pub const fn new(degree: u32, pieces: u32) -> Self {
        Self { degree, pieces, fraction_bits: USUAL_BITS }
    }

    /// The same pieces for another number of fraction bits, 8 to 20.
    ///
    /// Every piece is a polynomial in the whole input, so that beyond 13 bits the ring leaves
    /// little room for cubic terms. Errors in units of the last place for `f` fraction bits, with
    /// pieces of the given degree for [`gelu`], [`silu`] and [`neg_exp`], and cubic pieces per
    /// octave for [`reciprocal`] and [`rsqrt`]:
    ///
    /// | `f` | pieces | `gelu` | `silu` | `neg_exp` | per octave | `reciprocal` | `rsqrt` |
    /// |---|---|---|---|---|---|---|---|
    /// | 8 | 16 cubic | 0.51 | 0.52 | 0.54 | 4 | 0.51 | 0.51 |
    /// | 16 | 64 quadratic | 0.75 | 1.16 | 0.60 | 8 | 0.63 | 0.67 |
    /// | 20 | 128 quadratic | 1.10 | 1.97 | 0.86 | 16 | 2.4 | 7.6 |
    ///
    /// ```
    /// use pfss::functions::{Accuracy, gelu};
    ///
    /// let gelu = gelu(Accuracy::new(2, 64).with_fraction_bits(16))?;
    /// assert!((gelu.eval(3 << 15) as f64 / 65536.0 - 1.399789).abs() < 0.75 / 65536.0);
    /// # Ok::<(), pfss::PfssError>(())
    /// ```
    #[must_use]
    pub const fn with_fraction_bits(self, fraction_bits: u32) -> Self {
        Self { fraction_bits, ..self }
    }

    /// The recommended pieces for [`gelu`], [`silu`] and [`neg_exp`].
    ///
    /// Their errors are in the table of [`with_fraction_bits`](Self::with_fraction_bits).
    #[must_use]
    pub const fn recommended(fraction_bits: u32) -> Self {
        let pieces = match fraction_bits {
            0..=12 => Self::CUBIC_16,
            13..=16 => Self::new(2, 64),
            _ => Self::new(2, 128),
        };
        pieces.with_fraction_bits(fraction_bits)
    }

    /// The recommended pieces for [`reciprocal`] and [`rsqrt`].
    ///
    /// Their errors are in the table of [`with_fraction_bits`](Self::with_fraction_bits).
    #[must_use]
    pub const fn recommended_by_octave(fraction_bits: u32) -> Self {
        let pieces = match fraction_bits {
            0..=13 => Self::CUBIC_QUARTER_OCTAVE,
            14..=16 => Self::new(3, 8),
            _ => Self::new(3, 16),
        };
        pieces.with_fraction_bits(fraction_bits)
    }

    /// 1.0 in fixed point.
    const fn one(self) -> i64 {
        1 << self.fraction_bits
    }

    /// The fraction bits, at least 12: they decide how far functions with tails are fitted.
    fn tail_bits(self) -> f64 {
        self.fraction_bits.max(USUAL_BITS).into()
    }

    /// `bend` for [`graded`] pieces with more than 12 fraction bits; pieces are equal with fewer.
    fn bend(self, bend: f64) -> f64 {
        if self.fraction_bits > USUAL_BITS { bend } else { 0.0 }
    }

    fn check(self, least: u32) -> Result<(), PfssError> {
        check_parameter("degrees (at least 1)", 1..=3, self.degree)?;
        let least = if self.pieces.is_power_of_two() { least } else { u32::MAX }; // which refuses all others
        check_parameter("pieces (a power of two)", least..=128, self.pieces)?;
        Ok(check_fraction_bits(self.fraction_bits)?)
    }
}

/// GeLU, `x Φ(x)`, for `|x| < 2^12`, or `|x| < 2^(27 - f)` with `f > 15` fraction bits.
///
/// It is fitted on `-4 <= x < 4`, with more than 12 fraction bits on up to 5 1/3, and is 0 below
/// and `x` above. With [`Accuracy::CUBIC_16`] the error is at most 0.62 units in the last place,
/// with [`Accuracy::QUADRATIC_32`] 0.76.
///
/// # Errors
/// [`PfssError::Suf`] for an accuracy outside the definition, [`PfssError::Range`] for pieces too
/// wide for the ring.
pub fn gelu(accuracy: Accuracy) -> Result<FixedFn, PfssError> {
    let end = 2.0 + accuracy.tail_bits() / 6.0;
    two_sided(accuracy, (end, accuracy.bend(0.65)), &|x| x * normal_cdf(x))
}

/// SiLU, `x / (1 + exp(-x))`, for the same inputs as [`gelu`].
///
/// It is fitted on `-12 <= x < 12`, with more than 12 fraction bits on up to 18, and is 0 below and
/// `x` above. Pieces are narrower near 0. With [`Accuracy::CUBIC_16`] the error is at most 0.83
/// units of the last place everywhere.
///
/// # Errors
/// As [`gelu`].
pub fn silu(accuracy: Accuracy) -> Result<FixedFn, PfssError> {
    let end = 3.0 + accuracy.tail_bits() * 0.75;
    two_sided(accuracy, (end, 2.0), &|x| x / (1.0 + (-x).exp()))
}

/// `exp(-t)` for `t >= 0`: fitted below 16 and 0 from there on.
///
/// With [`Accuracy::CUBIC_16`] the error is at most 1.33 units of the last place.
///
/// # Errors
/// As [`gelu`].
pub fn neg_exp(accuracy: Accuracy) -> Result<FixedFn, PfssError> {
    accuracy.check(1)?;
    exponential(accuracy, accuracy.fraction_bits, accuracy.bend(3.0), LEADING_BITS)
}

/// `exp(-t)` for the exponentials of a softmax, with 12 fraction bits in `t`.
///
/// Up to 1,023 elements count as much together as the greatest one as long as `t < 7`, so the
/// error has to be small relative to the value there: the pieces are nearly equal, and
/// coefficients have 6 more bits than in [`neg_exp`].
pub(crate) fn softmax_exp(output_bits: u32) -> Result<FixedFn, PfssError> {
    exponential(Accuracy::CUBIC_16, output_bits, 0.4, LEADING_BITS + 6)
}

fn exponential(accuracy: Accuracy, output_bits: u32, bend: f64, leading_bits: u32) -> Result<FixedFn, PfssError> {
    let cuts = graded(16 * accuracy.one(), accuracy.pieces, bend);
    let inputs = SignedRange::new(0, i64::MAX)?;
    Spline { leading_bits, ..spline(accuracy, output_bits, &cuts, inputs, &|t| (-t).exp()) }.build()
}

/// The reciprocal `1 / z` for `1 <= z <= 1024`.
///
/// The range extends a little beyond both ends (1/256 of each). There are `output_bits` fraction
/// bits in the result.
///
/// With 12 fraction bits in both and [`Accuracy::LINEAR_HALF_OCTAVE`] the error is at most 53 units
/// of `2^-12`; a step of Newton's method squares the relative error. With
/// [`Accuracy::CUBIC_QUARTER_OCTAVE`] it is at most 0.55 units.
///
/// # Errors
/// [`PfssError::Suf`] for an accuracy outside the definition or more pieces than a descriptor has,
/// [`PfssError::Range`] if `output_bits` is too large to leave room.
pub fn reciprocal(accuracy: Accuracy, output_bits: u32) -> Result<FixedFn, PfssError> {
    accuracy.check(1)?;
    reciprocal_octaves(accuracy, output_bits, 10)
}

/// [`reciprocal`] on `count` octaves, for `1 <= z <= 2^count`.
///
/// The accuracy is not checked: its fraction bits may be above 20.
pub(crate) fn reciprocal_octaves(accuracy: Accuracy, output_bits: u32, count: u32) -> Result<FixedFn, PfssError> {
    octaves(accuracy, output_bits, (accuracy.one(), count), &|z| 1.0 / z)
}

/// The reciprocal square root `1 / sqrt(z)` for `1/16 <= z <= 256`.
///
/// The range extends a little beyond both ends (1/256 of each, rounded down: nothing below 1/16
/// with fewer than 12 fraction bits). There are `output_bits` fraction bits in the result.
///
/// With 12 fraction bits in both and [`Accuracy::LINEAR_HALF_OCTAVE`] the error is at most 85 units
/// of `2^-12`, with [`Accuracy::CUBIC_QUARTER_OCTAVE`] 0.56.
///
/// # Errors
/// As [`reciprocal`].
pub fn rsqrt(accuracy: Accuracy, output_bits: u32) -> Result<FixedFn, PfssError> {
    rsqrt_octaves(accuracy, output_bits, 12)
}

/// [`rsqrt`] on `count` octaves, for `1/16 <= z <= 2^(count - 4)`.
///
/// The range extends beyond both ends as in [`rsqrt`]. With 12 fraction bits and
/// [`Accuracy::CUBIC_QUARTER_OCTAVE`] the error is at most 0.75 units.
///
/// # Errors
/// As [`rsqrt`], and [`PfssError::Suf`] beyond 36 octaves.
pub fn rsqrt_octaves(accuracy: Accuracy, output_bits: u32, count: u32) -> Result<FixedFn, PfssError> {
    check_parameter("octaves (at least 1)", 1..=36, count)?;
    accuracy.check(1)?;
    octaves(accuracy, output_bits, (accuracy.one() / 16, count), &|z| 1.0 / z.sqrt())
}

/// `1 / sqrt(z / quotient)` on `count` octaves, for `1/16 <= z / quotient <= 2^(count - 4)`.
///
/// The quotient is at least 1 and below 2. If `z` was rounded down, its integer stands for the
/// middle of the values that it may have had. The accuracy is not checked.
pub(crate) fn rsqrt_of_quotient(
    accuracy: Accuracy,
    output_bits: u32,
    (quotient, rounded): (f64, bool),
    count: u32,
) -> Result<FixedFn, PfssError> {
    let one = accuracy.one() as f64;
    let middle = if rounded { 0.5 / one } else { 0.0 };
    let low = (quotient * one / 16.0) as i64;
    octaves(accuracy, output_bits, (low, count), &|z| (quotient / (z + middle)).sqrt())
}

/// A function that is 0 far below zero and `x` far above.
///
/// It has [`graded`] pieces up to `end` on either side.
fn two_sided(accuracy: Accuracy, (end, bend): (f64, f64), function: &dyn Fn(f64) -> f64) -> Result<FixedFn, PfssError> {
    accuracy.check(2)?;
    let side = graded((end * accuracy.one() as f64) as i64, accuracy.pieces / 2, bend);
    let cuts: Vec<i64> = side[1..].iter().rev().map(|cut| -cut).chain(side.iter().copied()).collect();
    // 2^12, or as far as the slope of the tail leaves room for coefficients
    let far = 1 << (accuracy.fraction_bits + 12).min(27);
    let inputs = SignedRange::new(-far, far - 1)?;
    Spline { above: Tail::Identity, ..spline(accuracy, accuracy.fraction_bits, &cuts, inputs, function) }.build()
}

/// A function on `count` octaves from `low` on, each cut geometrically.
fn octaves(
    accuracy: Accuracy,
    output_bits: u32,
    (low, count): (i64, u32),
    function: &dyn Fn(f64) -> f64,
) -> Result<FixedFn, PfssError> {
    let (mut cuts, high) = (Vec::new(), low << count);
    let mut octave = low;
    while octave < high {
        let part = |k: u32| (octave as f64 * (f64::from(k) / f64::from(accuracy.pieces)).exp2()).round() as i64;
        cuts.extend((0..accuracy.pieces).map(part));
        octave *= 2;
    }
    cuts.push(high + 1);
    // the first octaves have few integers
    cuts.dedup();
    // sums of rounded numbers may miss the ends by a little
    let margins = (low / 256, high / 256);
    let inputs = SignedRange::new(low - margins.0, high + margins.1)?;
    Spline { margins, ..spline(accuracy, output_bits, &cuts, inputs, function) }.build()
}

/// A function on pieces between `cuts`, 0 elsewhere.
fn spline<'a>(
    accuracy: Accuracy,
    output_bits: u32,
    cuts: &'a [i64],
    inputs: SignedRange,
    function: &'a dyn Fn(f64) -> f64,
) -> Spline<'a> {
    Spline {
        n: RING_BITS, // the scale of cubic pieces needs them all
        input_bits: accuracy.fraction_bits,
        output_bits,
        degree: accuracy.degree,
        leading_bits: LEADING_BITS,
        cuts,
        margins: (0, 0),
        above: Tail::Zero,
        inputs,
        function,
    }
}

/// The cuts of `pieces` pieces of `0..end`, the last `1 + 5 bend` times as wide as the first.
///
/// The cut at the fraction `u` of all pieces is `end u (1 + bend u^4) / (1 + bend)`: pieces are
/// about equal in the inner half and wider where a function is nearly a line.
fn graded(end: i64, pieces: u32, bend: f64) -> Vec<i64> {
    let cut = |k: u32| {
        let u = f64::from(k) / f64::from(pieces);
        (end as f64 * u * (1.0 + bend * u * u * u * u) / (1.0 + bend)).round() as i64
    };
    (0..=pieces).map(cut).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suf::SufError;

    const F: u32 = USUAL_BITS;
    const ONE: i64 = 1 << F;
    /// The end of the inputs of functions with tails.
    const FAR: i64 = ONE << 12;

    /// The greatest error in units of 2^-bits over inputs `low..=high` at a step.
    ///
    /// Inputs and results have `bits` fraction bits.
    fn error(f: &FixedFn, bits: u32, (low, high): (i64, i64), step: usize, function: impl Fn(f64) -> f64) -> f64 {
        (low..=high).step_by(step).fold(0.0, |worst, x| {
            let one = f64::from(1u32 << bits);
            let exact = function(x as f64 / one) * one;
            f64::max(worst, (f.eval(x) as f64 - exact).abs())
        })
    }

    /// Checks bounds on the errors over every input of the range.
    ///
    /// The bounds are for degrees 1, 2 and 3 (rows) with 8, 16, 32 and 64 pieces.
    fn hold(
        name: &str,
        build: fn(Accuracy) -> Result<FixedFn, PfssError>,
        (low, high): (i64, i64),
        bar: [[f64; 4]; 3],
        function: fn(f64) -> f64,
    ) {
        for (degree, row) in (1..).zip(bar) {
            for (pieces, bound) in [8, 16, 32, 64].into_iter().zip(row) {
                let f = build(Accuracy::new(degree, pieces)).unwrap();
                let got = error(&f, F, (low, high - 1), 1, function);
                assert!(got <= bound, "{name}, degree {degree}, {pieces} pieces: {got} above {bound}");
            }
        }
    }

    #[test]
    fn splines_hold_the_error_table_on_every_input() {
        let bar = [[166.0, 49.0, 13.4, 4.0], [14.9, 3.0, 1.23, 1.03], [2.2, 1.11, 1.01, 1.0]];
        hold("gelu", gelu, (-4 * ONE, 4 * ONE), bar, |x| x * normal_cdf(x));
        let bar = [[114.0, 31.6, 8.5, 2.5], [15.8, 3.3, 0.86, 0.56], [5.4, 0.83, 0.58, 0.52]];
        hold("silu", silu, (-12 * ONE, 12 * ONE), bar, |x| x / (1.0 + (-x).exp()));
        let bar = [[486.0, 173.0, 53.0, 15.0], [76.0, 15.0, 3.0, 1.3], [10.0, 1.8, 1.06, 1.0]];
        hold("neg exp", neg_exp, (0, 16 * ONE), bar, |t| (-t).exp());
    }

    #[test]
    fn octave_splines_hold_the_error_table() {
        let bar = [[206.0, 57.0, 15.0], [42.0, 13.6, 4.3], [58.0, 12.1, 1.7]];
        let rsqrt_bar = [[355.0, 91.0, 23.0], [106.0, 25.0, 7.5], [86.0, 12.3, 1.7]];
        for (degree, (row, rsqrt_row)) in (1..).zip(bar.into_iter().zip(rsqrt_bar)) {
            for (pieces, (bound, rsqrt_bound)) in [1, 2, 4].into_iter().zip(row.into_iter().zip(rsqrt_row)) {
                let accuracy = Accuracy::new(degree, pieces);
                // every input for the choices recommended
                let whole = [Accuracy::LINEAR_HALF_OCTAVE, Accuracy::CUBIC_QUARTER_OCTAVE].contains(&accuracy);
                let step = if whole { 1 } else { 13 };
                let f = reciprocal(accuracy, F).unwrap();
                let got = error(&f, F, (ONE, 1024 * ONE), step, |z| 1.0 / z);
                assert!(got <= bound, "reciprocal, degree {degree}, {pieces} per octave: {got} above {bound}");
                let f = rsqrt(accuracy, F).unwrap();
                let got = error(&f, F, (ONE / 16, 256 * ONE), step, |z| 1.0 / z.sqrt());
                assert!(got <= rsqrt_bound, "rsqrt, degree {degree}, {pieces} per octave: {got} above {rsqrt_bound}");
            }
        }
    }

    #[test]
    fn wide_reciprocal_roots_hold_their_bound() {
        for count in [1, 20, 32, 36] {
            let f = rsqrt_octaves(Accuracy::CUBIC_QUARTER_OCTAVE, F, count).unwrap();
            for octave in 0..count {
                let low = (ONE / 16) << octave;
                let step = (low / 4096).max(1) as usize;
                let got = error(&f, F, (low, 2 * low), step, |z| 1.0 / z.sqrt());
                assert!(got <= 0.75, "octave {octave} of {count}: {got}");
            }
        }
        // far out cubic terms vanish, and the cubes of distances do not fit 128 bits
        let f = rsqrt_octaves(Accuracy::CUBIC_QUARTER_OCTAVE.with_fraction_bits(16), 16, 36).unwrap();
        for octave in 0..36 {
            let low = 4096i64 << octave;
            let got = error(&f, 16, (low, 2 * low), (low / 4096) as usize, |z| 1.0 / z.sqrt());
            assert!(got <= 3.0, "octave {octave} with 16 bits: {got}");
        }
        for count in [0, 37, u32::MAX] {
            let refused = rsqrt_octaves(Accuracy::CUBIC_QUARTER_OCTAVE, F, count);
            assert!(matches!(refused, Err(PfssError::Suf(SufError::Cap { .. }))));
        }
    }

    #[test]
    fn the_recommended_choices_are_as_exact_as_documented() {
        let cubic = Accuracy::CUBIC_16;
        let gelu_of = |x: f64| x * normal_cdf(x);
        let range = (-4 * ONE, 4 * ONE - 1);
        assert!(error(&gelu(cubic).unwrap(), F, range, 1, gelu_of) <= 0.62);
        assert!(error(&gelu(Accuracy::QUADRATIC_32).unwrap(), F, range, 1, gelu_of) <= 0.76);
        let silu_of = |x: f64| x / (1.0 + (-x).exp());
        assert!(error(&silu(cubic).unwrap(), F, (-30 * ONE, 30 * ONE), 1, silu_of) <= 0.83);
        let neg_exp = neg_exp(cubic).unwrap();
        assert!(error(&neg_exp, F, (0, 20 * ONE), 1, |t| (-t).exp()) <= 1.33);
        assert!((0..20 * ONE).all(|t| neg_exp.eval(t) >= 0));
        for (accuracy, of_reciprocal, of_rsqrt) in
            [(Accuracy::LINEAR_HALF_OCTAVE, 53.0, 85.0), (Accuracy::CUBIC_QUARTER_OCTAVE, 0.55, 0.56)]
        {
            let f = reciprocal(accuracy, F).unwrap();
            assert!(error(&f, F, (ONE, 1024 * ONE), 1, |z| 1.0 / z) <= of_reciprocal);
            let f = rsqrt(accuracy, F).unwrap();
            assert!(error(&f, F, (ONE / 16, 256 * ONE), 1, |z| 1.0 / z.sqrt()) <= of_rsqrt);
        }
    }

    /// The bounds of `Accuracy::with_fraction_bits` among them.
    #[test]
    fn functions_of_8_to_20_fraction_bits_hold_their_bounds() {
        // pieces and errors of GeLU, SiLU and exp(-t), cubic pieces per octave and errors of the reciprocals
        let table = [
            (8, (3, 16), [0.51, 0.52, 0.54], 4, [0.51, 0.51]),
            (10, (3, 16), [0.55, 0.60, 0.72], 4, [0.53, 0.53]),
            (13, (2, 64), [0.55, 0.61, 0.53], 4, [0.61, 0.63]),
            (16, (2, 64), [0.75, 1.16, 0.60], 8, [0.63, 0.67]),
            (18, (2, 128), [0.64, 0.98, 0.61], 16, [0.67, 0.71]),
            (20, (2, 128), [1.10, 1.97, 0.86], 16, [2.4, 7.6]),
        ];
        for (bits, (degree, pieces), of_pieces, per_octave, of_octaves) in table {
            let one = 1i64 << bits;
            let step = (one / 4096).max(1) as usize;
            let accuracy = Accuracy::new(degree, pieces).with_fraction_bits(bits);
            assert_eq!(Accuracy::recommended(bits), accuracy);
            let [gelu, silu, neg_exp] = [gelu, silu, neg_exp].map(|function| function(accuracy).unwrap());
            let got = [
                error(&gelu, bits, (-9 * one, 9 * one), step, |x| x * normal_cdf(x)),
                error(&silu, bits, (-25 * one, 25 * one), step, |x| x / (1.0 + (-x).exp())),
                error(&neg_exp, bits, (0, 18 * one), step, |t| (-t).exp()),
            ];
            assert!(got.iter().zip(of_pieces).all(|(&got, bound)| got <= bound), "{bits} bits: {got:?}");
            let accuracy = Accuracy::new(3, per_octave).with_fraction_bits(bits);
            assert_eq!(Accuracy::recommended_by_octave(bits), accuracy);
            let [reciprocal, rsqrt] = [reciprocal, rsqrt].map(|function| function(accuracy, bits).unwrap());
            let by_octaves = |f: &FixedFn, low: i64, count: u32, function: fn(f64) -> f64| {
                let octave = |k: u32| (low << k, low << (k + 1));
                let step = |low: i64| (low / 4096).max(1) as usize;
                (0..count).map(|k| error(f, bits, octave(k), step(low << k), function)).fold(0.0, f64::max)
            };
            let got =
                [by_octaves(&reciprocal, one, 10, |z| 1.0 / z), by_octaves(&rsqrt, one / 16, 12, |z| 1.0 / z.sqrt())];
            assert!(got.iter().zip(of_octaves).all(|(&got, bound)| got <= bound), "{bits} bits: {got:?}");
        }
    }

    #[test]
    fn exponentials_of_a_softmax_are_exact_relative_to_their_value() {
        let f = softmax_exp(24).unwrap();
        for t in 0..17 * ONE {
            let (got, exact) = (f.eval(t), (-t as f64 / ONE as f64).exp() * f64::from(1u32 << 24));
            assert!(got >= 0 && (got as f64 - exact).abs() <= 1010.0, "{t}: {got} for {exact}");
            // beyond, all of 1,023 elements count less than the greatest
            assert!(t >= 7 * ONE || (got as f64 - exact).abs() <= 3.8e-4 * exact, "{t}: {got} for {exact}");
        }
    }

    #[test]
    fn tails_are_exact_and_ends_are_proven() {
        for build in [gelu, silu] {
            let f = build(Accuracy::CUBIC_16).unwrap();
            for x in [12 * ONE, 12 * ONE + 1, FAR / 3, FAR - 1] {
                assert_eq!((f.eval(x), f.eval(-x - 1)), (x, 0));
            }
            assert!(f.outputs_within(f.inputs()).unwrap().gap_cert(RING_BITS).is_ok());
        }
        let f = neg_exp(Accuracy::CUBIC_16).unwrap();
        assert!([16 * ONE, 16 * ONE + 1, i64::MAX].into_iter().all(|t| f.eval(t) == 0));
        let f = reciprocal(Accuracy::CUBIC_QUARTER_OCTAVE, F).unwrap();
        assert_eq!((f.eval(1024 * ONE), f.eval(1028 * ONE), f.eval(ONE - 16)), (4, 4, ONE + 16));
        assert_eq!([f.eval(1028 * ONE + 1), f.eval(ONE - 17), f.eval(-ONE)], [0; 3]);
    }

    #[test]
    fn accuracies_outside_the_definition_are_refused() {
        let cap = |what, max, got| Err(PfssError::Suf(SufError::Cap { what, max, got }));
        let refused = [(0, 16), (4, 16), (2, 0), (2, 3), (2, 256), (2, 1)].map(|(degree, pieces): (u32, u32)| {
            let of_degree = cap("degrees (at least 1)", 3, degree as usize);
            let of_pieces = cap("pieces (a power of two)", 128, pieces as usize);
            (Accuracy::new(degree, pieces), if degree == 2 { of_pieces } else { of_degree })
        });
        for (accuracy, expected) in &refused {
            assert_eq!(gelu(*accuracy).map(drop), *expected);
        }
        for (accuracy, expected) in &refused[..5] {
            assert_eq!(neg_exp(*accuracy).map(drop), *expected);
        }
        assert!(neg_exp(Accuracy::new(2, 1)).is_ok());
        for bits in [0, 7, 21, u32::MAX] {
            let accuracy = Accuracy::CUBIC_16.with_fraction_bits(bits);
            let functions = [gelu(accuracy), silu(accuracy), neg_exp(accuracy), reciprocal(accuracy, 12)];
            for refused in functions.into_iter().chain([rsqrt(accuracy, 12)]) {
                assert!(matches!(refused, Err(PfssError::Suf(SufError::Cap { max: 20, .. }))), "{bits} bits");
            }
        }
        // one cubic piece from 0 to 16 has terms far greater than its values
        let wide = neg_exp(Accuracy::new(3, 1).with_fraction_bits(20));
        assert!(matches!(wide, Err(PfssError::Range(_))));
    }
}
