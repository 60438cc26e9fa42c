//! Matrix products with epilogues, broadcast batches and gradients, checked against f64 sums.

use backend_api::{Buffer, Queue, Real};
use half::{bf16, f16};
use nn_ops::{
    Activation, GemmPlan, Layout, LinearOperands, NnError, TensorMut, TensorRef, linear, matmul_backward_lhs,
    matmul_backward_rhs,
};

use super::{
    batches,
    model::{InputSource, activation, rounding},
    strides,
};
use crate::{Case, Conditioned, Failure, OpSpec, list::ListIterator as _};

/// (m, n, k): ones, primes, empty axes, tile edges and sizes above the parallel grain.
const SIZES: [(usize, usize, usize); 16] = [
    (1, 1, 1),
    (0, 3, 2),
    (3, 0, 2),
    (3, 2, 0),
    (1, 17, 5),
    (13, 1, 7),
    (2, 3, 5),
    (7, 11, 13),
    (31, 33, 32),
    (32, 128, 64),
    (64, 64, 64),
    (67, 71, 73),
    (97, 48, 255),
    (1, 257, 256),
    (129, 131, 257),
    (128, 192, 512),
];

pub(super) fn specs() -> Vec<OpSpec> {
    let mut products = Vec::new();
    for (m, n, k) in SIZES {
        for (ta, tb) in [(false, false), (false, true), (true, false), (true, true)] {
            let name = format!("A{} B{}, {m}x{n}x{k}", mark(ta), mark(tb));
            let shape = GemmShape { transposed: [ta, tb, ta && tb], ..GemmShape::new(1, m, n, k) };
            products.push(Case::new(name, move |q| product::<f32>(q, shape)));
        }
        let (nt, tn) = (GemmShape::new(1, m, n, k).with([false, true]), GemmShape::new(1, m, n, k).with([true, false]));
        products.push(Case::new(format!("f16 {m}x{n}x{k}"), move |q| product::<f16>(q, nt)));
        products.push(Case::new(format!("bf16 {m}x{n}x{k}"), move |q| product::<bf16>(q, tn)));
    }
    for m in batches() {
        products.push(Case::new(format!("{m} rows"), move |q| product::<f32>(q, GemmShape::new(1, m, 5, 3))));
    }
    for ta in [false, true] {
        for tb in [false, true] {
            let name = format!("A{} B{}, C and its transpose, every type", mark(ta), mark(tb));
            products.push(Case::new(name, move |q| in_every_type(q, [ta, tb])));
        }
        let wide = [(1, 72, 80, 104), (96, 8, 16, 104), (96, 72, 72, 40), (33, 8, 8, 8), (1, 8, 16, 600)];
        products.extend(aligned(ta, false, &wide));
        let odd = [(1, 72, 80, 104), (96, 8, 17, 104), (96, 72, 72, 40), (1, 24, 77, 104), (1, 8, 77, 512)];
        products.extend(aligned(ta, true, &odd));
    }
    let mut epilogues = Vec::new();
    for f in Activation::ALL {
        for (m, n, k) in [(1, 1, 1), (3, 5, 0), (8, 8, 520), (32, 128, 64), (131, 257, 33)] {
            let name = format!("{}, {m}x{n}x{k}", f.name());
            epilogues.push(Case::new(name, move |q| epilogue::<f32>(q, f, GemmShape::new(1, m, n, k), true)));
        }
        let shape = GemmShape::new(1, 40, 32, 16).with([false, true]);
        let name = format!("bf16, {}, A BT, 40x32x16", f.name());
        epilogues.push(Case::new(name, move |q| epilogue::<bf16>(q, f, shape, true)));
    }
    for (m, n, k) in [(24, 77, 104), (12_192, 17, 8)] {
        for ta in [false, true] {
            let shape = GemmShape::new(1, m, n, k).with([ta, true]);
            epilogues.push(Case::new(format!("16 bits, A{} BT, {m}x{n}x{k}", mark(ta)), move |q| {
                epilogue::<f16>(q, Activation::Relu, shape, true)?;
                epilogue::<bf16>(q, Activation::Relu, shape, true)
            }));
        }
    }
    for f in [Activation::Identity, Activation::Sigmoid] {
        epilogues.push(Case::new(format!("{} without a bias", f.name()), move |q| {
            for (m, n, k) in [(5, 33, 7), (8, 8, 520), (32, 128, 64), (72, 80, 104)] {
                epilogue::<f32>(q, f, GemmShape::new(1, m, n, k), false)?;
                epilogue::<bf16>(q, f, GemmShape::new(1, m, n, k), false)?;
            }
            Ok(())
        }));
    }
    let mut batches = strides::cases();
    batches.extend([
        Case::new("two leading axes, B broadcast along the inner one", |q| {
            batched(q, &[3, 2, 5, 7], &[3, 1, 7, 4], &[3, 2, 5, 4])
        }),
        Case::new("A broadcast along a missing axis", |q| batched(q, &[5, 7], &[9, 7, 4], &[9, 5, 4])),
        Case::new("crossed broadcast over three axes", |q| {
            batched(q, &[2, 1, 3, 3, 2], &[1, 4, 3, 2, 6], &[2, 4, 3, 3, 6])
        }),
        Case::new("an empty batch", |q| batched(q, &[0, 5, 7], &[7, 4], &[0, 5, 4])),
        Case::new("96 large tiles of a GPU, 32 A and three B", |q| {
            batched(q, &[32, 8, 40], &[3, 1, 40, 8], &[3, 32, 8, 8])
        }),
        Case::new("257 small products", |q| batched(q, &[257, 3, 2], &[257, 2, 3], &[257, 3, 3])),
    ]);
    let gradients = vec![
        Case::new("of one product", |q| gradients(q, &[5, 7], &[7, 4], &[5, 4])),
        Case::new("of a broadcast A", |q| gradients(q, &[5, 7], &[6, 7, 4], &[6, 5, 4])),
        Case::new("of a broadcast B", |q| gradients(q, &[2, 6, 5, 7], &[1, 6, 7, 4], &[2, 6, 5, 4])),
    ];
    vec![
        OpSpec { op: "linalg.gemm", cases: products },
        OpSpec { op: "linalg.gemm batched", cases: batches },
        OpSpec { op: "linalg.gemm with epilogue", cases: epilogues },
        OpSpec { op: "linalg.gemm gradients", cases: gradients },
    ]
}

