//! Truncated decompositions with one power iteration.
//!
//! Work counts the four products with the matrix, which every sketch with one iteration needs. The
//! peer is a product of square matrices with the same number of multiply-adds.

use nn_ops::{SvdOptions, SvdPlan, SvdPower, Tensor};

use crate::{Contender, Extent, Goal, Line, host::values, line::RunSize, peers::plain_gemm};

const RANK: usize = 32;

/// Columns of the sketch on the processor.
const COLUMNS: usize = 44;

pub(super) fn contests() -> Vec<Line> {
    let against_products = |[m, n]: [usize; 2], ratio| {
        let line = truncated([m, n], RANK, decaying).counting("flop", 8.0 * (m * n * COLUMNS) as f64);
        line.peer(move || products(m, n)).goal(Goal::Ratio { peer: 1, ratio }, "")
    };
    vec![against_products([1024, 256], 0.35), against_products([4096, 1024], 0.55)]
}

pub(super) fn lines(extent: Extent) -> Vec<Line> {
    match extent {
        Extent::Full => vec![truncated([1024, 256], RANK, flat), truncated([4096, 1024], RANK, flat)],
        Extent::Small => vec![truncated([66, 65], 1, flat)],
    }
}

/// A matrix with decaying singular values.
fn decaying([m, n]: [usize; 2]) -> Vec<f32> {
    let (u, v, noise) = (values::<f32>(m, 1.0), values::<f32>(n, 1.0), values::<f32>(m * n, 0.01));
    (0..m * n).map(|i| u[i / n] * v[i % n] + u[i / n * 7 % m] * v[i % n * 5 % n] / 3.0 + noise[i]).collect()
}

/// A matrix whose elements look random.
fn flat([m, n]: [usize; 2]) -> Vec<f32> {
    (0..m * n).map(|i| (i * 7919 % 1009) as f32 / 1009.0 - 0.5).collect()
}

/// A truncated decomposition of this rank.
fn truncated([m, n]: [usize; 2], rank: usize, input: fn([usize; 2]) -> Vec<f32>) -> Line {
    let options = SvdOptions { power: SvdPower::Given(1), ..SvdOptions::default() };
    let flops = 8.0 * (m * n * (rank + options.oversample)) as f64;
    Line::new(&format!("nn.svd/{m}x{n}"), RunSize::computing("flop", flops, (4 * m * n) as f64), move |q| {
        let plan = SvdPlan::new(m, n, rank, options)?;
        let a = Tensor::from_values(q, &[m, n], &input([m, n]))?;
        let (mut factors, mut workspace) = (plan.factors(q)?, plan.workspace(q)?);
        Ok(Box::new(move |q| Ok(plan.run(q, a.at(), &mut factors, &mut workspace)?)))
    })
}

/// The bound: a square product with the same number of multiply-adds, by a library.
fn products(m: usize, n: usize) -> Contender {
    let side = ((4 * m * n * COLUMNS) as f64).cbrt().round() as usize;
    let (a, b, mut c) = (decaying([side; 2]), decaying([side; 2]), vec![0.0; side * side]);
    Contender::new(&format!("gemm {side}"), move || plain_gemm(side, &a, &b, &mut c))
}
