//! The elementary functions: their cuts, tails and accuracies.

use super::{FixedFn, Spline, Tail, special::normal_cdf};
use crate::{PfssError, SignedRange, suf::SufError};

/// Fraction bits of inputs.
const F: u32 = 12;
/// The ring that the scale of cubic pieces needs.
const N: u32 = 64;
/// 1.0.
const ONE: i64 = 1 << F;
/// Bound on inputs beyond the fitted pieces, where a tail is used: `|x| < 2^12`.
const FAR: i64 = ONE << F;

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
}

impl Accuracy {
    /// Cubic pieces, 16 of them: the recommended choice for [`gelu`], [`silu`] and [`neg_exp`].
    pub const CUBIC_16: Self = Self { degree: 3, pieces: 16 };
    /// Quadratic pieces, 32 of them: an alternative for [`gelu`] with smaller keys.
    pub const QUADRATIC_32: Self = Self { degree: 2, pieces: 32 };
    /// Lines, two to an octave: for [`reciprocal`] and [`rsqrt`] as the start of Newton's method.
    pub const LINEAR_HALF_OCTAVE: Self = Self { degree: 1, pieces: 2 };
    /// Cubic pieces, four to an octave.
    ///
    /// The recommended choice for [`reciprocal`] and [`rsqrt`]: it needs no step of Newton's
    /// method.
    pub const CUBIC_QUARTER_OCTAVE: Self = Self { degree: 3, pieces: 4 };

    fn check(self, least: u32) -> Result<(), PfssError> {
        let cap = |what, max: u32, got: u32| Err(SufError::Cap { what, max: max as usize, got: got as usize }.into());
        match self {
            Self { degree, .. } if !(1..=3).contains(&degree) => cap("degrees (at least 1)", 3, degree),
            Self { pieces, .. } if !pieces.is_power_of_two() || !(least..=64).contains(&pieces) => {
                cap("pieces (a power of two)", 64, pieces)
            }
            _ => Ok(()),
        }
    }
}

/// GeLU, `x Φ(x)`, with 12 fraction bits, for `|x| < 2^12`.
///
/// It is fitted on `-4 <= x < 4`, and is 0 below and `x` above. With [`Accuracy::CUBIC_16`] the
/// error is at most 0.62 units in the last place, with [`Accuracy::QUADRATIC_32`] 0.76.
///
/// # Errors
/// [`PfssError::Suf`] for an accuracy outside the definition.
pub fn gelu(accuracy: Accuracy) -> Result<FixedFn, PfssError> {
    two_sided(accuracy, 4, &|x| x * normal_cdf(x))
}

/// SiLU, `x / (1 + exp(-x))`, with 12 fraction bits, for `|x| < 2^12`.
///
/// It is fitted on `-8 <= x < 8`, and is 0 below and `x` above. With [`Accuracy::CUBIC_16`] the
/// error on the fitted pieces is at most 0.94 units of the last place. Beyond them the error is at
/// most `8 / (1 + exp(8))`, 11 units.
///
/// # Errors
/// [`PfssError::Suf`] for an accuracy outside the definition.
pub fn silu(accuracy: Accuracy) -> Result<FixedFn, PfssError> {
    two_sided(accuracy, 8, &|x| x / (1.0 + (-x).exp()))
}

/// `exp(-t)` with 12 fraction bits for `0 <= t < 2^51`: fitted below 16 and 0 from there on.
///
/// With [`Accuracy::CUBIC_16`] the error is at most 1.33 units of the last place.
///
/// # Errors
/// [`PfssError::Suf`] for an accuracy outside the definition.
pub fn neg_exp(accuracy: Accuracy) -> Result<FixedFn, PfssError> {
    accuracy.check(1)?;
    on_interval(accuracy, (0, 16 * ONE), Tail::Zero, SignedRange::new(0, i64::MAX)?, &|t| (-t).exp())
}

/// The reciprocal `1 / z` for `1 <= z <= 1024`.
///
/// The range extends a little beyond both ends (1/256 of each). There are 12 fraction bits in `z`
/// and `output_bits` in the result.
///
/// With 12 output bits and [`Accuracy::LINEAR_HALF_OCTAVE`] the error is at most 53 units of
/// `2^-12`; a step of Newton's method squares the relative error. With
/// [`Accuracy::CUBIC_QUARTER_OCTAVE`] it is at most 0.55 units.
///
/// # Errors
/// [`PfssError::Suf`] for an accuracy outside the definition, [`PfssError::Range`] if `output_bits`
/// is too large to leave room.
pub fn reciprocal(accuracy: Accuracy, output_bits: u32) -> Result<FixedFn, PfssError> {
    octaves(accuracy, output_bits, (ONE, 1024 * ONE), &|z| 1.0 / z)
}