/// What follows the name of a factor: `T` where it is transposed.
fn mark(transposed: bool) -> &'static str {
    if transposed { "T" } else { "" }
}

/// Products whose lines are aligned to 16 bytes in every element type.
///
/// They are given by `(batch, m, n, k)`: one tile of a GPU's kernels and a part of a second, many
/// tiles, large ones with results in each warp, small ones in a batch, odd rows, and k in parts.
fn aligned(ta: bool, tb: bool, sizes: &[(usize, usize, usize, usize)]) -> Vec<Case> {
    let mut cases = Vec::new();
    for &(batch, m, n, k) in sizes {
        let name = format!("A{} B{}, aligned, {batch} of {m}x{n}x{k}", mark(ta), mark(tb));
        let shape = GemmShape::new(batch, m, n, k).with([ta, tb]);
        let narrow = Case::new(format!("16 bits, {name}"), move |q| {
            product::<f16>(q, shape)?;
            product::<bf16>(q, shape)
        });
        // Tiles of f32 are half as deep.
        let single = GemmShape { k: if batch > 1 { 40 } else { k }, ..shape };
        cases.extend([Case::new(name, move |q| product::<f32>(q, single)), narrow]);
    }
    cases
}

/// Products in every layout and type, one in tiles of any layout and one in aligned tiles.
fn in_every_type(q: &Conditioned, [ta, tb]: [bool; 2]) -> Result<(), Failure> {
    for (m, n, k) in [(31, 33, 35), (64, 40, 64)] {
        for tc in [false, true] {
            let shape = GemmShape { transposed: [ta, tb, tc], ..GemmShape::new(1, m, n, k) };
            product::<f32>(q, shape)?;
            product::<f16>(q, shape)?;
            product::<bf16>(q, shape)?;
        }
    }
    Ok(())
}

