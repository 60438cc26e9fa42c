//! Eigenvectors of small matrices by one-sided Jacobi rotations.
//!
//! Rows of R with `R^T R = G` are rotated until they are orthogonal: they are then `sigma_i v_i^T`.
//! For rows p and q, `zeta = (q q - p p) / (2 p q)`, the tangent is
//! `sign(zeta) / (|zeta| + sqrt(1 + zeta^2))`, and `(p, q)` becomes
//! `(cos p - sin q, sin p + cos q)`.

use backend_api::{BackendError, Buffer, Queue, ops::factor::JacobiEigen};
use core_types::params::factor::{JacobiParams, LEAST_SIGMA, MOST_SWEEPS, ORTHOGONAL, power_of_two, scale_exponent};

use super::cholesky::CholeskyFactor;
use crate::{
    CpuQueue,
    simd::{LaneKernel, dispatch},
};

/// Lanes of partial sums; row lengths are a multiple of this.
const LANES: usize = 8;

/// Rotates the rows, which have `pitch` elements, until each two are orthogonal.
struct Rotate<'a> {
    rows: &'a mut [f64],
    pitch: usize,
}

/// The sum of the lanes, halves first.
#[inline(always)]
fn sum(lanes: [f64; LANES]) -> f64 {
    let [a, b, c, d, e, f, g, h] = lanes;
    ((a + e) + (c + g)) + ((b + f) + (d + h))
}

/// `[p p, q q, p q]`.
#[inline(always)]
fn products(p: &[f64], q: &[f64]) -> [f64; 3] {
    let mut sums = [[0.0; LANES]; 3];
    let [pp, qq, pq] = &mut sums;
    for (p, q) in p.as_chunks::<LANES>().0.iter().zip(q.as_chunks::<LANES>().0) {
        for ((((pp, qq), pq), p), q) in pp.iter_mut().zip(&mut *qq).zip(&mut *pq).zip(p).zip(q) {
            *pp += p * p;
            *qq += q * q;
            *pq += p * q;
        }
    }
    sums.map(sum)
}

impl<L> LaneKernel<L> for Rotate<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self, _: L) {
        let Self { rows, pitch } = self;
        let count = rows.len() / pitch;
        // A sweep takes each pair of rows once.
        for _ in 0..MOST_SWEEPS {
            let mut rotated = false;
            for i in 0..count {
                for j in i + 1..count {
                    let (above, below) = rows.split_at_mut(j * pitch);
                    let (p, q) = (&mut above[i * pitch..][..pitch], &mut below[..pitch]);
                    let [pp, qq, pq] = products(p, q);
                    let oblique = pq.abs() > ORTHOGONAL * (pp * qq).sqrt();
                    if !oblique {
                        continue;
                    }
                    rotated = true;
                    // The rotation that makes the two rows orthogonal, by its smaller angle.
                    let zeta = (qq - pp) / (2.0 * pq);
                    let tangent = 1f64.copysign(zeta) / (zeta.abs() + (1.0 + zeta * zeta).sqrt());
                    let cosine = 1.0 / (1.0 + tangent * tangent).sqrt();
                    let sine = cosine * tangent;
                    for (p, q) in p.iter_mut().zip(q.iter_mut()) {
                        (*p, *q) = (cosine * *p - sine * *q, sine * *p + cosine * *q);
                    }
                }
            }
            // Without a rotation, all rows are orthogonal.
            if !rotated {
                break;
            }
        }
    }
}

impl CpuQueue {
    /// Runs an op whose views have been checked.
    pub(super) fn eigenvectors(&self, op: JacobiEigen<'_, Self>) -> Result<(), BackendError> {
        let JacobiParams { side, kept } = *op.params;
        let (side, kept) = (side as usize, kept as usize);
        let scale = op.peak.map_or(1.0, |peak| power_of_two(scale_exponent(peak[0])));
        // The Cholesky factor of the Gram matrix, with rows padded to whole lanes.
        let mut factor = self.alloc::<f64>(side * side)?;
        factor.view_mut().copy_from_slice(op.gram);
        dispatch(self.simd(), CholeskyFactor { side, matrix: factor.view_mut() });
        let pitch = side.next_multiple_of(LANES).max(LANES);
        let mut rows = self.zeros::<f64>(side * pitch)?;
        for (wide, row) in rows.view_mut().chunks_mut(pitch).zip(factor.view().chunks(side.max(1))) {
            wide[..side].copy_from_slice(row);
        }
        let rows = rows.view_mut();
        dispatch(self.simd(), Rotate { rows: &mut *rows, pitch });

        // Singular values are the lengths of the rows, in falling order.
        let lengths: Vec<f64> = rows.chunks(pitch).map(length).collect();
        let mut order: Vec<usize> = (0..side).collect();
        order.sort_by(|&i, &j| lengths[j].total_cmp(&lengths[i]));
        let least = order.first().map_or(0.0, |&first| LEAST_SIGMA * lengths[first]);
        let counts = |i: usize| lengths[i] > least && (lengths[i] * scale) as f32 > 0.0;
        op.rank[0] = order.iter().take(kept).filter(|&&i| counts(i)).count() as u32; // at most 1024
        // Singular vectors are the rows over their lengths; values of zero get zeros.
        for (column, &i) in order.iter().take(kept).enumerate() {
            let counts = counts(i);
            op.sigma[column] = if counts { (lengths[i] * scale) as f32 } else { 0.0 };
            for (e, &x) in rows[i * pitch..][..side].iter().enumerate() {
                let unit = if counts { x / lengths[i] } else { 0.0 };
                op.vectors[e * kept + column] = unit * scale;
                op.inverse[e * kept + column] = if counts { unit / lengths[i] } else { 0.0 };
            }
        }
        Ok(())
    }
}

/// The length of a row, 0 for one that has none.
fn length(row: &[f64]) -> f64 {
    let [square, ..] = products(row, row);
    if square.is_finite() { square.sqrt() } else { 0.0 }
}
