//! Matrix products in every layout, with epilogues and broadcast batches, against f64 sums.

use backend_api::{
    BackendError, Buffer, Queue, Real,
    ops::linalg::{Gemm, GemmOps},
};
use core_types::params::{
    elementwise::Activation,
    gemm::{GemmParams, MatrixStrides},
};
use cuda_backend::CudaQueue;
use half::{bf16, f16};

use crate::linalg::{
    model::activation,
    rig::{assert_close, on_every_order, reals, rounding},
};

/// One product with its inputs, and the expected result.
pub(crate) struct Product<T> {
    pub(crate) p: GemmParams,
    pub(crate) a: Vec<T>,
    pub(crate) b: Vec<T>,
    pub(crate) bias: Option<Vec<T>>,
    pub(crate) c: Vec<T>,
}

/// Strides of matrices without gaps.
pub(crate) fn strides(rows: usize, cols: usize, transposed: bool) -> MatrixStrides {
    let (row, col) = if transposed { (1, rows as u64) } else { (cols as u64, 1) };
    MatrixStrides { batch: [0, 0, 0, (rows * cols) as u64], row, col }
}

fn index(s: &MatrixStrides, batch: [u64; 4], row: usize, col: usize) -> usize {
    let batch: u64 = batch.iter().zip(s.batch).map(|(i, stride)| i * stride).sum();
    batch as usize + row * s.row as usize + col * s.col as usize
}

fn indices(batch: [u64; 4]) -> impl Iterator<Item = [u64; 4]> {
    let [b0, b1, b2, b3] = batch;
    let pairs = (0..b0).flat_map(move |i| (0..b1).map(move |j| (i, j)));
    pairs.flat_map(move |(i, j)| (0..b2).flat_map(move |k| (0..b3).map(move |l| [i, j, k, l])))
}

impl<T: Real> Product<T> {
    pub(crate) fn new([m, n, k]: [usize; 3], batch: usize, [ta, tb, tc]: [bool; 3]) -> Self {
        let (a, b, c) = (strides(m, k, ta), strides(k, n, tb), strides(m, n, tc));
        let p = GemmParams {
            batch: [1, 1, 1, batch as u64],
            m: m as u64,
            n: n as u64,
            k: k as u64,
            a,
            b,
            c,
            accumulate: 0,
            activation: Activation::Identity,
        };
        Self::with(p)
    }

    /// Inputs for the layouts of `p`.
    pub(crate) fn with(p: GemmParams) -> Self {
        let span = |s: &MatrixStrides, rows, cols| s.span(p.batch, rows, cols).unwrap() as usize;
        let (a, b) = (reals(1, span(&p.a, p.m, p.k), 1.0), reals(2, span(&p.b, p.k, p.n), 1.0));
        let c = if p.accumulate == 1 {
            reals(3, span(&p.c, p.m, p.n), 1.0)
        } else {
            vec![T::from_f32(f32::NAN); span(&p.c, p.m, p.n)]
        };
        Self { p, a, b, bias: None, c }
    }

    pub(crate) fn check(&self, q: &CudaQueue) {
        let p = &self.p;
        let (a, b, mut c) = (q.upload(&self.a).unwrap(), q.upload(&self.b).unwrap(), q.upload(&self.c).unwrap());
        let bias = self.bias.as_ref().map(|bias| q.upload(bias).unwrap());
        let bias = bias.as_ref().map(Buffer::view);
        q.gemm(Gemm { params: p, a: a.view(), b: b.view(), bias, c: c.view_mut() }).unwrap();
        let got = q.download(&c).unwrap();
        // Elements that no result covers keep their value.
        let mut want: Vec<f64> = self.c.iter().map(|c| f64::from(c.to_f32())).collect();
        let mut within = vec![0.0; want.len()];
        let mut seen = vec![p.accumulate == 1; want.len()];
        let [wide_a, wide_b] = [&self.a, &self.b].map(|x| x.iter().map(|x| f64::from(x.to_f32())).collect::<Vec<_>>());
        let (a_step, b_step) = (p.a.col as usize, p.b.row as usize);
        for at in indices(p.batch) {
            for (i, j) in (0..p.m as usize).flat_map(|i| (0..p.n as usize).map(move |j| (i, j))) {
                let to = index(&p.c, at, i, j);
                let before = if core::mem::replace(&mut seen[to], true) { want[to] } else { 0.0 };
                let (mut x, mut y) = (index(&p.a, at, i, 0), index(&p.b, at, 0, j));
                let (mut sum, mut magnitude, mut left) = (0.0, 0.0, p.k);
                // Without iterators: tests are compiled without optimization, and this loop runs 350 million times.
                while left > 0 {
                    let term = wide_a[x] * wide_b[y];
                    sum += term;
                    magnitude += term.abs();
                    (x, y, left) = (x + a_step, y + b_step, left - 1);
                }
                want[to] = before + sum;
                within[to] += 1e-6 * magnitude;
                if p.accumulate == 0 {
                    let bias = self.bias.as_ref().map_or(0.0, |bias| f64::from(bias[j].to_f32()));
                    want[to] = activation(p.activation, want[to] + bias);
                }
            }
        }
        let what = format!("{}x{}x{} of {}, {:?} {:?} {:?}", p.m, p.n, p.k, T::DTYPE, p.a, p.b, p.c);
        for (i, (want, got)) in want.iter().zip(&got).enumerate() {
            let atol = 2.0 * within[i] + 1e-6;
            assert_close(&format!("{what}, {i}"), &[*want], &[*got], rounding::<T>() + 1e-6, atol);
        }
    }
}

