//! Products by their records: a result with gaps between its rows, and sums over a batch.

use backend_api::{
    Buffer, Queue, Real,
    ops::linalg::{Gemm, GemmOps},
};
use core_types::params::{
    elementwise::Activation,
    gemm::{BATCH_AXES, GemmParams, MatrixStrides},
};
use half::{bf16, f16};

use super::model::{InputSource, rounding, wide};
use crate::{Case, Conditioned, Failure};

/// Products summed into one result.
const TERMS: u64 = 5;

/// Sizes that a GPU takes in tiles of any layout, in aligned tiles, and in parts of k.
const SIZES: [[u64; 3]; 3] = [[5, 4, 7], [16, 8, 32], [8, 16, 520]];

pub(super) fn cases() -> Vec<Case> {
    let mut cases = vec![Case::new("gaps between the rows of C", |q| {
        hold::<f32>(q, &with_gaps(), f32::NAN)?;
        hold::<f32>(q, &with_gaps(), -7.0)
    })];
    for [m, n, k] in SIZES {
        for [ta, tb] in [[false, false], [true, false], [false, true]] {
            let name = format!("{TERMS} products in one sum, {m}x{n}x{k}, A transposed: {ta}, B transposed: {tb}");
            cases.push(Case::new(name, move |q| {
                let p = summed([m, n, k], [ta, tb]);
                hold::<f32>(q, &p, 0.0)?;
                hold::<f16>(q, &p, 0.0)?;
                hold::<bf16>(q, &p, 0.0)
            }));
        }
    }
    cases
}

/// Two leading axes, B broadcast along the inner one, and two elements after each row of C.
fn with_gaps() -> GemmParams {
    GemmParams {
        batch: [1, 3, 2, 1],
        m: 5,
        n: 4,
        k: 7,
        a: MatrixStrides { batch: [0, 70, 35, 0], row: 7, col: 1 },
        b: MatrixStrides { batch: [0, 28, 0, 0], row: 4, col: 1 },
        c: MatrixStrides { batch: [0, 60, 30, 0], row: 6, col: 1 },
        accumulate: 0,
        activation: Activation::Identity,
        alpha: 1.0,
        reserved: 0,
    }
}

/// `C += A B`, summed over a batch.
fn summed([m, n, k]: [u64; 3], [ta, tb]: [bool; 2]) -> GemmParams {
    let strides = |rows: u64, cols: u64, transposed: bool| {
        let (row, col) = if transposed { (1, rows) } else { (cols, 1) };
        MatrixStrides { batch: [0, 0, 0, rows * cols], row, col }
    };
    GemmParams {
        batch: [1, 1, 1, TERMS],
        m,
        n,
        k,
        a: strides(m, k, ta),
        b: strides(k, n, tb),
        c: MatrixStrides { batch: [0; BATCH_AXES], ..strides(m, n, false) },
        accumulate: 1,
        activation: Activation::Identity,
        alpha: 1.0,
        reserved: 0,
    }
}

/// The place of an element of matrix `at`.
fn place(s: &MatrixStrides, at: [u64; BATCH_AXES], row: u64, col: u64) -> usize {
    let matrix: u64 = at.iter().zip(s.batch).map(|(index, stride)| index * stride).sum();
    (matrix + row * s.row + col * s.col) as usize
}

/// Compares with f64 sums. Elements that no result covers keep their value.
///
/// That is `before`, unless results are added to random ones.
fn hold<T: Real>(q: &Conditioned, p: &GemmParams, before: f32) -> Result<(), Failure> {
    let span = |s: &MatrixStrides, rows, cols| s.span(p.batch, rows, cols).unwrap_or(0) as usize;
    let mut random = InputSource::new(p.m * 1009 + p.k);
    let (a, b) = (random.reals::<T>(span(&p.a, p.m, p.k)), random.reals::<T>(span(&p.b, p.k, p.n)));
    let start = match p.accumulate {
        0 => vec![T::from_f32(before); span(&p.c, p.m, p.n)],
        _ => random.reals::<T>(span(&p.c, p.m, p.n)),
    };
    let (da, db, mut dc) = (q.upload(&a)?, q.upload(&b)?, q.upload(&start)?);
    q.gemm(Gemm { params: p, a: da.view(), b: db.view(), bias: None, c: dc.view_mut() })?;
    let (a, b, start, got) = (wide(&a), wide(&b), wide(&start), wide(&q.download(&dc)?));
    // The sum of each result, and the sum of the magnitudes of its terms.
    let mut sums: Vec<Option<[f64; 2]>> = vec![None; start.len()];
    for number in 0..p.batch.iter().product::<u64>() {
        let (mut at, mut rest) = ([0; BATCH_AXES], number);
        for (index, len) in at.iter_mut().zip(p.batch).rev() {
            (*index, rest) = (rest % len, rest / len);
        }
        for (i, j) in (0..p.m).flat_map(|i| (0..p.n).map(move |j| (i, j))) {
            let to = place(&p.c, at, i, j);
            let before = if p.accumulate == 1 { f64::from(start[to]) } else { 0.0 };
            let [sum, magnitude] = sums[to].get_or_insert([before, before.abs()]);
            for l in 0..p.k {
                let term = f64::from(a[place(&p.a, at, i, l)]) * f64::from(b[place(&p.b, at, l, j)]);
                (*sum, *magnitude) = (*sum + term, *magnitude + term.abs());
            }
        }
    }
    for (index, (&sum, &got)) in sums.iter().zip(&got).enumerate() {
        let (expected, within) = match sum {
            Some([sum, magnitude]) => (sum, 2e-6 * magnitude + rounding::<T>() * sum.abs()),
            None => (f64::from(start[index]), 0.0),
        };
        let kept = expected.is_nan() && got.is_nan();
        let close = (f64::from(got) - expected).abs() <= within;
        if !kept && !close {
            let expected = format!("{expected:e} within {within:e}");
            return Err(Failure::Differs { index, expected, got: format!("{got:e}") });
        }
    }
    Ok(())
}