/// `batch` products `C = A B` of sizes m, n and k.
#[derive(Clone, Copy)]
struct GemmShape {
    batch: usize,
    m: usize,
    n: usize,
    k: usize,
    /// Which of A, B and C are transposes of row-major matrices.
    transposed: [bool; 3],
}

impl GemmShape {
    /// Of row-major matrices.
    fn new(batch: usize, m: usize, n: usize, k: usize) -> Self {
        Self { batch, m, n, k, transposed: [false; 3] }
    }

    /// With these factors transposed.
    fn with(self, [a, b]: [bool; 2]) -> Self {
        Self { transposed: [a, b, false], ..self }
    }

    fn layouts(self) -> Result<[Layout; 3], NnError> {
        let layout = |rows, cols, transposed| match transposed {
            false => Layout::contiguous(&[self.batch, rows, cols]),
            true => Layout::contiguous(&[self.batch, cols, rows])?.transposed(),
        };
        let [a, b, c] = self.transposed;
        Ok([layout(self.m, self.k, a)?, layout(self.k, self.n, b)?, layout(self.m, self.n, c)?])
    }
}

fn index(l: &Layout, at: &[usize]) -> usize {
    at.iter().zip(l.strides()).map(|(i, s)| i * s).sum()
}

fn product<T: Real>(q: &Conditioned, shape: GemmShape) -> Result<(), Failure> {
    let GemmShape { batch, m, n, k, .. } = shape;
    let mut random = InputSource::new((m * 1_000_003 + n * 1009 + k) as u64);
    let (a, b) = (random.reals::<T>(batch * m * k), random.reals::<T>(batch * k * n));
    let [la, lb, lc] = shape.layouts()?;
    let (da, db) = (q.upload(&a)?, q.upload(&b)?);
    let mut dc = q.upload(&vec![T::from_f32(f32::NAN); batch * m * n])?;
    let plan = GemmPlan::new(&la, &lb, &lc)?;
    let (x, y) = (TensorRef::new(da.view(), la)?, TensorRef::new(db.view(), lb)?);
    plan.run(q, x, y, TensorMut::new(dc.view_mut(), lc)?)?;
    let c = q.download(&dc)?;
    // The error of a sum is bounded by the sum of magnitudes; the result is rounded once.
    let rounding = rounding::<T>();
    for (at, (sum, magnitude)) in sums([&by_rows(&la, &a), &by_rows(&lb, &b)], [batch, m, n, k]).into_iter().enumerate()
    {
        let (result, i, j) = (at / (m * n), at / n % m, at % n);
        let got = f64::from(c[index(&lc, &[result, i, j])].to_f32());
        let within = 1e-6 * magnitude + rounding * sum.abs();
        if got.is_nan() || (got - sum).abs() > within {
            let place = format!("C[{result}][{i}][{j}]");
            return Err(Failure::Broken(format!("{place}: expected {sum:e} within {within:e}, got {got:e}")));
        }
    }
    Ok(())
}

/// The elements of one matrix or several, row by row.
fn by_rows<T: Real>(l: &Layout, x: &[T]) -> Vec<f64> {
    let (shape, strides) = (l.shape(), l.strides());
    let (lead, last) = shape.split_at(shape.len() - 2);
    let matrices = (0..lead.first().copied().unwrap_or(1)).map(|matrix| matrix * strides[0]);
    let rows = matrices.flat_map(|first| (0..last[0]).map(move |row| first + row * strides[lead.len()]));
    let places = rows.flat_map(|first| (0..last[1]).map(move |col| first + col * strides[lead.len() + 1]));
    places.map(|place| f64::from(x[place].to_f32())).list()
}