/// Ones, primes, an empty k, tile edges; aligned and not.
const SIZES: [[usize; 3]; 9] = [
    [1, 1, 1],
    [3, 2, 0],
    [1, 17, 5],
    [13, 1, 7],
    [31, 33, 35],
    [32, 64, 48],
    [64, 40, 64],
    [72, 136, 24],
    [8, 16, 600],
];

fn layouts() -> impl Iterator<Item = [bool; 3]> {
    (0..8).map(|bits| [bits & 1 != 0, bits & 2 != 0, bits & 4 != 0])
}

#[test]
fn f32_products_are_within_their_bound_in_every_layout() {
    on_every_order(|q| {
        for size in SIZES {
            layouts().for_each(|layout| Product::<f32>::new(size, 1, layout).check(q));
        }
    });
}

#[test]
fn products_of_16_bits_are_within_their_bound_in_every_layout() {
    on_every_order(|q| {
        for size in SIZES {
            layouts().take(4).for_each(|layout| Product::<f16>::new(size, 1, layout).check(q));
            layouts().skip(4).for_each(|layout| Product::<bf16>::new(size, 1, layout).check(q));
        }
    });
}

#[test]
fn epilogues_follow_the_sum() {
    on_every_order(|q| {
        for f in Activation::ALL {
            for size in [[5, 7, 0], [33, 20, 17], [40, 32, 16], [8, 8, 520]] {
                let mut product = Product::<f32>::new(size, 1, [false; 3]);
                product.p.activation = f;
                product.check(q);
                product.bias = Some(reals(9, size[1], 1.0));
                product.check(q);
            }
            let mut product = Product::<bf16>::new([40, 32, 16], 1, [false, true, false]);
            (product.p.activation, product.bias) = (f, Some(reals(9, 32, 1.0)));
            product.check(q);
        }
    });
}

#[test]
fn batches_broadcast_and_accumulate() {
    on_every_order(|q| {
        // Two leading axes, B broadcast along the inner one; gaps between the rows of C.
        let p = GemmParams {
            batch: [1, 3, 2, 1],
            a: MatrixStrides { batch: [0, 70, 35, 0], row: 7, col: 1 },
            b: MatrixStrides { batch: [0, 28, 0, 0], row: 4, col: 1 },
            c: MatrixStrides { batch: [0, 60, 30, 0], row: 6, col: 1 },
            ..Product::<f32>::new([5, 4, 7], 1, [false; 3]).p
        };
        Product::<f32>::with(p).check(q);
        // The sum over the batch: C has a stride of zero.
        for size in [[5, 4, 7], [16, 8, 32], [8, 16, 520]] {
            for layout in [[false; 3], [true, false, false], [false, true, false]] {
                let mut p = Product::<f32>::new(size, 5, layout).p;
                (p.c.batch, p.accumulate) = ([0; 4], 1);
                Product::<f32>::with(p).check(q);
                Product::<f16>::with(p).check(q);
            }
        }
        Product::<f32>::new([3, 3, 2], 257, [false; 3]).check(q);
        Product::<bf16>::new([8, 8, 8], 33, [false; 3]).check(q);
    });
}

#[test]
fn views_and_results_that_do_not_fit_are_refused() {
    on_every_order(|q| {
        let good = Product::<f32>::new([4, 4, 4], 2, [false; 3]);
        let (a, mut c) = (q.upload(&good.a).unwrap(), q.zeros::<f32>(32).unwrap());
        let short = a.slice(0..31).unwrap();
        let refused = q.gemm(Gemm { params: &good.p, a: short, b: a.view(), bias: None, c: c.view_mut() });
        assert_eq!(refused, Err(BackendError::Length { op: "gemm", view: "a", expected: 32, got: 31 }));
        let mut run = |params| q.gemm(Gemm { params: &params, a: a.view(), b: a.view(), bias: None, c: c.view_mut() });
        let overlap = BackendError::Unsupported { op: "gemm", why: "elements of the result overlap" };
        let mut p = good.p;
        p.c.row = 3;
        assert_eq!(run(p), Err(overlap.clone()));
        (p.c.row, p.c.batch) = (4, [0; 4]);
        assert_eq!(run(p), Err(overlap));
        (p.accumulate, p.activation) = (1, Activation::Relu);
        let epilogue = BackendError::Unsupported {
            op: "gemm",
            why: "accumulation cannot be combined with a bias or an activation",
        };
        assert_eq!(run(p), Err(epilogue));
        run(GemmParams { m: 0, ..good.p }).unwrap();
        assert_eq!(q.download(&c).unwrap(), [0.0; 32]);
    });
}
