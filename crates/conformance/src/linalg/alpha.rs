//! Products times a factor, with every epilogue, against f64 sums.

use backend_api::Real;
use core_types::params::{
    elementwise::Activation,
    gemm::{BATCH_AXES, GemmParams},
};
use half::{bf16, f16};

use super::{
    model::{InputSource, activation},
    strides::{contiguous, hold, run, summed},
};
use crate::{Case, Conditioned, Failure, OpSpec, list::ListIterator as _};

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

fn params((size, transposed): ProductCase, output: Output) -> GemmParams {
    let p = contiguous(1, size, transposed);
    match output {
        Output::Plain => p,
        Output::Layer(activation) => GemmParams { activation, ..p },
        Output::Adds => GemmParams { accumulate: 1, ..p },
        Output::Shared => summed(SHARED, size, transposed),
    }
}

fn scaled<T: Real>(q: &Conditioned, product: ProductCase, output: Output) -> Result<(), Failure> {
    for alpha in ALPHAS {
        let p = GemmParams { alpha, ..params(product, output) };
        hold::<T>(q, &p, f32::NAN, matches!(output, Output::Layer(_)), [3e-6, 1e-5, 1e-6])?;
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