/// Products of matrices, each element with the sum of the magnitudes of its terms.
fn sums([a, b]: [&[f64]; 2], [batch, m, n, k]: [usize; 4]) -> Vec<(f64, f64)> {
    let mut sums = vec![(0.0, 0.0); batch * m * n];
    for (row, sums) in sums.chunks_mut(n.max(1)).enumerate() {
        for (l, x) in a[row * k..][..k].iter().enumerate() {
            let b = &b[(row / m * k + l) * n..][..n];
            sums.iter_mut().zip(b).for_each(|((sum, magnitude), y)| {
                *sum += x * y;
                *magnitude += (x * y).abs();
            });
        }
    }
    sums
}

fn epilogue<T: Real>(q: &Conditioned, f: Activation, shape: GemmShape, with_bias: bool) -> Result<(), Failure> {
    let GemmShape { m, n, k, transposed: [ta, tb, _], .. } = shape;
    let mut random = InputSource::new((m + n + k) as u64);
    let (a, b, bias) = (random.reals::<T>(m * k), random.reals::<T>(k * n), random.reals::<T>(n));
    let (da, db, dbias) = (q.upload(&a)?, q.upload(&b)?, q.upload(&bias)?);
    let mut dc = q.zeros::<T>(m * n)?;
    let layout = |rows, cols, transposed| match transposed {
        false => Layout::contiguous(&[rows, cols]),
        true => Layout::contiguous(&[cols, rows])?.transposed(),
    };
    let (la, lb) = (layout(m, k, ta)?, layout(k, n, tb)?);
    let (x, w) = (TensorRef::new(da.view(), la)?, TensorRef::new(db.view(), lb)?);
    let operand = with_bias.then(|| TensorRef::contiguous(dbias.view(), &[n])).transpose()?;
    linear(q, LinearOperands { x, w, bias: operand }, f, TensorMut::contiguous(dc.view_mut(), &[m, n])?)?;
    let sums = sums([&by_rows(&la, &a), &by_rows(&lb, &b)], [1, m, n, k]);
    let element = |(at, (sum, _)): (usize, (f64, f64))| {
        let bias = if with_bias { f64::from(bias[at % n].to_f32()) } else { 0.0 };
        activation(f, sum + bias)
    };
    let expected: Vec<f64> = sums.into_iter().enumerate().map(element).list();
    let c: Vec<f32> = q.download(&dc)?.into_iter().map(T::to_f32).list();
    // Rounding errors of a long sum add up.
    let atol = if k < 512 { 1e-5 } else { 1e-4 };
    Failure::unless_close(&expected, &c, 1e-5 + rounding::<T>(), atol)
}

/// The f64 product with broadcasting, by walking every index of C.
fn model(a: &[f32], la: &Layout, b: &[f32], lb: &Layout, c_shape: &[usize]) -> Result<Vec<f64>, Failure> {
    let (lead, last) = c_shape.split_at(c_shape.len() - 2);
    let k = la.shape()[la.rank() - 1];
    let wide = |l: &Layout, rows: usize, cols: usize| {
        let shape: Vec<usize> = lead.iter().copied().chain([rows, cols]).list();
        l.broadcast(&shape).map_err(Failure::from)
    };
    let (la, lb) = (wide(la, last[0], k)?, wide(lb, k, last[1])?);
    let mut out = Vec::new();
    for flat in 0..c_shape.iter().product() {
        let mut at = vec![0; c_shape.len()];
        let mut rest = flat;
        for (i, len) in at.iter_mut().zip(c_shape).rev() {
            (*i, rest) = (rest % len, rest / len);
        }
        let (mut at_a, mut at_b) = (at.clone(), at);
        let mut sum = 0.0;
        for l in 0..k {
            at_a[lead.len() + 1] = l;
            at_b[lead.len()] = l;
            sum += f64::from(a[index(&la, &at_a)]) * f64::from(b[index(&lb, &at_b)]);
        }
        out.push(sum);
    }
    Ok(out)
}

