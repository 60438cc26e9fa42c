//! Ops on whole columns: completion, signs, factors.

use backend_api::{
    BackendError, Buffer as _, Queue,
    ops::factor::{CompleteColumns, FactorOps, OrientColumns, ScaleColumns},
};
use core_types::params::factor::{ColumnPairParams, MatrixParams, ScaleParams};

use super::model::{Matrix, NumberSource, unless_orthonormal};
use crate::{Case, Conditioned, Failure, OpSpec, list::ListIterator as _};

pub(super) fn specs() -> Vec<OpSpec> {
    vec![completions(), orientations(), scalings()]
}

fn complete(q: &Conditioned, rows: usize, cols: usize, rank: usize, x: &[f32]) -> Result<Vec<f32>, BackendError> {
    let (mut x, rank) = (q.upload(x)?, q.upload(&[rank as u32])?);
    let params = MatrixParams { rows: rows as u64, cols: cols as u64 };
    q.complete_columns(CompleteColumns { params: &params, rank: rank.view(), x: x.view_mut() })?;
    q.download(&x)
}

/// Completes the first `rank` of orthonormal columns, behind which there is anything.
fn completed(q: &Conditioned, rows: usize, cols: usize, rank: usize) -> Result<(), Failure> {
    let mut x = Matrix::random(rows, cols, 21).orthonormal().to_f32();
    for (i, x) in x.iter_mut().enumerate() {
        *x = if i % cols < rank { *x } else { [f32::NAN, 0.0, 7.0][i % 3] };
    }
    let found = complete(q, rows, cols, rank, &x)?;
    let own = |x: &[f32]| -> Vec<f32> { x.chunks(cols).flat_map(|row| row[..rank].to_vec()).list() };
    Failure::unless_equal(&own(&x), &own(&found))?;
    unless_orthonormal("the completed columns", &Matrix::of_f32(rows, cols, &found), 1e-6)
}

fn completions() -> OpSpec {
    let mut cases = Vec::new();
    for (rows, cols, rank) in
        [(1, 1, 0), (1, 1, 1), (7, 7, 3), (40, 5, 4), (33, 33, 1), (100, 40, 3), (1500, 6, 2), (60, 44, 44)]
    {
        let name = format!("{rank} of {cols} columns of {rows}");
        cases.push(Case::new(name, move |q| completed(q, rows, cols, rank)));
    }
    cases.push(Case::new("no column: unit vectors", |q| {
        for (rows, cols) in [(1, 1), (9, 4), (50, 33), (1200, 2)] {
            let unit: Vec<f32> = (0..rows * cols).map(|i| f32::from(u8::from(i / cols == i % cols))).list();
            Failure::unless_equal(&unit, &complete(q, rows, cols, 0, &vec![3.0; rows * cols])?)?;
        }
        Ok(())
    }));
    cases.push(Case::new("unit vectors in other places", |q| {
        // the first rows without a part in the columns before are 0 and 2
        let turned = [0.0, 5.0, 5.0, 1.0, 5.0, 5.0, 0.0, 5.0, 5.0, 0.0, 5.0, 5.0];
        let expected = [0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0];
        Failure::unless_equal(&expected, &complete(q, 4, 3, 1, &turned)?)
    }));
    cases.push(Case::new("more columns than rows", |q| {
        Failure::unless_refused("3 columns of 2", complete(q, 2, 3, 0, &[0.0; 6]).map(drop))
    }));
    OpSpec { op: "factor.complete_columns", cases }
}

fn oriented(q: &Conditioned, rows: usize, other_rows: usize, cols: usize) -> Result<(), Failure> {
    let mut random = NumberSource::new((rows + cols) as u64);
    // few values, so that the largest are there several times
    let mut some = |count| (0..count).map(|_| (random.dyadic() * 3.0).round()).list();
    let (u, v) = (some(rows * cols), some(other_rows * cols));
    let signs: Vec<f32> = (0..cols)
        .map(|c| {
            let largest = u.iter().skip(c).step_by(cols).fold(0.0f32, |a, &b| if b.abs() > a.abs() { b } else { a });
            if largest < 0.0 { -1.0 } else { 1.0 }
        })
        .list();
    let expected = |x: &[f32]| x.iter().enumerate().map(|(i, x)| x * signs[i % cols]).list();
    let (mut du, mut dv) = (q.upload(&u)?, q.upload(&v)?);
    let params = ColumnPairParams { rows: rows as u64, other_rows: other_rows as u64, cols: cols as u64 };
    q.orient_columns(OrientColumns { params: &params, u: du.view_mut(), v: dv.view_mut() })?;
    Failure::unless_equal(&expected(&u), &q.download(&du)?)?;
    Failure::unless_equal(&expected(&v), &q.download(&dv)?)
}

fn orientations() -> OpSpec {
    let mut cases = Vec::new();
    for (rows, other_rows, cols) in
        [(1, 1, 1), (5, 3, 2), (3, 700, 33), (600, 2, 5), (257, 255, 9), (0, 4, 3), (4, 4, 0)]
    {
        let name = format!("{cols} columns of {rows} and {other_rows}");
        cases.push(Case::new(name, move |q| oriented(q, rows, other_rows, cols)));
    }
    cases.push(Case::new("the first of equal magnitudes decides", |q| {
        let (mut u, mut v) = (q.upload(&[1.0f32, -2.0, -2.0, 2.0, 2.0, 0.5])?, q.upload(&[1.0f32, 1.0])?);
        let params = ColumnPairParams { rows: 3, other_rows: 1, cols: 2 };
        q.orient_columns(OrientColumns { params: &params, u: u.view_mut(), v: v.view_mut() })?;
        Failure::unless_equal(&[-1.0, 2.0, 2.0, -2.0, -2.0, -0.5], &q.download(&u)?)?;
        Failure::unless_equal(&[-1.0, -1.0], &q.download(&v)?)
    }));
    OpSpec { op: "factor.orient_columns", cases }
}

fn scaled(q: &Conditioned, rows: usize, cols: usize, alpha: f32) -> Result<(), Failure> {
    let mut random = NumberSource::new((rows + cols) as u64);
    let x: Vec<f32> = (0..rows * cols).map(|_| random.uniform() as f32).list();
    let factors: Vec<f32> = (0..cols).map(|_| random.uniform() as f32).list();
    let expected: Vec<f32> = x.iter().enumerate().map(|(i, x)| alpha * factors[i % cols] * x).list();
    let (x, factors, mut y) = (q.upload(&x)?, q.upload(&factors)?, q.upload(&vec![9.0f32; rows * cols])?);
    let params = ScaleParams { matrix: MatrixParams { rows: rows as u64, cols: cols as u64 }, alpha };
    q.scale_columns(ScaleColumns { params: &params, x: x.view(), factors: factors.view(), y: y.view_mut() })?;
    Failure::unless_equal(&expected, &q.download(&y)?)
}

fn scalings() -> OpSpec {
    let mut cases = Vec::new();
    for (rows, cols) in [(0, 3), (1, 1), (5, 4), (257, 3), (8, 32), (3, 255), (4, 0)] {
        cases.push(Case::new(format!("{rows} x {cols}"), move |q| scaled(q, rows, cols, -0.7)));
    }
    cases.push(Case::new("30000 x 7", |q| scaled(q, 30_000, 7, 1.5)).on_elements(210_000));
    OpSpec { op: "factor.scale_columns", cases }
}
