//! Ops on small matrices: inverse Cholesky factors and eigenvectors.

use backend_api::{
    BackendError, Buffer as _, Queue,
    ops::factor::{CholInverse, FactorOps, JacobiEigen},
};
use core_types::params::factor::JacobiParams;

use super::model::{Matrix, unless_orthonormal, with_spectrum};
use crate::{Case, Conditioned, Failure, OpSpec, list::ListIterator as _};

/// Sides around the warps and tiles of a GPU, the longest in shared memory, and longer ones.
const SIDES: [usize; 12] = [0, 1, 2, 3, 31, 32, 33, 44, 65, 96, 97, 130];

pub(super) fn specs() -> Vec<OpSpec> {
    vec![inverses(), eigenvectors()]
}

/// The inverse factor of `X^T X`.
fn inverse(q: &Conditioned, x: &Matrix, peak: Option<f32>) -> Result<Matrix, Failure> {
    let gram = x.transposed().times(x);
    let (gram, mut inverse) = (q.upload(&gram.data)?, q.upload(&vec![9.0f64; x.cols * x.cols])?);
    let peak = peak.map(|peak| q.upload(&[peak.to_bits()])).transpose()?;
    q.chol_inverse(CholInverse {
        side: x.cols,
        gram: gram.view(),
        peak: peak.as_ref().map(|peak| peak.view()),
        inverse: inverse.view_mut(),
    })?;
    Ok(Matrix { rows: x.cols, cols: x.cols, data: q.download(&inverse)? })
}

fn unless_triangular(c: &Matrix) -> Result<(), Failure> {
    let below = (0..c.rows).flat_map(|r| (0..r).map(move |k| (r, k))).find(|&(r, k)| c.at(r, k) != 0.0);
    below.map_or(Ok(()), |place| Err(Failure::Broken(format!("element {place:?} is not zero"))))
}

fn inverses() -> OpSpec {
    let mut cases: Vec<Case> = Vec::new();
    for side in SIDES {
        cases.push(Case::new(format!("of {side} columns"), move |q| {
            let x = Matrix::random(side + 5, side, 5);
            let c = inverse(q, &x, None)?;
            unless_triangular(&c)?;
            unless_orthonormal("X C", &x.times(&c), 1e-10)
        }));
    }
    cases.push(Case::new("of columns of very different lengths", |q| {
        let lengths: Vec<f64> = (0..20).map(|i| 10f64.powi(i % 7 * 6 - 20)).list();
        let x = Matrix::random(40, 20, 6).scaled(&lengths);
        unless_orthonormal("X C", &x.times(&inverse(q, &x, None)?), 1e-9)
    }));
    cases.push(Case::new("of columns that depend on those before", |q| {
        let mut x = Matrix::random(30, 9, 7);
        for row in x.data.chunks_exact_mut(9) {
            (row[0], row[4], row[7]) = (0.0, row[1] - 2.0 * row[3], row[1] * 4.0);
        }
        let c = inverse(q, &x, None)?;
        unless_triangular(&c)?;
        let product = x.times(&c);
        let kept = [1, 2, 3, 5, 6, 8];
        unless_orthonormal("X C", &Matrix::new(30, 6, |i| product.at(i / 6, kept[i % 6])), 1e-10)?;
        let dropped = [0, 4, 7].into_iter().flat_map(|column| c.column(column)).find(|&x| x != 0.0);
        dropped.map_or(Ok(()), |x| Err(Failure::Broken(format!("a dropped column has the element {x}"))))
    }));
    cases.push(Case::new("scaled", |q| {
        let x = Matrix::random(12, 6, 8);
        let expected = inverse(q, &x, None)?.data;
        for (peak, factor) in [(6.0, 0.125), (0.0, 1.0), (1.0 / 16.0, 8.0)] {
            let scaled: Vec<f64> = expected.iter().map(|x| x * factor).list();
            Failure::unless_equal(&scaled, &inverse(q, &x, Some(peak))?.data)?;
        }
        Ok(())
    }));
    cases.push(Case::new("of what is no number, in finite time", |q| {
        for strange in [f64::NAN, f64::INFINITY] {
            inverse(q, &Matrix::new(5, 5, |i| if i == 7 { strange } else { i as f64 }), None)?;
        }
        Ok(())
    }));
    OpSpec { op: "factor.chol_inverse", cases }
}

struct Eigen {
    vectors: Matrix,
    inverse: Matrix,
    sigma: Vec<f32>,
    rank: u32,
}

/// The eigenvectors of `X^T X`.
fn eigen(q: &Conditioned, x: &Matrix, kept: usize, peak: Option<f32>) -> Result<Eigen, Failure> {
    let gram = x.transposed().times(x);
    let (gram, count) = (q.upload(&gram.data)?, x.cols * kept);
    let peak = peak.map(|peak| q.upload(&[peak.to_bits()])).transpose()?;
    let (mut vectors, mut inverse) = (q.upload(&vec![9.0f64; count])?, q.upload(&vec![9.0f64; count])?);
    let (mut sigma, mut rank) = (q.upload(&vec![9.0f32; kept])?, q.upload(&[999u32])?);
    q.jacobi_eigen(JacobiEigen {
        params: &JacobiParams { side: x.cols as u64, kept: kept as u64 },
        gram: gram.view(),
        peak: peak.as_ref().map(|peak| peak.view()),
        vectors: vectors.view_mut(),
        inverse: inverse.view_mut(),
        sigma: sigma.view_mut(),
        rank: rank.view_mut(),
    })?;
    let matrix = |data| Matrix { rows: x.cols, cols: kept, data };
    let rank = q.download(&rank)?.into_iter().sum();
    Ok(Eigen {
        vectors: matrix(q.download(&vectors)?),
        inverse: matrix(q.download(&inverse)?),
        sigma: q.download(&sigma)?,
        rank,
    })
}

