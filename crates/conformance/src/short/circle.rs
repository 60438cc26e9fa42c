//! A small call of every circle op, to be refused with any of its views an element short.

use backend_api::{
    Buffer,
    ops::circle::{
        BatchInverseM31, BatchInverseQm31, CircleEvalAtPoint, CircleEvaluate, CircleExtend, CircleInterpolate,
        CircleLde, CircleOps, CircleTwiddles,
    },
};
use core_types::{
    circle::CirclePoint,
    field::{M31, QM31, Twiddle},
    params::circle::{CircleExtendParams, CircleFftParams, CirclePointParams, CircleTwiddleParams},
};

use super::case;
use crate::Case;

/// Two columns of 16.
const FFT: CircleFftParams = CircleFftParams { log_size: 4, columns: 2 };

/// Their extension.
const EXTEND: CircleExtendParams = CircleExtendParams { log_coefficients: 4, log_size: 5, columns: 2 };

pub(super) fn cases<Q: CircleOps + 'static>() -> Vec<Case<Q>> {
    vec![
        case("circle_twiddles", |q: &Q, short| {
            let [mut twiddles, mut inverse] = [q.zeros::<Twiddle>(8)?, q.zeros::<Twiddle>(8)?];
            let params = CircleTwiddleParams { log_size: 4 };
            let (twiddles, inverse_twiddles) = (twiddles.view_mut(), inverse.view_mut());
            q.circle_twiddles(CircleTwiddles { params: &params, twiddles, inverse_twiddles }.map(short)?)
        }),
        case("circle_interpolate", |q: &Q, short| {
            let (twiddles, mut columns) = (q.zeros::<Twiddle>(8)?, q.zeros::<M31>(32)?);
            let (inverse_twiddles, columns) = (twiddles.view(), columns.view_mut());
            q.circle_interpolate(CircleInterpolate { params: &FFT, inverse_twiddles, columns }.map(short)?)
        }),
        case("circle_evaluate", |q: &Q, short| {
            let (twiddles, mut columns) = (q.zeros::<Twiddle>(8)?, q.zeros::<M31>(32)?);
            let (twiddles, columns) = (twiddles.view(), columns.view_mut());
            q.circle_evaluate(CircleEvaluate { params: &FFT, twiddles, columns }.map(short)?)
        }),
        case("circle_extend", |q: &Q, short| {
            let (twiddles, coefficients, mut values) = (q.zeros::<Twiddle>(16)?, q.zeros::<M31>(32)?, q.zeros(64)?);
            let (twiddles, coefficients, values) = (twiddles.view(), coefficients.view(), values.view_mut());
            q.circle_extend(CircleExtend { params: &EXTEND, twiddles, coefficients, values }.map(short)?)
        }),
        case("circle_lde", |q: &Q, short| {
            let (small, large) = (q.zeros::<Twiddle>(8)?, q.zeros::<Twiddle>(16)?);
            let (mut columns, mut values) = (q.zeros::<M31>(32)?, q.zeros(64)?);
            let (inverse_twiddles, twiddles) = (small.view(), large.view());
            let (columns, values) = (columns.view_mut(), values.view_mut());
            q.circle_lde(CircleLde { params: &EXTEND, inverse_twiddles, twiddles, columns, values }.map(short)?)
        }),
        case("circle_eval_at_point", |q: &Q, short| {
            let (coefficients, mut results) = (q.zeros::<M31>(32)?, q.zeros::<QM31>(2)?);
            let point = CirclePoint { x: QM31::ONE, y: QM31::ZERO };
            let params = CirclePointParams { log_size: 4, columns: 2, point };
            let (coefficients, results) = (coefficients.view(), results.view_mut());
            q.circle_eval_at_point(CircleEvalAtPoint { params: &params, coefficients, results }.map(short)?)
        }),
        case("batch_inverse_m31", |q: &Q, short| {
            let (elements, mut inverses) = (q.upload(&[M31::ONE; 5])?, q.zeros(5)?);
            let mut first_zero = q.upload(&[u64::MAX])?;
            let (elements, inverses, first_zero) = (elements.view(), inverses.view_mut(), first_zero.view_mut());
            q.batch_inverse_m31(BatchInverseM31 { elements, inverses, first_zero }.map(short)?)
        }),
        case("batch_inverse_qm31", |q: &Q, short| {
            let (elements, mut inverses) = (q.upload(&[QM31::ONE; 5])?, q.zeros(5)?);
            let mut first_zero = q.upload(&[u64::MAX])?;
            let (elements, inverses, first_zero) = (elements.view(), inverses.view_mut(), first_zero.view_mut());
            q.batch_inverse_qm31(BatchInverseQm31 { elements, inverses, first_zero }.map(short)?)
        }),
    ]
}
