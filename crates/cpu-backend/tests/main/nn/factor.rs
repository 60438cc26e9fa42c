//! Ops of factorisations on every vector level and on several threads: the same bits.

use backend_api::ops::factor::{
    CholInverse, FactorOps, JacobiEigen, MatrixPeak, OrientColumns, ScaleColumns, SignSketch, TallGram, TallProduct,
};
use core_types::params::factor::{
    ColumnPairParams, JacobiParams, LEAST_SIGMA, MatrixParams, ScaleParams, SketchParams, TallParams,
};
use cpu_backend::CpuQueue;

use crate::levels::{expect_equal, queues};

const ROWS: usize = 1100;
const COLS: usize = 21;

/// Results of the ops for one matrix, as bit patterns.
fn results(q: &CpuQueue) -> Vec<u64> {
    let matrix = MatrixParams { rows: ROWS as u64, cols: COLS as u64 };
    let mut x = vec![0.0f32; ROWS * COLS];
    let one = 1.0f32.to_bits();
    q.sign_sketch(SignSketch { params: &SketchParams { matrix, seed: 7 }, peak: &[one], omega: &mut x }).unwrap();
    x.iter_mut().enumerate().for_each(|(i, x)| *x *= 1.0 + (i % 97) as f32 / 31.0);
    let mut peak = [0];
    q.matrix_peak(MatrixPeak { a: &x, peak: &mut peak }).unwrap();
    let mut gram = vec![0.0; COLS * COLS];
    q.tall_gram(TallGram { params: &matrix, x: &x, gram: &mut gram }).unwrap();
    let mut inverse = vec![0.0; COLS * COLS];
    q.chol_inverse(CholInverse { side: COLS, gram: &gram, peak: Some(&peak), inverse: &mut inverse }).unwrap();
    let mut y = vec![0.0; ROWS * COLS];
    let params = TallParams { rows: ROWS as u64, inner: COLS as u64, cols: COLS as u64 };
    q.tall_product(TallProduct { params: &params, x: &x, c: &inverse, y: &mut y }).unwrap();
    let (mut vectors, mut divided) = (vec![0.0; COLS * 9], vec![0.0; COLS * 9]);
    let (mut sigma, mut rank) = (vec![0.0; 9], [0]);
    q.jacobi_eigen(JacobiEigen {
        params: &JacobiParams { side: COLS as u64, kept: 9 },
        gram: &gram,
        peak: Some(&peak),
        vectors: &mut vectors,
        inverse: &mut divided,
        sigma: &mut sigma,
        rank: &mut rank,
    })
    .unwrap();
    assert_eq!(rank, [9]);
    let mut z = vec![0.0; ROWS * COLS];
    let factors: Vec<f32> = (0..COLS).map(|i| 0.5 - i as f32).collect();
    let params = ScaleParams { matrix, alpha: 0.3 };
    q.scale_columns(ScaleColumns { params: &params, x: &y, factors: &factors, y: &mut z }).unwrap();
    let params = ColumnPairParams { rows: ROWS as u64, other_rows: ROWS as u64, cols: COLS as u64 };
    q.orient_columns(OrientColumns { params: &params, u: &mut z, v: &mut y }).unwrap();
    let singles = [&x, &y, &z, &sigma].into_iter().flatten().map(|x| u64::from(x.to_bits()));
    let doubles = [&gram, &inverse, &vectors, &divided].into_iter().flatten().map(|x| x.to_bits());
    singles.chain(doubles).chain(peak.map(u64::from)).collect()
}

#[test]
fn results_are_the_same_bits_on_every_level_and_number_of_threads() {
    expect_equal(&queues(), "factors", results);
}

#[test]
fn singular_values_that_f32_does_not_have_are_zero() {
    for q in queues() {
        let (mut vectors, mut inverse, mut sigma, mut rank) = ([7.0], [7.0], [7.0], [7]);
        q.jacobi_eigen(JacobiEigen {
            params: &JacobiParams { side: 1, kept: 1 },
            gram: &[1e-100],
            peak: None,
            vectors: &mut vectors,
            inverse: &mut inverse,
            sigma: &mut sigma,
            rank: &mut rank,
        })
        .unwrap();
        assert_eq!((vectors, inverse, sigma, rank), ([0.0], [0.0], [0.0], [0]), "{q:?}");
    }
}

#[test]
fn singular_values_of_the_least_fraction_of_the_greatest_are_zero() {
    // The singular values of a diagonal matrix are its elements; these are powers of two, so nothing is rounded.
    for (sigma, rank) in [(LEAST_SIGMA, 1), (2.0 * LEAST_SIGMA, 2)] {
        for q in queues() {
            let (mut vectors, mut inverse, mut found, mut count) = ([7.0; 4], [7.0; 4], [7.0; 2], [7]);
            q.jacobi_eigen(JacobiEigen {
                params: &JacobiParams { side: 2, kept: 2 },
                gram: &[1.0, 0.0, 0.0, sigma * sigma],
                peak: None,
                vectors: &mut vectors,
                inverse: &mut inverse,
                sigma: &mut found,
                rank: &mut count,
            })
            .unwrap();
            let (second, unit) = if rank == 2 { (sigma as f32, 1.0) } else { (0.0, 0.0) };
            assert_eq!((found, count), ([1.0, second], [rank]), "{q:?}");
            assert_eq!(vectors, [1.0, 0.0, 0.0, unit], "{q:?}");
        }
    }
}
