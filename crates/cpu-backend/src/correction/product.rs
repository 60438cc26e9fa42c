//! Scalar products in the summation order of a warp.
//!
//! Terms go to 32 sums in turn, which are then added half to half.

use crate::simd::floats::Floats;

/// Sums side by side.
const SUMS: usize = 32;
/// Vectors that hold them on any level.
const MOST: usize = 4;

/// The scalar product of two vectors of one length.
#[inline(always)]
pub(super) fn product<L: Floats>(l: L, x: &[f32], y: &[f32]) -> f32 {
    const { assert!(SUMS / L::N <= MOST && SUMS.is_multiple_of(L::N)) }
    let vectors = SUMS / L::N;
    let mut sums = [l.splat(0.0); MOST];
    // Whole rounds of 32 terms.
    let whole = x.len() / SUMS * SUMS;
    for at in (0..whole).step_by(SUMS) {
        for (v, sum) in sums.iter_mut().enumerate().take(vectors) {
            let at = at + v * L::N;
            *sum = l.mul_add(l.load(&x[at..]), l.load(&y[at..]), *sum);
        }
    }
    // The rest, filled up with zeros.
    if whole < x.len() {
        for (v, sum) in sums.iter_mut().enumerate().take(vectors) {
            let (x, y) = (x.get(whole + v * L::N..).unwrap_or_default(), y.get(whole + v * L::N..).unwrap_or_default());
            if x.len() >= L::N {
                *sum = l.mul_add(l.load(x), l.load(y), *sum);
            } else {
                *sum = l.mul_add(l.load_partial(x, 0.0), l.load_partial(y, 0.0), *sum);
            }
        }
    }
    // The sums are added half to half, then the lanes of a vector.
    let mut half = vectors / 2;
    while half > 0 {
        for i in 0..half {
            sums[i] = l.add(sums[i], sums[i + half]);
        }
        half /= 2;
    }
    l.sum(sums[0])
}
