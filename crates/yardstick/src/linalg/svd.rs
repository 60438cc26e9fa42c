//! Truncated decompositions of rank 32 with one power iteration, on one thread.
//!
//! Work counts the four products with the matrix, which every sketch with one iteration needs. The
//! peer is a product of square matrices with the same number of multiply-adds.

use crate::peers::plain_gemm;
use nn_ops::{SvdOptions, SvdPlan, SvdPower, Tensor};

use crate::{Contender, Contest, Goal, Show, host};

const RANK: usize = 32;
const COLUMNS: usize = 44;

pub(super) fn contests() -> Vec<(String, Box<dyn FnOnce() -> Contest>)> {
    let contest = |m: usize, n: usize, ratio: f64| -> (String, Box<dyn FnOnce() -> Contest>) {
        let id = format!("nn.svd/{m}x{n}");
        (id.clone(), Box::new(move || build(id, [m, n], ratio)))
    };
    vec![contest(1024, 256, 0.35), contest(4096, 1024, 0.55)]
}

fn build(id: String, [m, n]: [usize; 2], ratio: f64) -> Contest {
    Contest {
        id,
        unit: "flop",
        work: 8.0 * (m * n * COLUMNS) as f64,
        show: Show::Rate,
        contenders: vec![ours(m, n), products(m, n)],
        goals: vec![(Goal::Ratio { peer: 1, ratio }, "")],
    }
}

/// A matrix with decaying singular values.
fn input(m: usize, n: usize) -> Vec<f32> {
    let (u, v, noise) = (host::values::<f32>(m, 1.0), host::values::<f32>(n, 1.0), host::values::<f32>(m * n, 0.01));
    (0..m * n).map(|i| u[i / n] * v[i % n] + u[i / n * 7 % m] * v[i % n * 5 % n] / 3.0 + noise[i]).collect()
}

fn ours(m: usize, n: usize) -> Contender {
    host::ours(move |q| {
        let options = SvdOptions { power: SvdPower::Given(1), ..SvdOptions::default() };
        let plan = SvdPlan::new(m, n, RANK, options)?;
        let a = Tensor::from_values(&q, &[m, n], &input(m, n))?;
        let (mut factors, mut workspace) = (plan.factors(&q)?, plan.workspace(&q)?);
        Ok(Box::new(move || plan.run(&q, a.at(), &mut factors, &mut workspace)))
    })
}

/// The bound: a square product with the same number of multiply-adds, by a library.
fn products(m: usize, n: usize) -> Contender {
    let side = ((4 * m * n * COLUMNS) as f64).cbrt().round() as usize;
    let (a, b, mut c) = (input(side, side), input(side, side), vec![0.0; side * side]);
    Contender::new(format!("gemm {side}"), move || plain_gemm(side, &a, &b, &mut c))
}
