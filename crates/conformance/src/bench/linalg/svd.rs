//! Truncated decompositions of rank 32 with one power iteration, one thread. The work is that of the four products with
//! the matrix, which nobody who sketches and iterates can avoid: beside a product of square matrices of as many
//! multiply-adds.

use std::num::NonZeroUsize;

use backend_api::{Buffer as _, Queue as _};
use cpu_backend::{CpuConfig, CpuQueue};
use nn_ops::{SvdOptions, SvdPlan, SvdPower, TensorRef};
use yardstick::plain_gemm;

use crate::bench::{Contender, Contest, Goal, Show};

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

/// A matrix of which singular values fall.
fn input(m: usize, n: usize) -> Vec<f32> {
    let mut state = 1u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    let (u, v): (Vec<f32>, Vec<f32>) = ((0..m).map(|_| next()).collect(), (0..n).map(|_| next()).collect());
    (0..m * n).map(|i| u[i / n] * v[i % n] + u[i / n * 7 % m] * v[i % n * 5 % n] / 3.0 + next() * 0.01).collect()
}

#[expect(clippy::expect_used, reason = "a bench without its queue or its memory cannot go on")]
fn ours(m: usize, n: usize) -> Contender {
    let config = CpuConfig { threads: NonZeroUsize::new(1), ..CpuConfig::default() };
    let q = CpuQueue::open(config).expect("one thread is enough");
    let options = SvdOptions { power: SvdPower::Given(1), ..SvdOptions::default() };
    let plan = SvdPlan::new(m, n, RANK, options).expect("the shape is valid");
    let a = q.upload(&input(m, n)).expect("16 MiB are free");
    let mut factors = plan.factors(&q).expect("1 MiB is free");
    let mut workspace = plan.workspace(&q).expect("4 MiB are free");
    let mut run = move || {
        let a = TensorRef::contiguous(a.view(), &[m, n])?;
        plan.run(&q, a, &mut factors, &mut workspace)
    };
    Contender::new("trefoil", move || run().expect("the matrix fits the plan"))
}

/// The bound: as many multiply-adds in a square product, by a library.
fn products(m: usize, n: usize) -> Contender {
    let side = ((4 * m * n * COLUMNS) as f64).cbrt().round() as usize;
    let (a, b, mut c) = (input(side, side), input(side, side), vec![0.0; side * side]);
    Contender::new(format!("gemm {side}"), move || plain_gemm(side, &a, &b, &mut c))
}
