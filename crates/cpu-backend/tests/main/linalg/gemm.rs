//! Products of matrices at every vector level, and with and without instructions for bf16.

use backend_api::{
    Real,
    ops::linalg::{Gemm, GemmOps},
};
use core_types::params::{
    elementwise::Activation,
    gemm::{GemmParams, MatrixStrides},
};
use cpu_backend::{CpuQueue, Simd};
use half::{bf16, f16};

use super::gemm_params;
use crate::levels::{levels, queue};

/// Every level, and the strongest without instructions for bf16.
fn paths() -> impl Iterator<Item = Simd> {
    levels().flat_map(|simd| [Some(simd), simd.bf16().then(|| simd.without_bf16())]).flatten()
}

fn values<T: Real>(seed: u64, count: usize) -> Vec<T> {
    let mut rng = fastrand::Rng::with_seed(seed);
    core::iter::repeat_with(|| T::from_f32(2.0 * rng.f32() - 1.0)).take(count).collect()
}

/// A matrix of `rows` rows by rows, by columns, or with gaps everywhere.
fn strides(form: usize, rows: usize, cols: usize) -> MatrixStrides {
    let [row, col] = [[cols, 1], [1, rows], [2 * cols + 1, 2]][form].map(|stride| stride as u64);
    MatrixStrides { batch: [0; 4], row, col }
}

fn place(s: &MatrixStrides, row: usize, col: usize) -> usize {
    row * s.row as usize + col * s.col as usize
}

/// A product of matrices in these forms.
fn params([m, n, k]: [usize; 3], [a, b, c]: [usize; 3]) -> GemmParams {
    let [a, b, c] = [strides(a, m, k), strides(b, k, n), strides(c, m, n)];
    GemmParams { a, b, c, ..gemm_params(1, [m, n, k], [false; 3]) }
}

/// Elements that a matrix in any form reaches.
fn room(rows: usize, cols: usize) -> usize {
    rows * (2 * cols + 1) + 2
}

/// Sizes around every number of lines, slots and rows of a tile.
///
/// One has no terms, one has several pieces of terms, and one is a small layer.
const SIZES: [[usize; 3]; 11] = [
    [1, 1, 1],
    [4, 3, 0],
    [1, 20, 3],
    [3, 16, 2],
    [17, 33, 31],
    [16, 48, 64],
    [31, 50, 33],
    [40, 5, 7],
    [7, 17, 1601],
    [150, 50, 40],
    [9, 64, 24],
];

fn is_close<T: Real>(simd: Simd, step: f64) {
    let q = queue(simd, 1);
    for (index, size @ [m, n, k]) in SIZES.into_iter().enumerate() {
        let (a, b, bias) = (values::<T>(1, room(m, k)), values::<T>(2, room(k, n)), values::<T>(3, n));
        for form in (0..27).step_by(if m * n * k < 40_000 { 1 } else { 4 }) {
            let p = params(size, [form % 3, form / 3 % 3, form / 9]);
            let before = values::<T>(4, room(m, n));
            for (accumulate, bias) in [(0, None), (1, None), (0, Some(&bias[..]))] {
                let mut c = before.clone();
                let activation = if bias.is_some() { Activation::Relu } else { Activation::Identity };
                // Each form meets each factor in a product of some size.
                let alpha = [1.0, -0.75, 1.5][(index + form) % 3];
                let p = GemmParams { accumulate, activation, alpha, ..p };
                q.gemm(Gemm { params: &p, a: &a, b: &b, bias, c: &mut c[..] }).unwrap();
                let mut wanted = before.clone();
                for i in 0..m {
                    for j in 0..n {
                        let at = place(&p.c, i, j);
                        let start = if accumulate == 1 { f64::from(before[at].to_f32()) } else { 0.0 };
                        let (mut sum, mut size) = (start, start.abs());
                        for t in 0..k {
                            let [a, b] = [a[place(&p.a, i, t)], b[place(&p.b, t, j)]].map(|x| f64::from(x.to_f32()));
                            let term = f64::from(alpha) * a * b;
                            (sum, size) = (sum + term, size + term.abs());
                        }
                        if let Some(bias) = bias {
                            sum = (sum + f64::from(bias[j].to_f32())).max(0.0);
                        }
                        let (got, bound) = (f64::from(c[at].to_f32()), sum.abs() * step + size * 1e-6);
                        assert!((got - sum).abs() <= bound, "{simd:?} {p:?}: {i}, {j}: {got}, not {sum}");
                        wanted[at] = c[at];
                    }
                }
                assert!(c == wanted, "{simd:?} {p:?}: between elements");
            }
        }
    }
}

