//! Features of a training, computed from its record as in hybrid-predict-trainer-rs.

use crate::{float::ln, params::nn::correction::Scalar};

/// Features that are not always zero.
pub const USED: usize = 26;

/// Statistics of a ring of values; all zeros if it is empty.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Statistics {
    /// The mean.
    pub mean: f64,
    /// The standard deviation, as of a population.
    pub deviation: f64,
    /// The least of the numbers that are not NaN; infinity if all are.
    pub least: f32,
    /// The greatest of the numbers that are not NaN; negative infinity if all are.
    pub greatest: f32,
}

/// The sums of the last 16 losses and of the 16 before; `None` with fewer than 32 losses.
pub type Trend = Option<[f64; 2]>;

/// x, or `least` if it is below or NaN.
#[inline(always)]
const fn at_least(x: f64, least: f64) -> f64 {
    if x > least { x } else { least }
}

/// The logarithm to base 10; -10 for values below 10^-10 and NaN.
#[inline(always)]
fn magnitude(x: f32) -> f32 {
    at_least(f64::from(ln(x)) * core::f64::consts::LOG10_E, -10.0) as f32
}

/// Calls `set` with the place and the value of each feature that is not always zero.
///
/// They are computed in f64, logarithms within an ulp more, and rounded once.
#[inline(always)]
pub fn features(
    scalar: impl Fn(Scalar) -> f32,
    losses: &Statistics,
    norms: &Statistics,
    trend: Trend,
    mut set: impl FnMut(u32, f32),
) {
    const LEAST: f64 = 1e-8;
    let norm = scalar(Scalar::Norm);
    set(0, scalar(Scalar::Loss));
    set(1, losses.mean as f32);
    set(2, losses.deviation as f32);
    set(3, losses.least);
    set(4, losses.greatest);
    let (change, ratio) = match trend {
        Some([recent, older]) => {
            let (recent, older) = (recent / 16.0, older / 16.0);
            ((recent - older) as f32, (recent / at_least(older, LEAST)) as f32)
        }
        None => (0.0, 1.0),
    };
    set(5, change);
    set(6, ratio);
    set(7, (f64::from(scalar(Scalar::Step)) / 1e4) as f32);
    set(8, norm);
    set(9, norms.mean as f32);
    set(10, norms.deviation as f32);
    set(11, norms.least);
    set(12, norms.greatest);
    set(13, magnitude(norm));
    let mean = at_least(norms.mean, LEAST);
    let relative = f64::from(norm) / mean;
    set(14, if relative < 10.0 { relative as f32 } else { 10.0 });
    set(15, (norms.deviation / mean) as f32);
    set(16, scalar(Scalar::MomentumMean));
    set(17, scalar(Scalar::MomentumDeviation));
    set(18, scalar(Scalar::VarianceMean));
    set(19, scalar(Scalar::VarianceDeviation));
    set(20, magnitude(scalar(Scalar::Rate)));
    set(21, scalar(Scalar::Beta1Power));
    set(22, scalar(Scalar::Beta2Power));
    set(23, 0.0);
    set(24, scalar(Scalar::Phase));
    set(25, (f64::from(scalar(Scalar::PhaseStep)) / 100.0) as f32);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(scalars: [f32; 12], losses: Statistics, norms: Statistics, trend: Trend) -> [f32; USED] {
        let mut all = [f32::NAN; USED];
        features(|scalar| scalars[scalar as usize], &losses, &norms, trend, |i, x| all[i as usize] = x);
        all
    }

    #[test]
    fn a_training_that_has_not_begun_has_the_features_of_its_source() {
        let mut scalars = [0.0; 12];
        (scalars[0], scalars[2]) = (f32::NAN, f32::NAN);
        let got = of(scalars, Statistics::default(), Statistics::default(), None);
        assert!(got[0].is_nan() && got[8].is_nan());
        assert_eq!([got[5], got[6], got[13], got[14], got[15], got[20]], [0.0, 1.0, -10.0, 10.0, 0.0, -10.0]);
    }

    #[test]
    fn quotients_and_logarithms_are_those_of_their_definition() {
        let scalars = [0.5, 2500.0, 3.0, 1.0, 2.0, 3.0, 4.0, 1e-3, 0.9, 0.99, 2.0, 50.0];
        let losses = Statistics { mean: 1.5, deviation: 0.25, least: 1.0, greatest: 2.0 };
        let norms = Statistics { mean: 2.0, deviation: 0.5, least: 1.0, greatest: 4.0 };
        let got = of(scalars, losses, norms, Some([16.0, 32.0]));
        assert_eq!(got[..5], [0.5, 1.5, 0.25, 1.0, 2.0]);
        assert_eq!(got[5..9], [-1.0, 0.5, 0.25, 3.0]);
        assert_eq!(got[9..13], [2.0, 0.5, 1.0, 4.0]);
        assert!((got[13] - 0.477_121_25).abs() < 1e-7 && (got[20] + 3.0).abs() < 3e-7);
        assert_eq!(got[14..20], [1.5, 0.25, 1.0, 2.0, 3.0, 4.0]);
        assert_eq!(got[21..], [0.9, 0.99, 0.0, 2.0, 0.5]);
    }
}
