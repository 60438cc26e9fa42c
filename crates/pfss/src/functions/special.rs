//! The distribution function of the normal distribution.
//!
//! `erf(z) = 2 / sqrt(pi) exp(-z^2) sum over k >= 0 of 2^k z^(2k+1) / (1 3 .. (2k+1))` (Abramowitz
//! and Stegun, 7.1.6).

/// `(1 + erf(x / sqrt 2)) / 2`.
///
/// It has nearly double precision for moderate `x`.
pub(super) fn normal_cdf(x: f64) -> f64 {
    // All terms of the sum have one sign, so that nothing cancels. Beyond 8 the law's tail is below 1e-15.
    if x.abs() > 8.0 {
        return if x > 0.0 { 1.0 } else { 0.0 };
    }
    let z = x / core::f64::consts::SQRT_2;
    let (mut term, mut sum, mut odd) = (z, z, 1.0);
    while term.abs() > sum.abs() * 1e-18 {
        odd += 2.0;
        term *= 2.0 * z * z / odd;
        sum += term;
    }
    let erf = 2.0 / core::f64::consts::PI.sqrt() * (-z * z).exp() * sum;
    (1.0 + erf) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_normal_law_has_its_published_values() {
        // Abramowitz and Stegun, table 26.1
        for (x, p) in [
            (0.0, 0.5),
            (0.5, 0.691_462_461_274_013),
            (1.0, 0.841_344_746_068_543),
            (2.0, 0.977_249_868_051_821),
            (3.0, 0.998_650_101_968_370),
            (4.0, 0.999_968_328_758_167),
        ] {
            assert!((normal_cdf(x) - p).abs() < 2e-15, "{x}");
            assert!((normal_cdf(-x) - (1.0 - p)).abs() < 2e-15, "{x}");
        }
        assert_eq!([normal_cdf(50.0), normal_cdf(-50.0)], [1.0, 0.0]);
    }
}
