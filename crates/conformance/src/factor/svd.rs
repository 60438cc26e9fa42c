//! Truncated decompositions: orthonormal vectors, and singular values as in the f64 model.
//!
//! The error is compared with the least error of any matrix of the same rank.

use backend_api::{Buffer as _, Queue};
use nn_ops::{NnError, SvdFactors, SvdOptions, SvdPlan, SvdPower, TensorRef};

use super::model::{Matrix, unless_orthonormal, with_spectrum};
use crate::{Case, Conditioned, Failure, OpSpec, list::ListIterator as _};

pub(super) fn specs() -> Vec<OpSpec> {
    vec![
        OpSpec { op: "factor.svd direct", cases: direct() },
        OpSpec { op: "factor.svd sketched", cases: sketched() },
        OpSpec { op: "factor.svd special", cases: special() },
    ]
}

/// A decomposition on the host.
struct HostSvd {
    u: Matrix,
    s: Vec<f32>,
    v: Matrix,
    rank: usize,
}

fn options(oversample: usize, power: usize) -> SvdOptions {
    SvdOptions { oversample, power: SvdPower::Given(power), seed: 42 }
}

fn download(q: &Conditioned, factors: &SvdFactors<Conditioned>) -> Result<HostSvd, Failure> {
    let matrix = |x: TensorRef<'_, Conditioned, f32>| -> Result<Matrix, Failure> {
        let shape = x.layout().shape();
        Ok(Matrix::of_f32(shape[0], shape[1], &q.read(x.view())?))
    };
    let (u, v) = (matrix(factors.u())?, matrix(factors.v())?);
    Ok(HostSvd { u, s: q.read(factors.s().view())?, v, rank: factors.rank(q)? })
}

fn decompose(q: &Conditioned, a: &Matrix, rank: usize, options: SvdOptions) -> Result<HostSvd, Failure> {
    let plan = SvdPlan::new(a.rows, a.cols, rank, options)?;
    let (mut factors, mut workspace) = (plan.factors(q)?, plan.workspace(q)?);
    let da = q.upload(&a.to_f32())?;
    plan.run(q, TensorRef::contiguous(da.view(), &[a.rows, a.cols])?, &mut factors, &mut workspace)?;
    download(q, &factors)
}

fn unless(holds: bool, what: impl FnOnce() -> String) -> Result<(), Failure> {
    if holds { Ok(()) } else { Err(Failure::Broken(what())) }
}

/// How a decomposition may differ from the best one.
#[derive(Clone, Copy)]
struct Bounds {
    /// Of singular values, relative to the greatest.
    sigma: f64,
    /// Largest ratio of the Frobenius error to the least error of the rank, rounding aside.
    excess: f64,
}

const EXACT: Bounds = Bounds { sigma: 1e-6, excess: 1.0001 };

/// Checks every property of a decomposition of `a`.
///
/// `sigma` are the singular values of `a`.
fn expect(a: &Matrix, found: &HostSvd, sigma: &[f64], bounds: Bounds) -> Result<(), Failure> {
    let kept = found.s.len();
    unless_orthonormal("U", &found.u, 1e-5)?;
    unless_orthonormal("V", &found.v, 1e-5)?;
    let greatest = sigma.first().copied().unwrap_or(0.0);
    Failure::unless_close(&sigma[..kept], &found.s, 0.0, bounds.sigma * greatest)?;
    let counted = found.s.iter().filter(|&&s| s > 0.0).count();
    unless(counted == found.rank, || format!("the rank is {}, of {:?}", found.rank, found.s))?;
    unless(found.s.is_sorted_by(|a, b| a >= b), || format!("singular values rise: {:?}", found.s))?;
    for c in 0..kept {
        let largest = found.u.column(c).fold(0.0f64, |a, b| if b.abs() > a.abs() { b } else { a });
        unless(largest > 0.0, || format!("the largest entry of column {c} of U is {largest}"))?;
    }
    let values: Vec<f64> = found.s.iter().map(|&s| f64::from(s)).list();
    let error = a.minus(&found.u.scaled(&values).times(&found.v.transposed())).norm();
    let best = sigma[kept..].iter().map(|s| s * s).sum::<f64>().sqrt();
    let allowed = bounds.excess * best + 3e-6 * a.norm();
    unless(error <= allowed, || format!("the error is {error:e}, the best {best:e}, allowed {allowed:e}"))
}

/// The matrix as f32 holds it.
fn rounded(a: &Matrix) -> Matrix {
    Matrix::of_f32(a.rows, a.cols, &a.to_f32())
}

