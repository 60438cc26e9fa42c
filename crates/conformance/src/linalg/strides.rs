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

use super::model::{InputSource, activation, rounding, wide};
use crate::{Case, Conditioned, Failure};

/// Products summed into one result.
const TERMS: u64 = 5;

/// Relative error of a sum, by the magnitudes of its terms.
const BOUND: [f64; 3] = [2e-6, 0.0, 0.0];

/// Sizes that a GPU takes in tiles of any layout, in aligned tiles, and in parts of k.
const SIZES: [[u64; 3]; 3] = [[5, 4, 7], [16, 8, 32], [8, 16, 520]];

pub(super) fn cases() -> Vec<Case> {
    let mut cases = vec![Case::new("gaps between the rows of C", |q| {
        hold::<f32>(q, &with_gaps(), f32::NAN, false, BOUND)?;
        hold::<f32>(q, &with_gaps(), -7.0, false, BOUND)
    })];
    for [m, n, k] in SIZES {
        for [ta, tb] in [[false, false], [true, false], [false, true]] {
            let name = format!("{TERMS} products in one sum, {m}x{n}x{k}, A transposed: {ta}, B transposed: {tb}");
            cases.push(Case::new(name, move |q| {
                let p = summed(TERMS, [m, n, k], [ta, tb, false]);
                hold::<f32>(q, &p, 0.0, false, BOUND)?;
                hold::<f16>(q, &p, 0.0, false, BOUND)?;
                hold::<bf16>(q, &p, 0.0, false, BOUND)
            }));
        }
    }
    cases
}

/// Products of contiguous matrices, and which of A, B and C are transposes of row-major ones.
pub(super) fn contiguous(batch: u64, [m, n, k]: [u64; 3], [ta, tb, tc]: [bool; 3]) -> GemmParams {
    let strides = |rows: u64, cols: u64, transposed: bool| {
        let (row, col) = if transposed { (1, rows) } else { (cols, 1) };
        MatrixStrides { batch: [0, 0, 0, rows * cols], row, col }
    };
    GemmParams {
        batch: [1, 1, 1, batch],
        m,
        n,
        k,
        a: strides(m, k, ta),
        b: strides(k, n, tb),
        c: strides(m, n, tc),
        accumulate: 0,
        activation: Activation::Identity,
        alpha: 1.0,
        reserved: 0,
    }
}

/// `C += A B`, summed over a batch.
pub(super) fn summed(batch: u64, size: [u64; 3], transposed: [bool; 3]) -> GemmParams {
    let p = contiguous(batch, size, transposed);
    GemmParams { c: MatrixStrides { batch: [0; BATCH_AXES], ..p.c }, accumulate: 1, ..p }
}

/// Two leading axes, B broadcast along the inner one, and two elements after each row of C.
fn with_gaps() -> GemmParams {
    GemmParams {
        batch: [1, 3, 2, 1],
        a: MatrixStrides { batch: [0, 70, 35, 0], row: 7, col: 1 },
        b: MatrixStrides { batch: [0, 28, 0, 0], row: 4, col: 1 },
        c: MatrixStrides { batch: [0, 60, 30, 0], row: 6, col: 1 },
        ..contiguous(1, [5, 4, 7], [false; 3])
    }
}

/// The place of an element of matrix `at`.
fn place(s: &MatrixStrides, at: [u64; BATCH_AXES], row: u64, col: u64) -> usize {
    let matrix: u64 = at.iter().zip(s.batch).map(|(index, stride)| index * stride).sum();
    (matrix + row * s.row + col * s.col) as usize
}

/// C after a product, from A, B and C before it.
pub(super) fn run<T: Real>(
    q: &Conditioned,
    p: &GemmParams,
    [a, b, start]: [&[T]; 3],
    bias: Option<&[T]>,
) -> Result<Vec<f32>, Failure> {
    let (a, b, mut c) = (q.upload(a)?, q.upload(b)?, q.upload(start)?);
    let bias = bias.map(|bias| q.upload(bias)).transpose()?;
    let bias = bias.as_ref().map(|bias| bias.view());
    q.gemm(Gemm { params: p, a: a.view(), b: b.view(), bias, c: c.view_mut() })?;
    Ok(wide(&q.download(&c)?))
}

/// Compares with f64 sums. Elements that no result covers keep their value.
///
/// That is `before`, unless results are added to random ones. The bound is relative to the sum of
/// the magnitudes of the terms, relative to the result, and absolute.
pub(super) fn hold<T: Real>(
    q: &Conditioned,
    p: &GemmParams,
    before: f32,
    with_bias: bool,
    [of_terms, of_result, least]: [f64; 3],
) -> Result<(), Failure> {
    let span = |s: &MatrixStrides, rows, cols| s.span(p.batch, rows, cols).unwrap_or(0) as usize;
    let mut random = InputSource::new(p.m * 1009 + p.k);
    let (a, b) = (random.reals::<T>(span(&p.a, p.m, p.k)), random.reals::<T>(span(&p.b, p.k, p.n)));
    let start = match p.accumulate {
        0 => vec![T::from_f32(before); span(&p.c, p.m, p.n)],
        _ => random.reals::<T>(span(&p.c, p.m, p.n)),
    };
    let bias = with_bias.then(|| random.reals::<T>(p.n as usize));
    let got = run(q, p, [&a, &b, &start], bias.as_deref())?;
    let (a, b, start) = (wide(&a), wide(&b), wide(&start));
    // The sum of each result, and the sum of the magnitudes of its terms.
    let mut sums: Vec<Option<[f64; 2]>> = vec![None; start.len()];
    for number in 0..p.batch.iter().product::<u64>() {
        let (mut at, mut rest) = ([0; BATCH_AXES], number);
        for (index, len) in at.iter_mut().zip(p.batch).rev() {
            (*index, rest) = (rest % len, rest / len);
        }
        for (i, j) in (0..p.m).flat_map(|i| (0..p.n).map(move |j| (i, j))) {
            let to = place(&p.c, at, i, j);
            let before = match &bias {
                Some(bias) => f64::from(bias[j as usize].to_f32()),
                None if p.accumulate == 1 => f64::from(start[to]),
                None => 0.0,
            };
            let [sum, magnitude] = sums[to].get_or_insert([before, before.abs()]);
            for l in 0..p.k {
                let product = f64::from(a[place(&p.a, at, i, l)]) * f64::from(b[place(&p.b, at, l, j)]);
                let term = f64::from(p.alpha) * product;
                (*sum, *magnitude) = (*sum + term, *magnitude + term.abs());
            }
        }
    }
    for (index, (&sum, &got)) in sums.iter().zip(&got).enumerate() {
        let (expected, within) = match sum {
            Some([sum, magnitude]) => {
                let expected = activation(p.activation, sum);
                (expected, of_terms * magnitude + (of_result + rounding::<T>()) * expected.abs() + least)
            }
            None => (f64::from(start[index]), 0.0),
        };
        let kept = sum.is_none() && expected.is_nan() && got.is_nan();
        let close = (f64::from(got) - expected).abs() <= within;
        if !kept && !close {
            let expected = format!("{expected:e} within {within:e} for a factor of {}", p.alpha);
            return Err(Failure::Differs { index, expected, got: format!("{got:e}") });
        }
    }
    Ok(())
}
