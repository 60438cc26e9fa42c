//! Scalar products in the summation order of a warp.
//!
//! Terms go to 32 sums in turn, which are then added half to half.

use crate::simd::floats::Floats;

/// Sums side by side.
const SUMS: usize = 32;
/// Vectors that hold them on any level.
const MOST: usize = 4;
/// Sums after the first addition, a whole number of vectors on any level.
pub(super) const HALF: usize = SUMS / 2;

/// The scalar product of two vectors of one length.
#[inline(always)]
pub(super) fn product<L: Floats>(l: L, x: &[f32], y: &[f32]) -> f32 {
    let mut sums = [[0.0; HALF]];
    half_sums(l, [x], y, &mut sums);
    let mut sum = l.load(&sums[0]);
    for at in (L::N..HALF).step_by(L::N) {
        sum = l.add(sum, l.load(&sums[0][at..]));
    }
    l.sum(sum)
}

/// Adds the products of each row with `y` into 32 sums, then the upper half to the lower.
///
/// All are of one length. The rows share the loads of `y`.
#[inline(always)]
pub(super) fn half_sums<L: Floats, const R: usize>(l: L, rows: [&[f32]; R], y: &[f32], to: &mut [[f32; HALF]; R]) {
    const { assert!(SUMS / L::N <= MOST && HALF.is_multiple_of(L::N)) }
    let vectors = SUMS / L::N;
    let mut sums = [[l.splat(0.0); MOST]; R];
    let (whole, rest) = y.as_chunks::<SUMS>();
    let (mut rounds, mut rests) = ([whole; R], [rest; R]);
    for r in 0..R {
        let (x, x_rest) = rows[r].as_chunks::<SUMS>();
        (rounds[r], rests[r]) = (&x[..whole.len()], &x_rest[..rest.len()]);
    }
    // Whole rounds of 32 terms.
    for (i, y) in whole.iter().enumerate() {
        for v in 0..vectors {
            let y = l.load(&y[v * L::N..]);
            for r in 0..R {
                sums[r][v] = l.mul_add(l.load(&rounds[r][i][v * L::N..]), y, sums[r][v]);
            }
        }
    }
    // The rest, filled up with zeros. A masked load of no elements takes hundreds of clocks.
    for (v, at) in (0..SUMS).step_by(L::N).enumerate() {
        if at >= rest.len() {
            break;
        }
        let y = load_up_to_vector(l, &rest[at..]);
        for r in 0..R {
            sums[r][v] = l.mul_add(load_up_to_vector(l, &rests[r][at..]), y, sums[r][v]);
        }
    }
    // The upper half is added to the lower one.
    for r in 0..R {
        for v in 0..vectors / 2 {
            l.store(&mut to[r][v * L::N..], l.add(sums[r][v], sums[r][v + vectors / 2]));
        }
    }
}

/// The first elements of `s`, and zeros if `s` is shorter than a vector.
#[inline(always)]
fn load_up_to_vector<L: Floats>(l: L, s: &[f32]) -> L::V {
    if s.len() >= L::N { l.load(s) } else { l.load_partial(s, 0.0) }
}
