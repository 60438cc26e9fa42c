//! Folds, checked pair by pair, against published values, and by what they do to polynomials.

use backend_api::{
    BackendError, Buffer as _, Queue,
    ops::fri::{FriFold, FriOps},
};
use core_types::{
    field::{M31, QM31},
    params::fri::FriFoldParams,
};

use super::{divided, inverse_twiddles, line_x, random};
use crate::{
    Case, Conditioned, Failure, OpSpec,
    circle::model::{ElementStream, stored_point},
    list::ListIterator as _,
    secure,
};

fn folded(q: &Conditioned, params: FriFoldParams, challenge: QM31, values: &[QM31]) -> Result<Vec<QM31>, BackendError> {
    let inverse_twiddles = inverse_twiddles(q, params.log_domain())?;
    let (challenge, values) = (q.upload(&[challenge])?, q.upload(&secure::planes(values))?);
    let mut folded = q.zeros(4 << (params.log_size - params.folds))?;
    q.fri_fold(FriFold {
        params: &params,
        inverse_twiddles: inverse_twiddles.view(),
        challenge: challenge.view(),
        values: values.view(),
        folded: folded.view_mut(),
    })?;
    Ok(secure::elements(&q.download(&folded)?))
}

/// Fold after fold by the definition.
fn expected(params: FriFoldParams, challenge: QM31, values: &[QM31]) -> Vec<QM31> {
    let FriFoldParams { log_size, folds, on_circle } = params;
    let (mut values, mut alpha) = (values.to_vec(), challenge);
    for fold in 0..folds {
        let coordinate = |position| match (fold, on_circle) {
            (0, 1) => stored_point(log_size, position).y,
            _ => line_x(position, log_size - fold),
        };
        let pairs = values.chunks(2).enumerate();
        values =
            pairs.map(|(h, pair)| (pair[0] + pair[1]) + alpha * divided(pair[0] - pair[1], coordinate(2 * h))).list();
        alpha = alpha * alpha;
    }
    values
}

fn expect_folds(q: &Conditioned, params: FriFoldParams, values: &[QM31]) -> Result<(), Failure> {
    let challenge = ElementStream::new(u64::from(params.log_size)).qm31();
    Failure::unless_equal(&expected(params, challenge, values), &folded(q, params, challenge, values)?)
}

fn felts<const N: usize>(words: [[u32; 4]; N]) -> Vec<QM31> {
    words.iter().map(|words| QM31::from_coordinates(words.map(M31::from_u32))).list()
}

fn published(q: &Conditioned) -> Result<(), Failure> {
    let values: Vec<QM31> = (0..8).map(|k| QM31::from_coordinates([k, k + 1, 2 * k, 5].map(M31::from_u32))).list();
    let line = felts([
        [1_968_023_181, 2_083_635_523, 1_371_835_611, 57_806_180],
        [179_460_472, 63_848_134, 775_648_048, 2_089_677_487],
        [826_229_783, 1_158_625_069, 991_237_825, 166_197_652],
        [1_321_253_886, 988_858_604, 1_156_245_866, 1_981_286_015],
    ]);
    let alpha = felts([[1, 2, 3, 4], [5, 6, 7, 8]]);
    let params = FriFoldParams { log_size: 3, folds: 1, on_circle: 1 };
    Failure::unless_equal(&line, &folded(q, params, alpha[0], &values)?)?;
    let expected = felts([
        [1_382_554_077, 1_691_864_004, 759_746_399, 388_656_654],
        [331_363_710, 1_332_572_655, 56_872_647, 2_061_200_356],
    ]);
    let params = FriFoldParams { log_size: 2, folds: 1, on_circle: 0 };
    Failure::unless_equal(&expected, &folded(q, params, alpha[1], &line)?)
}

pub(super) fn fold() -> OpSpec {
    let mut cases = vec![Case::new("published folds of eight values", published)];
    for log_size in 1..=12 {
        for (on_circle, place) in [(1, "the circle"), (0, "a line")] {
            let case = Case::new(format!("2^{log_size} values on {place}, folded once and more often"), move |q| {
                let values = random(log_size);
                (1..=4.min(log_size))
                    .chain([log_size])
                    .try_for_each(|folds| expect_folds(q, FriFoldParams { log_size, folds, on_circle }, &values))
            });
            cases.push(case.on_elements(1 << log_size));
        }
    }
    for (log_size, folds, on_circle) in [(14, 1, 1), (14, 3, 0), (15, 4, 1), (15, 1, 0), (14, 13, 1)] {
        let place = if on_circle == 1 { "the circle" } else { "a line" };
        let case = Case::new(format!("2^{log_size} values on {place}, {folds} folds"), move |q| {
            expect_folds(q, FriFoldParams { log_size, folds, on_circle }, &random(log_size))
        });
        cases.push(case.on_elements(1 << log_size));
    }
    cases.push(Case::new("greatest words", |q| {
        for on_circle in [0, 1] {
            let params = FriFoldParams { log_size: 7, folds: 2, on_circle };
            for values in [[-M31::ONE; 4], [-M31::ONE, M31::ZERO, -M31::ONE, M31::ZERO]] {
                let mut all = vec![QM31::from_coordinates(values); 128];
                expect_folds(q, params, &all)?;
                all.iter_mut().step_by(2).for_each(|value| *value = QM31::ZERO);
                expect_folds(q, params, &all)?;
            }
        }
        Ok(())
    }));
    cases.push(Case::new("folds that there are not", |q| {
        let refuse = |what, params| Failure::unless_refused(what, folded(q, params, QM31::ONE, &random(2)).map(drop));
        refuse("no fold", FriFoldParams { log_size: 2, folds: 0, on_circle: 1 })?;
        refuse("neither circle nor line", FriFoldParams { log_size: 2, folds: 1, on_circle: 2 })
    }));
    OpSpec { op: "fri.fold", cases }
}
