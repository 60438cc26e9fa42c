//! Low-rank residuals: compression, error feedback, and application to a matrix.

use backend_api::{Buffer as _, Queue};
use nn_ops::{ResidualPlan, SvdOptions, TensorMut, TensorRef};

use super::model::{Matrix, with_spectrum};
use crate::{Case, Conditioned, Failure, OpSpec, list::ListIterator as _};

pub(super) fn specs() -> Vec<OpSpec> {
    let mut applied = Vec::new();
    let mut fed_back = Vec::new();
    for (m, n, rank) in [(6, 5, 2), (5, 9, 3), (80, 70, 4), (66, 81, 4)] {
        applied.push(Case::new(format!("{m} x {n}, rank {rank}"), move |q| apply(q, m, n, rank)));
        fed_back.push(Case::new(format!("{m} x {n}, rank {rank}"), move |q| feed_back(q, m, n, rank)));
    }
    vec![
        OpSpec { op: "factor.residual applied", cases: applied },
        OpSpec { op: "factor.residual fed back", cases: fed_back },
    ]
}

/// Singular values that a few of can stand for all of.
fn falling(count: usize) -> Vec<f64> {
    (0..count).map(|i| 0.3f64.powi(i as i32)).list()
}

fn difference(expected: &Matrix, got: &[f32]) -> f64 {
    expected.minus(&Matrix::of_f32(expected.rows, expected.cols, got)).norm()
}

fn within(what: &str, difference: f64, allowed: f64) -> Result<(), Failure> {
    if difference <= allowed {
        return Ok(());
    }
    Err(Failure::Broken(format!("{what} is {difference:e} off, {allowed:e} is allowed")))
}

/// `w += alpha R` for a residual of exactly the rank.
fn apply(q: &Conditioned, m: usize, n: usize, rank: usize) -> Result<(), Failure> {
    let (residual, w) = (with_spectrum(m, n, &falling(rank), 51), Matrix::random(m, n, 52));
    let plan = ResidualPlan::new(m, n, rank, SvdOptions::default())?;
    let (mut compressed, mut workspace) = (plan.compressed(q)?, plan.workspace(q)?);
    let (r, mut dw) = (q.upload(&residual.to_f32())?, q.upload(&w.to_f32())?);
    plan.compress(q, TensorRef::contiguous(r.view(), &[m, n])?, &mut compressed, &mut workspace)?;
    for alpha in [0.25, -1.5] {
        plan.apply(q, alpha, &mut compressed, TensorMut::contiguous(dw.view_mut(), &[m, n])?)?;
    }
    let expected = Matrix::new(m, n, |i| w.data[i] - 1.25 * residual.data[i]);
    within("the sum", difference(&expected, &q.download(&dw)?), 1e-5 * expected.norm())?;
    compressed.factors().rank(q)?;
    Ok(())
}

/// Checks that the sent residuals plus the remaining error equal the sum of all residuals.
fn feed_back(q: &Conditioned, m: usize, n: usize, rank: usize) -> Result<(), Failure> {
    let plan = ResidualPlan::new(m, n, rank, SvdOptions::default())?;
    let (mut compressed, mut workspace) = (plan.compressed(q)?, plan.workspace(q)?);
    let (mut error, mut sent) = (q.zeros::<f32>(m * n)?, q.zeros::<f32>(m * n)?);
    let mut total = Matrix::new(m, n, |_| 0.0);
    for turn in 0..3 {
        let residual = with_spectrum(m, n, &falling(m.min(n).min(12)), 53 + turn);
        total.data.iter_mut().zip(&residual.data).for_each(|(total, x)| *total += x);
        let r = q.upload(&residual.to_f32())?;
        let r = TensorRef::contiguous(r.view(), &[m, n])?;
        plan.compress_with_feedback(q, r, &mut error, &mut compressed, &mut workspace)?;
        plan.apply(q, 1.0, &mut compressed, TensorMut::contiguous(sent.view_mut(), &[m, n])?)?;
    }
    let left: Vec<f32> = q.download(&error)?;
    let all: Vec<f32> = q.download(&sent)?.iter().zip(&left).map(|(sent, left)| sent + left).list();
    within("what was sent", difference(&total, &all), 1e-5 * total.norm())?;
    let left = Matrix::of_f32(m, n, &left).norm();
    within("what is left", left, total.norm())
}