/// Checks the eigenvectors of a matrix of full rank.
///
/// They are orthonormal, and the matrix maps them to orthogonal columns of the right lengths.
fn full(q: &Conditioned, x: &Matrix, kept: usize) -> Result<(), Failure> {
    let found = eigen(q, x, kept, None)?;
    Failure::unless_equal(&[kept as u32], &[found.rank])?;
    let expected = x.singular_values();
    Failure::unless_close(&expected[..kept], &found.sigma, 2e-7, 0.0)?;
    unless_orthonormal("V", &found.vectors, 1e-12)?;
    unless_orthonormal("X V / S", &x.times(&found.inverse), 1e-9)
}

fn eigenvectors() -> OpSpec {
    let mut cases: Vec<Case> = Vec::new();
    for side in SIDES {
        for kept in [side, side / 2] {
            if kept < side || side < 2 {
                cases.push(Case::new(format!("{kept} of {side}"), move |q| {
                    full(q, &Matrix::random(side + 30, side, 11), kept)
                }));
            }
        }
    }
    for side in [33, 44] {
        cases.push(Case::new(format!("all {side}"), move |q| full(q, &Matrix::random(side + 30, side, 13), side)));
    }
    cases.push(Case::new("equal values", |q| full(q, &with_spectrum(40, 21, &[3.0; 21], 12), 21)));
    cases.push(Case::new("of a diagonal matrix, out of order", |q| {
        let x = Matrix::new(5, 5, |i| if i / 5 == i % 5 { [2.0, 8.0, 0.0, 4.0, 1.0][i % 5] } else { 0.0 });
        let found = eigen(q, &x, 5, None)?;
        Failure::unless_equal(&[8.0, 4.0, 2.0, 1.0, 0.0], &found.sigma)?;
        Failure::unless_equal(&[4], &[found.rank])?;
        let places = [1, 3, 0, 4, 9];
        let unit = Matrix::new(5, 5, |i| f64::from(u8::from(places[i % 5] == i / 5)));
        Failure::unless_equal(&unit.data, &found.vectors.data)
    }));
    cases.push(Case::new("values that fall to nothing", |q| {
        let sigma: Vec<f64> = (0..24).map(|i| 10f64.powf(-f64::from(i) / 2.0)).list();
        let found = eigen(q, &with_spectrum(50, 24, &sigma, 14), 20, None)?;
        // 10^-6 is greater than 2^-20, 10^-6.5 is not
        Failure::unless_equal(&[13], &[found.rank])?;
        let rank = 13;
        let expected: Vec<f64> = sigma.iter().take(20).map(|&s| if s >= 0.99e-6 { s } else { 0.0 }).list();
        Failure::unless_close(&expected, &found.sigma, 1e-3, 0.0)?;
        unless_orthonormal("V", &Matrix::new(24, rank, |i| found.vectors.at(i / rank, i % rank)), 1e-8)?;
        let rest = (rank..20).flat_map(|column| found.vectors.column(column).chain(found.inverse.column(column)));
        let strange = rest.into_iter().find(|&x| x != 0.0);
        strange.map_or(Ok(()), |x| Err(Failure::Broken(format!("a vector of no value has the element {x}"))))
    }));
    cases.push(Case::new("scaled", |q| {
        let x = Matrix::random(20, 7, 15);
        let (plain, scaled) = (eigen(q, &x, 4, None)?, eigen(q, &x, 4, Some(6.0))?);
        let eightfold = |x: &[f64]| x.iter().map(|x| 8.0 * x).list();
        Failure::unless_equal(&eightfold(&plain.vectors.data), &scaled.vectors.data)?;
        Failure::unless_equal(&plain.inverse.data, &scaled.inverse.data)?;
        let sigma: Vec<f32> = plain.sigma.iter().map(|s| 8.0 * s).list();
        Failure::unless_equal(&sigma, &scaled.sigma)
    }));
    cases.push(Case::new("of what is no number, in finite time", |q| {
        for strange in [f64::NAN, f64::INFINITY] {
            eigen(q, &Matrix::new(5, 5, |i| if i == 7 { strange } else { i as f64 }), 5, None)?;
        }
        Ok(())
    }));
    cases.push(Case::new("more than there are", |q| match eigen(q, &Matrix::random(3, 2, 1), 3, None).map(drop) {
        Err(Failure::Backend(BackendError::Unsupported { .. })) => Ok(()),
        other => other.and(Err(Failure::Broken("3 of 2 were not refused".to_owned()))),
    }));
    OpSpec { op: "factor.jacobi_eigen", cases }
}