/// The reciprocal square root `1 / sqrt(z)` for `1/16 <= z <= 256`.
///
/// The range extends a little beyond both ends (1/256 of each). There are 12 fraction bits in `z`
/// and `output_bits` in the result.
///
/// With 12 output bits and [`Accuracy::LINEAR_HALF_OCTAVE`] the error is at most 85 units of
/// `2^-12`, with [`Accuracy::CUBIC_QUARTER_OCTAVE`] 0.56.
///
/// # Errors
/// [`PfssError::Suf`] for an accuracy outside the definition, [`PfssError::Range`] if `output_bits`
/// is too large to leave room.
pub fn rsqrt(accuracy: Accuracy, output_bits: u32) -> Result<FixedFn, PfssError> {
    rsqrt_octaves(accuracy, output_bits, 12)
}

/// [`rsqrt`] on `count` octaves, for `1/16 <= z <= 2^(count - 4)`.
///
/// The range extends a little beyond both ends. With 12 output bits and
/// [`Accuracy::CUBIC_QUARTER_OCTAVE`] the error is at most 0.75 units.
///
/// # Errors
/// As [`rsqrt`], and [`PfssError::Suf`] beyond 36 octaves or for more pieces than a descriptor has.
pub fn rsqrt_octaves(accuracy: Accuracy, output_bits: u32, count: u32) -> Result<FixedFn, PfssError> {
    const MAX: u32 = 36;
    if !(1..=MAX).contains(&count) {
        return Err(SufError::Cap { what: "octaves (at least 1)", max: MAX as usize, got: count as usize }.into());
    }
    octaves(accuracy, output_bits, (ONE / 16, (ONE / 16) << count), &|z| 1.0 / z.sqrt())
}

/// A function that is 0 far below zero and `x` far above.
fn two_sided(accuracy: Accuracy, end: i64, function: &dyn Fn(f64) -> f64) -> Result<FixedFn, PfssError> {
    accuracy.check(2)?;
    on_interval(accuracy, (-end * ONE, end * ONE), Tail::Identity, SignedRange::new(-FAR, FAR - 1)?, function)
}

/// A function on equal pieces of `start..end`, 0 below them.
fn on_interval(
    accuracy: Accuracy,
    (start, end): (i64, i64),
    above: Tail,
    inputs: SignedRange,
    function: &dyn Fn(f64) -> f64,
) -> Result<FixedFn, PfssError> {
    let cuts = uniform(start, end, accuracy.pieces);
    Spline {
        n: N,
        input_bits: F,
        output_bits: F,
        degree: accuracy.degree,
        cuts: &cuts,
        margins: (0, 0),
        below: Tail::Zero,
        above,
        inputs,
        function,
    }
    .build()
}

/// A function on octaves `low <= x <= high`, each cut geometrically.
fn octaves(
    accuracy: Accuracy,
    output_bits: u32,
    (low, high): (i64, i64),
    function: &dyn Fn(f64) -> f64,
) -> Result<FixedFn, PfssError> {
    accuracy.check(1)?;
    let mut cuts = Vec::new();
    let mut octave = low;
    while octave < high {
        let part = |k: u32| (octave as f64 * (f64::from(k) / f64::from(accuracy.pieces)).exp2()).round() as i64;
        cuts.extend((0..accuracy.pieces).map(part));
        octave *= 2;
    }
    cuts.push(high + 1);
    // sums of rounded numbers may miss the ends by a little
    let margins = (low / 256, high / 256);
    Spline {
        n: N,
        input_bits: F,
        output_bits,
        degree: accuracy.degree,
        cuts: &cuts,
        below: Tail::Zero,
        above: Tail::Zero,
        margins,
        inputs: SignedRange::new(low - margins.0, high + margins.1)?,
        function,
    }
    .build()
}

