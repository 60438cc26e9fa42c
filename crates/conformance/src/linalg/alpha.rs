//! Products times a factor, with every epilogue, against f64 sums.

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
use crate::{Case, Conditioned, Failure, OpSpec, list::List as _};

const ALPHAS: [f32; 3] = [0.5, -2.0, 0.0];
/// Products summed into one result.
const SHARED: u64 = 3;

/// m, n and k, and which of A, B and C are transposes of row-major matrices.
type ProductCase = ([u64; 3], [bool; 3]);

/// Products for each path of a backend.
///
/// A GPU takes them in tiles of any layout, in aligned tiles, in parts of k, and turned. The
/// processor takes them as a small layer, in place in several pieces, and packed in several pieces.
/// One has no terms.
const PRODUCTS: [ProductCase; 8] = [
    ([5, 4, 7], [false; 3]),
    ([16, 8, 32], [true, false, false]),
    ([8, 16, 520], [false, true, false]),
    ([16, 24, 32], [false, false, true]),
    ([32, 64, 32], [false; 3]),
    ([7, 17, 801], [false; 3]),
    ([50, 17, 390], [false; 3]),
    ([3, 5, 0], [false; 3]),
];

/// What becomes of `alpha A B`.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Output {
    /// It is the result.
    Plain,
    /// A bias is added, and a function applied.
    Layer(Activation),
    /// It is added to C.
    Adds,
    /// The products of a batch are added to one C.
    Shared,
}

const OUTPUTS: [Output; 6] = [
    Output::Plain,
    Output::Layer(Activation::Identity),
    Output::Layer(Activation::Relu),
    Output::Layer(Activation::Silu),
    Output::Adds,
    Output::Shared,
];

pub(super) fn specs() -> Vec<OpSpec> {
    let mut cases = Vec::new();
    for product @ ([m, n, k], _) in PRODUCTS {
        for output in OUTPUTS {
            cases.push(Case::new(format!("{output:?}, {m}x{n}x{k}"), move |q| {
                scaled::<f32>(q, product, output)?;
                scaled::<f16>(q, product, output)?;
                scaled::<bf16>(q, product, output)
            }));
        }
    }
    cases.push(Case::new("a power of two scales without rounding", powers_of_two));
    cases.push(Case::new("infinite and NaN factors and sums", specials));
    vec![OpSpec { op: "linalg.gemm with alpha", cases }]
}

fn params(([m, n, k], [ta, tb, tc]): ProductCase, output: Output) -> GemmParams {
    let strides = |rows: u64, cols: u64, transposed: bool| {
        let (row, col) = if transposed { (1, rows) } else { (cols, 1) };
        MatrixStrides { batch: [0, 0, 0, rows * cols], row, col }
    };
    let c = strides(m, n, tc);
    let (matrices, c_batch) = if output == Output::Shared { (SHARED, [0; BATCH_AXES]) } else { (1, c.batch) };
    GemmParams {
        batch: [1, 1, 1, matrices],
        m,
        n,
        k,
        a: strides(m, k, ta),
        b: strides(k, n, tb),
        c: MatrixStrides { batch: c_batch, ..c },
        accumulate: u32::from(matches!(output, Output::Adds | Output::Shared)),
        activation: if let Output::Layer(f) = output { f } else { Activation::Identity },
        alpha: 1.0,
        reserved: 0,
    }
}

