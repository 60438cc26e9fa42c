//! The last layer, checked by evaluating the polynomial that it gives.

use backend_api::{
    BackendError, Buffer as _, Queue,
    ops::fri::{FriLastLayer, FriOps},
};
use core_types::{
    circle::{bit_reversed, double_x},
    field::{M31, QM31},
    params::fri::FriLastLayerParams,
};

use super::{inverse_twiddles, line_x, random};
use crate::{Case, Conditioned, Failure, OpSpec, list::ListIterator as _, secure};

/// Returns the coefficients, and the word that is nonzero if higher coefficients exist.
fn interpolated(
    q: &Conditioned,
    params: FriLastLayerParams,
    values: &[QM31],
) -> Result<(Vec<QM31>, u32), BackendError> {
    let inverse_twiddles = inverse_twiddles(q, params.log_size + 1)?;
    let (values, mut coefficients) = (q.upload(&secure::planes(values))?, q.zeros(1 << params.log_bound)?);
    let mut excess = q.upload(&[7])?;
    q.fri_last_layer(FriLastLayer {
        params: &params,
        inverse_twiddles: inverse_twiddles.view(),
        values: values.view(),
        coefficients: coefficients.view_mut(),
        excess: excess.view_mut(),
    })?;
    Ok((q.download(&coefficients)?, q.download(&excess)?[0]))
}

/// Values of a polynomial on the line of `2^log_size` points.
///
/// Coefficient `k` multiplies the factors `x, pi(x), ..` selected by the bits of `k`.
fn evaluated(coefficients: &[QM31], log_size: u32) -> Vec<QM31> {
    let nonzero: Vec<(usize, QM31)> = coefficients.iter().copied().enumerate().filter(|c| c.1 != QM31::ZERO).list();
    let at = |x: M31| {
        let factors: Vec<M31> = core::iter::successors(Some(x), |&x| Some(double_x(x))).take(log_size as usize).list();
        let basis = |k: usize| {
            let selected = factors.iter().enumerate().filter(|(bit, _)| k >> bit & 1 == 1);
            selected.fold(M31::ONE, |product, (_, &factor)| product * factor)
        };
        nonzero.iter().fold(QM31::ZERO, |sum, &(k, c)| sum + c * QM31::from(basis(k)))
    };
    (0..1usize << log_size).map(|position| at(line_x(position, log_size))).list()
}

/// Interpolates the values of random coefficients.
///
/// It does so again for coefficients with one more beyond the bound.
fn expect_coefficients(q: &Conditioned, params: FriLastLayerParams) -> Result<(), Failure> {
    let FriLastLayerParams { log_size, log_bound } = params;
    let mut coefficients = random(log_bound);
    let (got, excess) = interpolated(q, params, &evaluated(&coefficients, log_size))?;
    let expected: Vec<QM31> = (0..1u32 << log_bound).map(|k| coefficients[bit_reversed(k, log_bound) as usize]).list();
    Failure::unless_equal(&expected, &got)?;
    Failure::unless_equal(&[0], &[excess])?;
    for k in [1 << log_bound, (1 << log_size) - 1] {
        if !(1 << log_bound..1 << log_size).contains(&k) {
            continue;
        }
        coefficients.resize(1 << log_size, QM31::ZERO);
        coefficients[k] = QM31::new(QM31::ZERO.a, (-QM31::I).a);
        let (got, excess) = interpolated(q, params, &evaluated(&coefficients, log_size))?;
        Failure::unless_equal(&expected, &got)?;
        Failure::unless_equal(&[1], &[excess])?;
        coefficients.truncate(1 << log_bound);
    }
    Ok(())
}

pub(super) fn last_layer() -> OpSpec {
    let mut cases = Vec::new();
    for log_size in 0..=7 {
        cases.push(Case::new(format!("2^{log_size} values, every bound"), move |q| {
            (0..=log_size).try_for_each(|log_bound| expect_coefficients(q, FriLastLayerParams { log_size, log_bound }))
        }));
    }
    for (log_size, log_bound) in [(8, 3), (9, 8), (9, 9), (10, 5), (11, 6), (12, 0)] {
        let case = Case::new(format!("2^{log_size} values, 2^{log_bound} coefficients"), move |q| {
            expect_coefficients(q, FriLastLayerParams { log_size, log_bound })
        });
        cases.push(case.on_elements(1 << log_size));
    }
    cases.push(Case::new("constants of the greatest words", |q| {
        let values = vec![QM31::from_coordinates([-M31::ONE; 4]); 64];
        let (got, excess) = interpolated(q, FriLastLayerParams { log_size: 6, log_bound: 0 }, &values)?;
        Failure::unless_equal(&values[..1], &got)?;
        Failure::unless_equal(&[0], &[excess])
    }));
    cases.push(Case::new("more coefficients than values", |q| {
        let params = FriLastLayerParams { log_size: 2, log_bound: 3 };
        Failure::unless_refused("2^3 of 2^2", interpolated(q, params, &random(2)).map(drop))
    }));
    OpSpec { op: "fri.last_layer", cases }
}