#[test]
fn products_of_any_layout_are_close_to_their_definition() {
    for simd in paths() {
        is_close::<f32>(simd, 1e-6);
        is_close::<bf16>(simd, 1.0 / 256.0);
        is_close::<f16>(simd, 1.0 / 2048.0);
    }
}

/// Rows alone, in small batches, on more threads, and columns apart from each other.
fn bits_stay<T: Real>(simd: Simd, [m, n, k]: [usize; 3]) {
    let (one, three) = (queue(simd, 1), queue(simd, 3));
    let (a, b) = (values::<T>(1, m * k), values::<T>(2, k * n));
    for form in 0..2 {
        let p = params([m, n, k], [0, form, 0]);
        let product = |q: &CpuQueue, first: usize, rows: usize| {
            let mut c = values::<T>(5, rows * n);
            let mut p = p;
            p.m = rows as u64;
            q.gemm(Gemm { params: &p, a: &a[first * k..], b: &b, bias: None, c: &mut c[..] }).unwrap();
            c
        };
        let all = product(&one, 0, m);
        assert!(product(&three, 0, m) == all, "{simd:?} {m}x{n}x{k}: threads");
        for (first, rows) in [(0, 1), (m - 1, 1), (m / 2, 2), (1, 17), (3, 40)] {
            let rows = rows.min(m - first);
            assert!(product(&one, first, rows) == all[first * n..][..rows * n], "{simd:?} {m}x{n}x{k}: {rows} rows");
        }
    }
}

#[test]
fn bits_of_a_row_depend_on_no_other_row() {
    for simd in paths() {
        for size in [[130, 10, 784], [130, 1, 1000], [64, 500, 301], [64, 64, 900]] {
            bits_stay::<f32>(simd, size);
            bits_stay::<bf16>(simd, size);
        }
    }
}

#[test]
fn batches_that_share_a_result_are_rounded_once() {
    for simd in paths() {
        let q = queue(simd, 1);
        let (ones, mut c) = (vec![bf16::ONE; 64], [bf16::from_f32(256.0)]);
        let mut p = params([1, 1, 1], [0, 0, 0]);
        (p.batch[3], p.a.batch[3], p.b.batch[3], p.accumulate) = (64, 1, 1, 1);
        q.gemm(Gemm { params: &p, a: &ones, b: &ones, bias: None, c: &mut c[..] }).unwrap();
        assert_eq!(c[0].to_f32(), 320.0, "{simd:?}");
    }
}

/// Results along one axis, each of products along the axes around it.
#[test]
fn products_along_several_axes_are_rounded_once() {
    for simd in paths() {
        let q = queue(simd, 1);
        // 15 products of 1, and 15 of 2, in the rows of [3, 1, 2, 5]
        let a: Vec<bf16> = (0..30).map(|i| bf16::from_f32(if i / 5 % 2 == 0 { 1.0 } else { 2.0 })).collect();
        let mut c = [256.0, -1.0, 256.0].map(bf16::from_f32);
        let mut p = params([1, 1, 1], [0, 0, 0]);
        (p.batch, p.a.batch, p.b.batch) = ([3, 1, 2, 5], [10, 10, 5, 1], [0; 4]);
        (p.c.batch, p.accumulate) = ([0, 0, 2, 0], 1);
        q.gemm(Gemm { params: &p, a: &a, b: &[bf16::ONE], bias: None, c: &mut c[..] }).unwrap();
        // 271 rounds to even; sums of 5 that are each rounded would end at 268. Between results nothing is written.
        assert_eq!(c.map(bf16::to_f32), [272.0, -1.0, 286.0], "{simd:?}");
    }
}