/// C after a product, from A, B and C before it.
fn run<T: Real>(
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

fn scaled<T: Real>(q: &Conditioned, product: ProductCase, output: Output) -> Result<(), Failure> {
    let p = params(product, output);
    let (matrices, m, n, k) = (p.batch[BATCH_AXES - 1], p.m, p.n, p.k);
    let mut random = InputSource::new(m * 1009 + k);
    let (a, b) = (random.reals::<T>((matrices * m * k) as usize), random.reals::<T>((matrices * k * n) as usize));
    let start = match p.accumulate {
        0 => vec![T::from_f32(f32::NAN); (m * n) as usize],
        _ => random.reals::<T>((m * n) as usize),
    };
    let bias = matches!(output, Output::Layer(_)).then(|| random.reals::<T>(n as usize));
    let (wide_a, wide_b, wide_start) = (wide(&a), wide(&b), wide(&start));
    for alpha in ALPHAS {
        let got = run(q, &GemmParams { alpha, ..p }, [&a, &b, &start], bias.as_deref())?;
        for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
            let index = (i * p.c.row + j * p.c.col) as usize;
            let before = match &bias {
                Some(bias) => f64::from(bias[j as usize].to_f32()),
                None if p.accumulate == 1 => f64::from(wide_start[index]),
                None => 0.0,
            };
            // The sum, and the sum of the magnitudes of its terms.
            let (mut sum, mut magnitude) = (before, before.abs());
            for (matrix, l) in (0..matrices).flat_map(|matrix| (0..k).map(move |l| (matrix, l))) {
                let x = wide_a[(matrix * m * k + i * p.a.row + l * p.a.col) as usize];
                let y = wide_b[(matrix * k * n + l * p.b.row + j * p.b.col) as usize];
                let term = f64::from(alpha) * f64::from(x) * f64::from(y);
                (sum, magnitude) = (sum + term, magnitude + term.abs());
            }
            let expected = activation(p.activation, sum);
            let within = 3e-6 * magnitude + (1e-5 + rounding::<T>()) * expected.abs() + 1e-6;
            let error = (f64::from(got[index]) - expected).abs();
            if error.is_nan() || error > within {
                let expected = format!("{expected:e} within {within:e} for a factor of {alpha}");
                return Err(Failure::Differs { index, expected, got: format!("{:e}", got[index]) });
            }
        }
    }
    Ok(())
}

fn powers_of_two(q: &Conditioned) -> Result<(), Failure> {
    for product in PRODUCTS {
        let p = params(product, Output::Plain);
        let mut random = InputSource::new(p.n * 1009 + p.k);
        let (a, b) = (random.reals::<f32>((p.m * p.k) as usize), random.reals::<f32>((p.k * p.n) as usize));
        let start = vec![f32::NAN; (p.m * p.n) as usize];
        let whole = run(q, &p, [&a, &b, &start], None)?;
        for alpha in [0.5, -2.0] {
            let expected: Vec<f64> = whole.iter().map(|&sum| f64::from(alpha * sum)).list();
            let got = run(q, &GemmParams { alpha, ..p }, [&a, &b, &start], None)?;
            Failure::unless_close(&expected, &got, 0.0, 0.0)?;
        }
    }
    Ok(())
}

/// Products of a constant A and a B of ones, with and without terms.
///
/// Large products have a third of the constants with each output, other ones with the next.
fn specials(q: &Conditioned) -> Result<(), Failure> {
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    // SiLU at -inf is 0 or NaN, by the processor.
    let outputs = || OUTPUTS.into_iter().filter(|&output| output != Output::Layer(Activation::Silu));
    let constants = [(inf, 1.0), (-inf, 1.0), (inf, 0.0), (nan, 1.0), (0.0, inf), (-2.0, inf), (0.0, nan)];
    for (index, (alpha, element)) in constants.into_iter().enumerate() {
        let products =
            PRODUCTS.into_iter().flat_map(|product| outputs().enumerate().map(move |output| (product, output)));
        for (product, (number, output)) in products {
            let p = GemmParams { alpha, ..params(product, output) };
            if p.m * p.n * p.k > 10_000 && (index + number) % 3 != 0 {
                continue;
            }
            let matrices = p.batch[BATCH_AXES - 1];
            let a = vec![element; (matrices * p.m * p.k) as usize];
            let b = vec![1.0; (matrices * p.k * p.n) as usize];
            let (start, bias) = (vec![3.0; (p.m * p.n) as usize], vec![3.0; p.n as usize]);
            let bias = matches!(output, Output::Layer(_)).then_some(&bias[..]);
            let before = if output == Output::Plain { 0.0 } else { 3.0 };
            let sum: f64 = (0..matrices * p.k).map(|_| f64::from(element)).sum();
            let expected = activation(p.activation, f64::from(alpha) * sum + before);
            let got = run(q, &p, [&a, &b, &start], bias)?;
            Failure::unless_close(&vec![expected; got.len()], &got, 1e-5, 1e-6)?;
        }
    }
    Ok(())
}
