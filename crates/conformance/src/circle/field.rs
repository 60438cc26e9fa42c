//! Evaluation at a point and batch inversion.
//!
//! Evaluation is checked against the sum over the basis; inversion by products equal to one.

use backend_api::{
    BackendError, Buffer as _, Queue,
    ops::circle::{BatchInverseM31, CircleEvalAtPoint, CircleOps},
};
use core_types::{
    circle::CirclePoint,
    field::{Field, M31, QM31},
    params::circle::CirclePointParams,
};
use stark_fft::{FftError, Invertible, batch_inverse as inverses_of};

use super::model::{ElementStream, value_at};
use crate::{Case, Conditioned, Failure, OpSpec, list::ListIterator as _, spec::BATCHES};

fn evaluated(
    q: &Conditioned,
    log_size: u32,
    columns: u32,
    coefficients: &[M31],
    point: CirclePoint<QM31>,
) -> Result<Vec<QM31>, BackendError> {
    let coefficients = q.upload(coefficients)?;
    let mut results = q.zeros(columns as usize)?;
    let params = CirclePointParams { log_size, columns, point };
    q.circle_eval_at_point(CircleEvalAtPoint {
        params: &params,
        coefficients: coefficients.view(),
        results: results.view_mut(),
    })?;
    q.download(&results)
}

fn expect_at_random_point(q: &Conditioned, log_size: u32, columns: u32) -> Result<(), Failure> {
    let mut stream = ElementStream::new(u64::from(log_size) << 32 | u64::from(columns));
    let (coefficients, point) = (stream.column((columns as usize) << log_size), stream.point());
    let expected: Vec<QM31> = coefficients.chunks(1 << log_size).map(|column| value_at(column, point)).list();
    Failure::unless_equal(&expected, &evaluated(q, log_size, columns, &coefficients, point)?)
}

pub(super) fn eval_at_point() -> OpSpec {
    let mut cases = Vec::new();
    for log_size in (0..=13).chain([16, 20]) {
        let case = Case::new(format!("2^{log_size} coefficients"), move |q| expect_at_random_point(q, log_size, 1));
        cases.push(case.on_elements(1 << log_size));
    }
    for columns in BATCHES {
        cases.push(Case::new(format!("{columns} columns"), move |q| {
            expect_at_random_point(q, 5, columns)?;
            expect_at_random_point(q, 9, columns)
        }));
    }
    cases.push(Case::new("greatest words", |q| {
        let greatest = vec![-M31::ONE; 1 << 10];
        let point = ElementStream::new(3).point();
        Failure::unless_equal(&[value_at(&greatest, point)], &evaluated(q, 10, 1, &greatest, point)?)
    }));
    OpSpec { op: "circle.eval_at_point", cases }
}

/// Inverts `elements` and multiplies back.
fn expect_inverses<T: Invertible + Field + core::fmt::Debug>(q: &Conditioned, elements: &[T]) -> Result<(), Failure> {
    let inverses = q.download(&inverses_of(q, &q.upload(elements)?)?)?;
    let products: Vec<T> = elements.iter().zip(&inverses).map(|(&x, &y)| x * y).list();
    Failure::unless_equal(&vec![T::ONE; elements.len()], &products)
}

/// Inverts a batch whose element `index` is zero.
fn expect_zero_found<T: Invertible + Field>(q: &Conditioned, len: usize, index: usize) -> Result<(), Failure> {
    let mut elements = vec![T::ONE; len];
    elements[index] = T::ZERO;
    if let Some(last) = elements.last_mut() {
        *last = T::ZERO; // a second zero, unless `index` is the last
    }
    match inverses_of(q, &q.upload(&elements)?) {
        Err(FftError::ZeroInverse { index: found }) if found == index => Ok(()),
        Err(other) => Err(other.into()),
        Ok(_) => Err(Failure::Broken(format!("the zero at {index} was not reported"))),
    }
}

pub(super) fn batch_inverse() -> OpSpec {
    let mut cases = Vec::new();
    for len in [0, 1, 2, 31, 32, 33, 255, 256, 257, 4095, 4096, 4097, 100_000] {
        cases.push(Case::new(format!("{len} elements"), move |q| {
            let mut stream = ElementStream::new(len as u64);
            let base: Vec<M31> = (0..len).map(|_| M31::from_u32(1 + stream.word() as u32 % 0x7fff_fffe)).list();
            let secure: Vec<QM31> = (0..len).map(|_| stream.qm31() + QM31::from(M31::ONE)).list();
            let secure: Vec<QM31> = secure.into_iter().map(|x| if x == QM31::ZERO { QM31::ONE } else { x }).list();
            expect_inverses(q, &base)?;
            expect_inverses(q, &secure)
        }));
    }
    for (len, index) in [(1, 0), (2, 0), (33, 31), (257, 256), (5000, 0), (5000, 4095), (5000, 4096), (5000, 4999)] {
        cases.push(Case::new(format!("zero at {index} of {len}"), move |q| {
            expect_zero_found::<M31>(q, len, index)?;
            expect_zero_found::<QM31>(q, len, index)
        }));
    }
    cases.push(Case::new("views that are too long", long_batch_inverse));
    OpSpec { op: "circle.batch_inverse", cases }
}

fn long_batch_inverse(q: &Conditioned) -> Result<(), Failure> {
    let elements = q.upload(&[M31::ONE; 16])?;
    for (len, flags) in [(17, 1), (16, 2)] {
        let (mut inverses, mut first_zero) = (q.zeros::<M31>(len)?, q.zeros::<u64>(flags)?);
        let (elements, inverses, first_zero) = (elements.view(), inverses.view_mut(), first_zero.view_mut());
        let refused = q.batch_inverse_m31(BatchInverseM31 { elements, inverses, first_zero });
        Failure::unless_refused(&format!("{len} inverses, {flags} flags"), refused)?;
    }
    Ok(())
}