/// `pieces` equal pieces of `start..end`, whose length they divide.
fn uniform(start: i64, end: i64, pieces: u32) -> Vec<i64> {
    let width = (end - start) / i64::from(pieces);
    (0..=i64::from(pieces)).map(|k| start + k * width).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The greatest error in units of 2^-bits over inputs `low..=high` at a step.
    fn error(f: &FixedFn, bits: u32, (low, high): (i64, i64), step: usize, function: impl Fn(f64) -> f64) -> f64 {
        (low..=high).step_by(step).fold(0.0, |worst, x| {
            let exact = function(x as f64 / ONE as f64) * f64::from(1u32 << bits);
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
                let f = build(Accuracy { degree, pieces }).unwrap();
                let got = error(&f, F, (low, high - 1), 1, function);
                assert!(got <= bound, "{name}, degree {degree}, {pieces} pieces: {got} above {bound}");
            }
        }
    }

    #[test]
    fn splines_hold_the_error_table_on_every_input() {
        let bar = [[166.0, 49.0, 13.4, 4.0], [14.9, 3.0, 1.23, 1.03], [2.2, 1.11, 1.01, 1.0]];
        hold("gelu", gelu, (-4 * ONE, 4 * ONE), bar, |x| x * normal_cdf(x));
        let bar = [[352.0, 116.0, 32.0, 8.7], [48.8, 6.5, 1.8, 1.1], [3.9, 1.46, 1.03, 1.0]];
        hold("silu", silu, (-8 * ONE, 8 * ONE), bar, |x| x / (1.0 + (-x).exp()));
        let bar = [[486.0, 173.0, 53.0, 15.0], [76.0, 15.0, 3.0, 1.3], [10.0, 1.8, 1.06, 1.0]];
        hold("neg exp", neg_exp, (0, 16 * ONE), bar, |t| (-t).exp());
    }

    #[test]
    fn octave_splines_hold_the_error_table() {
        let bar = [[206.0, 57.0, 15.0], [42.0, 13.6, 4.3], [58.0, 12.1, 1.7]];
        let rsqrt_bar = [[355.0, 91.0, 23.0], [106.0, 25.0, 7.5], [86.0, 12.3, 1.7]];
        for (degree, (row, rsqrt_row)) in (1..).zip(bar.into_iter().zip(rsqrt_bar)) {
            for (pieces, (bound, rsqrt_bound)) in [1, 2, 4].into_iter().zip(row.into_iter().zip(rsqrt_row)) {
                let accuracy = Accuracy { degree, pieces };
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
        assert!(error(&silu(cubic).unwrap(), F, (-8 * ONE, 8 * ONE - 1), 1, silu_of) <= 0.94);
        assert!(error(&silu(cubic).unwrap(), F, (-30 * ONE, 30 * ONE), 7, silu_of) <= 11.0);
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

    #[test]
    fn tails_are_exact_and_ends_are_proven() {
        for build in [gelu, silu] {
            let f = build(Accuracy::CUBIC_16).unwrap();
            for x in [8 * ONE, 8 * ONE + 1, FAR / 3, FAR - 1] {
                assert_eq!((f.eval(x), f.eval(-x - 1)), (x, 0));
            }
            assert!(f.outputs().gap_cert(N).is_ok());
        }
        let f = neg_exp(Accuracy::CUBIC_16).unwrap();
        assert!([16 * ONE, 16 * ONE + 1, i64::MAX].into_iter().all(|t| f.eval(t) == 0));
        let f = reciprocal(Accuracy::CUBIC_QUARTER_OCTAVE, F).unwrap();
        assert_eq!((f.eval(1024 * ONE), f.eval(1028 * ONE), f.eval(ONE - 16)), (4, 4, ONE + 16));
        assert_eq!([f.eval(1028 * ONE + 1), f.eval(ONE - 17), f.eval(-ONE)], [0; 3]);
    }

    #[test]
    fn accuracies_outside_the_definition_are_refused() {
        for (degree, pieces) in [(0, 16), (4, 16), (2, 0), (2, 3), (2, 128), (2, 1)] {
            assert!(matches!(gelu(Accuracy { degree, pieces }), Err(PfssError::Suf(SufError::Cap { .. }))));
        }
        for (degree, pieces) in [(0, 16), (4, 16), (2, 0), (2, 3), (2, 128)] {
            let refused = neg_exp(Accuracy { degree, pieces });
            assert!(matches!(refused, Err(PfssError::Suf(SufError::Cap { .. }))), "{degree} {pieces}");
        }
        assert!(neg_exp(Accuracy { degree: 2, pieces: 1 }).is_ok());
    }
}