fn direct() -> Vec<Case> {
    let mut cases = Vec::new();
    for (m, n, rank) in [
        (1, 1, 1),
        (5, 3, 2),
        (3, 5, 3),
        (1, 40, 1),
        (40, 1, 1),
        (33, 64, 20),
        (64, 33, 33),
        (128, 64, 10),
        (90, 96, 45),
    ] {
        cases.push(Case::new(format!("{m} x {n}, rank {rank}"), move |q| {
            let a = rounded(&Matrix::random(m, n, 31));
            expect(&a, &decompose(q, &a, rank, options(10, 1))?, &a.singular_values(), EXACT)
        }));
    }
    cases.push(
        Case::new("130 x 110, rank 101", |q| {
            let a = rounded(&Matrix::random(130, 110, 31));
            expect(&a, &decompose(q, &a, 101, options(10, 1))?, &a.singular_values(), EXACT)
        })
        .on_elements(130 * 110),
    );
    for (m, n) in [(60, 30), (30, 60)] {
        cases.push(Case::new(format!("{m} x {n}, values over five powers of ten"), move |q| {
            let sigma: Vec<f64> = (0..30).map(|i| 10f64.powf(-f64::from(i) / 6.0)).list();
            let a = rounded(&with_spectrum(m, n, &sigma, 32));
            expect(&a, &decompose(q, &a, 30, options(10, 1))?, &a.singular_values(), EXACT)
        }));
    }
    cases
}

fn sketched() -> Vec<Case> {
    let mut cases = Vec::new();
    // Each columns, rank and oversample so that the sketch has less than half the columns of the matrix.
    for (m, n) in [(100, 70), (70, 101)] {
        cases.push(Case::new(format!("{m} x {n}, values that fall fast"), move |q| {
            let sigma: Vec<f64> = (0..20).map(|i| 0.4f64.powi(i)).list();
            let a = rounded(&with_spectrum(m, n, &sigma, 33));
            for power in [0, 1, 2] {
                let bounds = if power == 0 {
                    Bounds { sigma: 1e-3, excess: 1.5 }
                } else {
                    Bounds { sigma: 1e-5, excess: 1.005 }
                };
                expect(&a, &decompose(q, &a, 6, options(6, power))?, &a.singular_values(), bounds)?;
            }
            Ok(())
        }));
    }
    for (power, excess) in [(1, 1.02), (2, 1.005)] {
        let name = format!("128 x 110, values that fall like 1/j, {power} power iterations");
        cases.push(
            Case::new(name, move |q| {
                let sigma: Vec<f64> = (1..=110).map(|j| 1.0 / f64::from(j)).list();
                let a = rounded(&with_spectrum(128, 110, &sigma, 34));
                // the sketch does not reach where the values have fallen tenfold, so that the last kept are less sure
                let bounds = Bounds { sigma: 3e-3, excess };
                expect(&a, &decompose(q, &a, 16, options(10, power))?, &a.singular_values(), bounds)
            })
            .on_elements(128 * 110),
        );
    }
    for (m, n, rank, count, ratio, seed) in [(300, 260, 86, 150, 0.8f64, 35), (120, 128, 100, 120, 0.9, 37)] {
        let case = Case::new(format!("{m} x {n}, rank {rank} of values that fall fast"), move |q| {
            let sigma: Vec<f64> = (0..count).map(|i| ratio.powi(i)).list();
            let a = rounded(&with_spectrum(m, n, &sigma, seed));
            expect(&a, &decompose(q, &a, rank, options(10, 1))?, &sigma, Bounds { sigma: 1e-5, excess: 1.005 })
        });
        cases.push(case.on_elements((m * n) as u64));
    }
    cases.push(Case::new("the same bits again, others with another seed", |q| {
        let a = Matrix::random(90, 70, 36);
        let run = |seed| decompose(q, &a, 5, SvdOptions { seed, ..options(7, 1) });
        let [first, again, other] = [run(1)?, run(1)?, run(2)?];
        Failure::unless_equal(&first.u.data, &again.u.data)?;
        Failure::unless_equal(&first.v.data, &again.v.data)?;
        Failure::unless_equal(&first.s, &again.s)?;
        unless(first.u.data != other.u.data, || "the seed changes nothing".to_owned())
    }));
    cases
}