fn batched(q: &Conditioned, a_shape: &[usize], b_shape: &[usize], c_shape: &[usize]) -> Result<(), Failure> {
    let mut random = InputSource::new(7);
    let contiguous = |shape: &[usize]| Layout::contiguous(shape).map_err(Failure::from);
    let (la, lb, lc) = (contiguous(a_shape)?, contiguous(b_shape)?, contiguous(c_shape)?);
    let (a, b) = (random.reals::<f32>(la.numel()), random.reals::<f32>(lb.numel()));
    let (da, db) = (q.upload(&a)?, q.upload(&b)?);
    let mut dc = q.zeros::<f32>(lc.numel())?;
    let plan = GemmPlan::new(&la, &lb, &lc)?;
    let (x, y) = (TensorRef::new(da.view(), la)?, TensorRef::new(db.view(), lb)?);
    plan.run(q, x, y, TensorMut::new(dc.view_mut(), lc)?)?;
    Failure::unless_close(&model(&a, &la, &b, &lb, c_shape)?, &q.download(&dc)?, 1e-6, 1e-5)
}

/// Compares both gradients with central differences of `L = sum(G * (A B))` in the f64 model.
///
/// L is linear in each operand, so the differences are exact except for rounding.
fn gradients(q: &Conditioned, a_shape: &[usize], b_shape: &[usize], c_shape: &[usize]) -> Result<(), Failure> {
    let mut random = InputSource::new(11);
    let contiguous = |shape: &[usize]| Layout::contiguous(shape).map_err(Failure::from);
    let (la, lb, lc) = (contiguous(a_shape)?, contiguous(b_shape)?, contiguous(c_shape)?);
    let (a, b, g) = (random.reals(la.numel()), random.reals(lb.numel()), random.reals::<f32>(lc.numel()));
    let (da, db, dg) = (q.upload(&a)?, q.upload(&b)?, q.upload(&g)?);
    let (mut ga, mut gb) = (q.zeros::<f32>(a.len())?, q.zeros::<f32>(b.len())?);
    let upstream = TensorRef::new(dg.view(), lc)?;
    matmul_backward_lhs(q, upstream, TensorRef::new(db.view(), lb)?, TensorMut::new(ga.view_mut(), la)?)?;
    matmul_backward_rhs(q, TensorRef::new(da.view(), la)?, upstream, TensorMut::new(gb.view_mut(), lb)?)?;
    let loss = |a: &[f32], b: &[f32]| -> Result<f64, Failure> {
        Ok(model(a, &la, b, &lb, c_shape)?.iter().zip(&g).map(|(y, &g)| y * f64::from(g)).sum())
    };
    const STEP: f32 = 0.25; // exactly representable in f32 with inputs that are multiples of 2^-12
    let differences = |of_a: bool| -> Result<Vec<f64>, Failure> {
        let len = if of_a { a.len() } else { b.len() };
        (0..len)
            .map(|i| {
                let at = |step: f32| {
                    let (mut a, mut b) = (a.clone(), b.clone());
                    (if of_a { &mut a } else { &mut b })[i] += step;
                    loss(&a, &b)
                };
                Ok((at(STEP)? - at(-STEP)?) / f64::from(2.0 * STEP))
            })
            .collect()
    };
    Failure::unless_close(&differences(true)?, &q.download(&ga)?, 1e-5, 1e-5)?;
    Failure::unless_close(&differences(false)?, &q.download(&gb)?, 1e-5, 1e-5)
}
