//! Errors of truncated decompositions compared with the best, by rank.

use nn_ops::{SvdOptions, SvdPlan, SvdPower, Tensor};
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng as _, SeedableRng as _},
};

const SIDES: [usize; 2] = [500, 300];

/// `count` orthonormal vectors of `len` elements, by Gram and Schmidt, twice.
fn orthonormal(len: usize, count: usize, random: &mut ChaCha8Rng) -> Vec<Vec<f64>> {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let mut vectors: Vec<Vec<f64>> = Vec::new();
    while vectors.len() < count {
        let mut new: Vec<f64> = (0..len).map(|_| f64::from(random.next_u32()) / 2f64.powi(32) - 0.5).collect();
        for _ in 0..2 {
            for other in &vectors {
                let share = dot(&new, other);
                new.iter_mut().zip(other).for_each(|(x, y)| *x -= share * y);
            }
            let norm = dot(&new, &new).sqrt();
            new.iter_mut().for_each(|x| *x /= norm);
        }
        vectors.push(new);
    }
    vectors
}

/// A matrix whose singular values are 1, 1/2, 1/3, ...
fn matrix(seed: u64) -> Vec<f64> {
    let [m, n] = SIDES;
    let random = &mut ChaCha8Rng::seed_from_u64(seed);
    let (u, v) = (orthonormal(m, n, random), orthonormal(n, n, random));
    let mut a = vec![0.0; m * n];
    for (j, (u, v)) in u.iter().zip(&v).enumerate() {
        for (row, u) in a.chunks_exact_mut(n).zip(u) {
            row.iter_mut().zip(v).for_each(|(a, v)| *a += u * v / (j + 1) as f64);
        }
    }
    a
}

/// How much greater than the best the error in the Frobenius norm is.
fn excess(a: &[f64], rank: usize, power: SvdPower) -> f64 {
    let (q, [m, n]) = (runtime::cpu().unwrap(), SIDES);
    let narrow: Vec<f32> = a.iter().map(|&a| a as f32).collect();
    let plan = SvdPlan::new(m, n, rank, SvdOptions { power, ..SvdOptions::default() }).unwrap();
    let (mut factors, mut workspace) = (plan.factors(&q).unwrap(), plan.workspace(&q).unwrap());
    let x = Tensor::from_values(&q, &SIDES, &narrow).unwrap();
    plan.run(&q, x.at(), &mut factors, &mut workspace).unwrap();
    let (u, s, v) = (factors.u().view(), factors.s().view(), factors.v().view());
    let mut squares = 0.0;
    for row in 0..m {
        let weights: Vec<f64> = (0..rank).map(|k| f64::from(u[row * rank + k]) * f64::from(s[k])).collect();
        for column in 0..n {
            let terms = weights.iter().zip(&v[column * rank..]).map(|(weight, &v)| weight * f64::from(v));
            let error = a[row * n + column] - terms.sum::<f64>();
            squares += error * error;
        }
    }
    let best: f64 = (rank..n).map(|j| ((j + 1) as f64).powi(-2)).sum();
    (squares / best).sqrt() - 1.0
}

/// The excess that `SvdPlan` states, up to each rank: with one power iteration and with two.
const STATED: [(usize, [f64; 2]); 4] =
    [(40, [0.02, 0.005]), (64, [0.04, 0.01]), (128, [0.06, 0.02]), (256, [0.10, 0.045])];

#[test]
fn errors_are_within_what_is_stated_for_their_rank() {
    let a = matrix(1);
    for (rank, stated) in STATED {
        for (power, stated) in [SvdPower::Given(1), SvdPower::Auto].into_iter().zip(stated) {
            let got = excess(&a, rank, power);
            assert!(got <= stated, "rank {rank}, {power:?}: {got}, stated {stated}");
            assert!(3.0 * got >= stated / 2.0, "rank {rank}, {power:?}: {got}, and {stated} is stated");
        }
    }
}

/// The excess that `SvdPlan` states for high ranks with two power iterations.
const STATED_HIGH: [(usize, f64); 2] = [(512, 0.07), (1024, 0.12)];

#[test]
fn errors_of_high_ranks_are_within_the_stated_bounds() {
    const SIDES: [usize; 2] = [1100, 1060];
    let (q, [m, n]) = (runtime::cpu().unwrap(), SIDES);
    // Singular values 1/j on the diagonal: the error follows from few products.
    let value = |j: usize| 1.0 / (j + 1) as f64;
    let mut a = vec![0.0f32; m * n];
    (0..n).for_each(|j| a[j * n + j] = value(j) as f32);
    let a = Tensor::from_values(&q, &SIDES, &a).unwrap();
    for (rank, stated) in STATED_HIGH {
        let plan = SvdPlan::new(m, n, rank, SvdOptions::default()).unwrap();
        let (mut factors, mut workspace) = (plan.factors(&q).unwrap(), plan.workspace(&q).unwrap());
        plan.run(&q, a.at(), &mut factors, &mut workspace).unwrap();
        let (u, s, v) = (factors.u().view(), factors.s().view(), factors.v().view());
        // |A - U S V^T|^2 = |A|^2 - 2 <A, U S V^T> + |S|^2 for orthonormal U and V.
        let mut squares: f64 = (0..n).map(|j| value(j) * value(j)).sum();
        for k in 0..rank {
            let mut product = 0.0;
            for j in 0..n {
                product += value(j) * f64::from(u[j * rank + k]) * f64::from(v[j * rank + k]);
            }
            let s = f64::from(s[k]);
            squares += s * s - 2.0 * s * product;
        }
        let best: f64 = (rank..n).map(|j| value(j) * value(j)).sum();
        let excess = (squares / best).sqrt() - 1.0;
        assert!((0.0..=stated).contains(&excess), "rank {rank}: {excess}, stated {stated}");
    }
}