/// Matrices that are deficient, out of the ordinary range or none.
fn special() -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    cases.push(Case::new("a value that is none in f32", |q| {
        // The values are 4.24 and 0.24 times the least number.
        let least = f64::from(f32::from_bits(1));
        let a = Matrix::new(2, 2, |i| [2.0, 1.0, 3.0, 2.0][i] * least);
        let found = decompose(q, &a, 2, options(6, 1))?;
        unless(found.rank == 1 && found.s[1] == 0.0, || format!("rank {}, {:?}", found.rank, found.s))?;
        unless_orthonormal("U", &found.u, 1e-5)?;
        unless_orthonormal("V", &found.v, 1e-5)
    }));
    cases.push(
        Case::new("ones, 30000 x 70", |q| {
            let a = Matrix::new(30_000, 70, |_| 1.0);
            let found = decompose(q, &a, 2, options(6, 1))?;
            unless(found.rank == 1, || format!("the rank is {}", found.rank))?;
            Failure::unless_close(&[(30_000.0f64 * 70.0).sqrt()], &found.s[..1], 6e-6, 0.0)
        })
        .on_elements(30_000 * 70),
    );
    for (m, n, rank) in [(6, 4, 3), (4, 6, 4), (80, 70, 6), (70, 80, 6)] {
        cases.push(Case::new(format!("zeros, {m} x {n}"), move |q| {
            let a = Matrix::new(m, n, |_| 0.0);
            let found = decompose(q, &a, rank, options(6, 1))?;
            unless(found.rank == 0, || format!("the rank is {}", found.rank))?;
            let unit = |rows| Matrix::new(rows, rank, |i| f64::from(u8::from(i / rank == i % rank))).data;
            Failure::unless_equal(&unit(m), &found.u.data)?;
            Failure::unless_equal(&unit(n), &found.v.data)?;
            Failure::unless_equal(&vec![0.0; rank], &found.s)
        }));
        cases.push(Case::new(format!("rank 2, {m} x {n}"), move |q| {
            let a = rounded(&with_spectrum(m, n, &[3.0, 0.5], 41));
            let found = decompose(q, &a, rank, options(6, 1))?;
            unless(found.rank == 2, || format!("the rank is {}", found.rank))?;
            expect(&a, &found, &a.singular_values(), EXACT)
        }));
        cases.push(Case::new(format!("one element in each of four rows, {m} x {n}"), move |q| {
            let a = Matrix::new(m, n, |i| if i / n < 4 && i % n == i / n { 4.0 - (i / n) as f64 } else { 0.0 });
            expect(&a, &decompose(q, &a, rank, options(6, 1))?, &a.singular_values(), EXACT)
        }));
        cases.push(Case::new(format!("equal values, {m} x {n}"), move |q| {
            let a = rounded(&with_spectrum(m, n, &vec![2.0; m.min(n)], 42));
            let found = decompose(q, &a, rank, options(6, 2))?;
            expect(&a, &found, &a.singular_values(), Bounds { sigma: 1e-5, excess: 1.00001 })
        }));
        cases.push(Case::new(format!("values that fall to 1e-32, {m} x {n}"), move |q| {
            let sigma: Vec<f64> = (0..m.min(n)).map(|j| 10f64.powf(-32.0 * j as f64 / (m.min(n) - 1) as f64)).list();
            let a = rounded(&with_spectrum(m, n, &sigma, 43));
            expect(&a, &decompose(q, &a, rank, options(6, 1))?, &a.singular_values(), EXACT)
        }));
        for power in [-140, -100, 60, 110] {
            cases.push(Case::new(format!("times 2^{power}, {m} x {n}"), move |q| {
                let sigma: Vec<f64> = (0..4).map(|i| 0.4f64.powi(i)).list();
                let scale = 2f64.powi(power);
                let a = rounded(&with_spectrum(m, n, &sigma, 44).scaled(&vec![scale; n]));
                // Subnormals have few digits: the model reads the rounded values, and results are no more precise.
                let bounds = Bounds { sigma: if power < -126 { 1e-2 } else { 1e-5 }, excess: 1.01 };
                let found = decompose(q, &a, rank, options(6, 1))?;
                let values = a.scaled(&vec![1.0 / scale; n]).singular_values();
                let unscaled = HostSvd { s: found.s.iter().map(|&s| (f64::from(s) / scale) as f32).list(), ..found };
                let lost = if power < -126 { 0.02 } else { 0.0 };
                let a = a.scaled(&vec![1.0 / scale; n]);
                expect_within(&a, &unscaled, &values, bounds, lost)
            }));
        }
        for strange in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            cases.push(Case::new(format!("{strange} in {m} x {n}"), move |q| {
                let mut a = Matrix::random(m, n, 45);
                a.data[m * n - 2] = strange;
                let plan = SvdPlan::new(m, n, rank, options(6, 1))?;
                let (mut factors, mut workspace) = (plan.factors(q)?, plan.workspace(q)?);
                let da = q.upload(&a.to_f32())?;
                plan.run(q, TensorRef::contiguous(da.view(), &[m, n])?, &mut factors, &mut workspace)?;
                match factors.rank(q) {
                    Err(NnError::Numerical { .. }) => Ok(()),
                    Err(other) => Err(other.into()),
                    Ok(rank) => Err(Failure::Broken(format!("it is said to have rank {rank}"))),
                }
            }));
        }
    }
    cases
}

/// [`expect`] where elements have lost up to `lost` of the matrix.
fn expect_within(a: &Matrix, found: &HostSvd, sigma: &[f64], bounds: Bounds, lost: f64) -> Result<(), Failure> {
    if lost == 0.0 {
        return expect(a, found, sigma, bounds);
    }
    unless_orthonormal("U", &found.u, 1e-5)?;
    unless_orthonormal("V", &found.v, 1e-5)?;
    let greatest = sigma.first().copied().unwrap_or(0.0);
    Failure::unless_close(&sigma[..found.s.len()], &found.s, 0.0, lost * greatest)
}
