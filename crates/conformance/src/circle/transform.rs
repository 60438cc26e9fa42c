//! Twiddles, transforms and extensions.
//!
//! They are checked against published values and, point by point, against the definition.

use backend_api::{
    BackendError, Buffer as _, Queue,
    ops::circle::{CircleEvaluate, CircleExtend, CircleInterpolate, CircleLde, CircleOps, CircleTwiddles},
};
use core_types::{
    circle::CirclePoint,
    field::{M31, Twiddle},
    params::circle::{CircleExtendParams, CircleFftParams, CircleTwiddleParams},
};

use super::model::{ElementStream, layer_coordinates, stored_point, value_at};
use crate::{Buf, Case, Conditioned, Failure, OpSpec, list::ListIterator as _, spec::BATCHES};

/// Sizes checked on a sample of points.
///
/// They cover all tilings of the layers, up to columns that exceed every cache.
const BIG: [u32; 10] = [11, 12, 13, 14, 15, 16, 17, 19, 20, 22];

/// Points checked in a big column.
const SAMPLES: usize = 6;

/// Columns with more values than these are checked on a sample of points.
const ALL_VALUES: usize = 1 << 7;

/// The polynomial with coefficients 1 to 8 on 16 points.
pub(super) const PUBLISHED_EXTENSION: [u32; 16] = [
    771_420_925,
    1_387_687_812,
    460_566_449,
    605_757_310,
    803_179_001,
    3_112_186,
    112_055_132,
    151_188_487,
    1_801_308_475,
    942_769_765,
    1_326_705_619,
    468_678_076,
    332_802_656,
    70_347_953,
    834_412_692,
    665_425_713,
];

/// The twiddles of a domain.
pub(super) struct DomainTwiddles {
    pub(super) forward: Buf<Twiddle>,
    pub(super) inverse: Buf<Twiddle>,
}

pub(super) fn tree(q: &Conditioned, log_size: u32) -> Result<DomainTwiddles, BackendError> {
    let mut forward = q.zeros(1 << (log_size - 1))?;
    let mut inverse = q.zeros(1 << (log_size - 1))?;
    q.circle_twiddles(CircleTwiddles {
        params: &CircleTwiddleParams { log_size },
        twiddles: forward.view_mut(),
        inverse_twiddles: inverse.view_mut(),
    })?;
    Ok(DomainTwiddles { forward, inverse })
}

fn evaluated(q: &Conditioned, log_size: u32, columns: u32, coefficients: &[M31]) -> Result<Vec<M31>, BackendError> {
    let tree = tree(q, log_size)?;
    let mut buf = q.upload(coefficients)?;
    q.circle_evaluate(CircleEvaluate {
        params: &CircleFftParams { log_size, columns },
        twiddles: tree.forward.view(),
        columns: buf.view_mut(),
    })?;
    q.download(&buf)
}

pub(super) fn interpolated(
    q: &Conditioned,
    log_size: u32,
    columns: u32,
    values: &[M31],
) -> Result<Vec<M31>, BackendError> {
    let tree = tree(q, log_size)?;
    let mut buf = q.upload(values)?;
    q.circle_interpolate(CircleInterpolate {
        params: &CircleFftParams { log_size, columns },
        inverse_twiddles: tree.inverse.view(),
        columns: buf.view_mut(),
    })?;
    q.download(&buf)
}

fn extended(q: &Conditioned, params: CircleExtendParams, coefficients: &[M31]) -> Result<Vec<M31>, BackendError> {
    let tree = tree(q, params.log_size)?;
    let coefficients = q.upload(coefficients)?;
    let mut values = q.zeros((params.columns as usize) << params.log_size)?;
    q.circle_extend(CircleExtend {
        params: &params,
        twiddles: tree.forward.view(),
        coefficients: coefficients.view(),
        values: values.view_mut(),
    })?;
    q.download(&values)
}

/// The coefficients and the values of an extension from values.
fn interpolated_and_extended(
    q: &Conditioned,
    params: CircleExtendParams,
    values: &[M31],
) -> Result<[Vec<M31>; 2], BackendError> {
    let (small, large) = (tree(q, params.log_coefficients)?, tree(q, params.log_size)?);
    let mut columns = q.upload(values)?;
    let mut values = q.zeros((params.columns as usize) << params.log_size)?;
    q.circle_lde(CircleLde {
        params: &params,
        inverse_twiddles: small.inverse.view(),
        twiddles: large.forward.view(),
        columns: columns.view_mut(),
        values: values.view_mut(),
    })?;
    Ok([q.download(&columns)?, q.download(&values)?])
}

/// Compares all values of all columns with the definition.
fn expect_values(log_size: u32, log_coefficients: u32, coefficients: &[M31], values: &[M31]) -> Result<(), Failure> {
    let columns = coefficients.chunks(1 << log_coefficients);
    let expected: Vec<M31> =
        columns.flat_map(|column| (0..1 << log_size).map(move |p| value_at(column, stored_point(log_size, p)))).list();
    Failure::unless_equal(&expected, values)
}

/// Compares columns of `2^log_size` points with the definition, as [`expect_at`].
fn expect_samples(log_size: u32, log_coefficients: u32, coefficients: &[M31], values: &[M31]) -> Result<(), Failure> {
    expect_at([log_coefficients, log_size], coefficients, values, |p| stored_point(log_size, p))
}

/// Compares columns of `2^log_len` values with the definition at their points.
///
/// All values of a small column are compared; of a big one the first, the last and some others.
pub(super) fn expect_at(
    [log_coefficients, log_len]: [u32; 2],
    coefficients: &[M31],
    values: &[M31],
    point: impl Fn(usize) -> CirclePoint<M31>,
) -> Result<(), Failure> {
    let len = 1usize << log_len;
    let mut stream = ElementStream::new(99);
    let columns = coefficients.chunks(1 << log_coefficients).zip(values.chunks(len));
    for (column, (coefficients, values)) in columns.enumerate() {
        let positions: Vec<usize> = if len <= ALL_VALUES {
            (0..len).list()
        } else {
            [0, len - 1].into_iter().chain((2..SAMPLES).map(|_| stream.word() as usize % len)).list()
        };
        for p in positions {
            let expected = value_at(coefficients, point(p));
            if values[p] != expected {
                let (expected, got) = (expected.to_string(), values[p].to_string());
                return Err(Failure::Differs { index: column * len + p, expected, got });
            }
        }
    }
    Ok(())
}

/// Columns of a large case: more than one where they are small enough.
fn some_columns(log_size: u32) -> u32 {
    if log_size < 15 { 2 } else { 1 }
}

/// Inputs of one column that expose missing reductions.
///
/// They are random, constant extremes, and an extreme value at one end alone.
fn patterns(log_size: u32) -> Vec<Vec<M31>> {
    let len = 1usize << log_size;
    let only = |at: usize| (0..len).map(|i| if i == at { -M31::ONE } else { M31::ZERO }).list();
    let random = ElementStream::new(u64::from(log_size)).column(len);
    vec![random, vec![M31::ZERO; len], vec![-M31::ONE; len], only(0), only(len - 1)]
}

pub(super) fn words(words: &[u32]) -> Vec<M31> {
    words.iter().map(|&word| M31::from_u32(word)).list()
}

pub(super) fn twiddles() -> OpSpec {
    let mut cases = vec![Case::new("published twiddles of 16 points", |q| {
        let tree = tree(q, 4)?;
        let plain =
            |buf| -> Result<Vec<M31>, Failure> { Ok(q.download(buf)?.iter().map(|t: &Twiddle| t.factor()).list()) };
        let forward = [1_179_735_656, 1_241_207_368, 1_415_090_252, 2_112_881_577, 590_768_354, 978_592_373, 32_768, 1];
        let inverse = [1_160_411_471, 1_518_526_074, 490_549_293, 1_942_501_404, 991_237_807, 775_648_038, 65_536, 1];
        Failure::unless_equal(&words(&forward), &plain(&tree.forward)?)?;
        Failure::unless_equal(&words(&inverse), &plain(&tree.inverse)?)
    })];
    for log_size in (1..=12).chain([17]) {
        cases.push(
            Case::new(format!("2^{log_size} points"), move |q| {
                let tree = tree(q, log_size)?;
                let (forward, inverse) = (q.download(&tree.forward)?, q.download(&tree.inverse)?);
                let got: Vec<M31> = forward.iter().map(|t| t.factor()).list();
                Failure::unless_equal(&layer_coordinates(log_size), &got)?;
                let products: Vec<M31> = got.iter().zip(&inverse).map(|(&t, i)| t * i.factor()).list();
                Failure::unless_equal(&vec![M31::ONE; products.len()], &products)
            })
            .on_elements(1 << log_size),
        );
    }
    OpSpec { op: "circle.twiddles", cases }
}

/// Coefficients and values of columns on `2^log_size` points, one of them from the other.
type Transformed = fn(&Conditioned, u32, u32, Vec<M31>) -> Result<[Vec<M31>; 2], BackendError>;

/// Columns of every size and number, transformed by `run` and compared with the definition.
fn transform_cases(run: Transformed) -> Vec<Case> {
    let mut cases = Vec::new();
    for log_size in 1..=10 {
        cases.push(Case::new(format!("2^{log_size} points, all by definition"), move |q| {
            for column in patterns(log_size) {
                let [coefficients, values] = run(q, log_size, 1, column)?;
                expect_values(log_size, log_size, &coefficients, &values)?;
            }
            Ok(())
        }));
    }
    for columns in BATCHES {
        cases.push(Case::new(format!("{columns} columns"), move |q| {
            for log_size in [1, 3, 7] {
                let input = ElementStream::new(5).column((columns as usize) << log_size);
                let [coefficients, values] = run(q, log_size, columns, input)?;
                expect_values(log_size, log_size, &coefficients, &values)?;
            }
            Ok(())
        }));
    }
    for log_size in BIG {
        let case = Case::new(format!("2^{log_size} points, sampled"), move |q| {
            let columns = some_columns(log_size);
            let input = ElementStream::new(6).column((columns as usize) << log_size);
            let [coefficients, values] = run(q, log_size, columns, input)?;
            expect_samples(log_size, log_size, &coefficients, &values)
        });
        cases.push(case.on_elements(1 << log_size));
    }
    cases
}

pub(super) fn evaluate() -> OpSpec {
    let mut cases = vec![Case::new("published values of 1..=8", |q| {
        let expected = words(&[
            885_347_334,
            2_092_305_986,
            1_262_332_919,
            55_636_419,
            714_723_476,
            1_109_642_644,
            1_432_563_561,
            1_037_382_257,
        ]);
        Failure::unless_equal(&expected, &evaluated(q, 3, 1, &words(&[1, 2, 3, 4, 5, 6, 7, 8]))?)
    })];
    cases.push(Case::new("sizes that no domain has, and a view that is too long", refusals));
    cases.extend(transform_cases(|q, log_size, columns, coefficients| {
        let values = evaluated(q, log_size, columns, &coefficients)?;
        Ok([coefficients, values])
    }));
    OpSpec { op: "circle.evaluate", cases }
}

fn refusals(q: &Conditioned) -> Result<(), Failure> {
    let twiddles = q.zeros::<Twiddle>(8)?;
    let mut columns = q.zeros::<M31>(33)?;
    for (log_size, len) in [(0, 2), (31, 32), (4, 33)] {
        let params = CircleFftParams { log_size, columns: 2 };
        let what = format!("2^{log_size} points in a view of {len}");
        let view = columns.slice_mut(0..len)?;
        let op = CircleEvaluate { params: &params, twiddles: twiddles.view(), columns: view };
        Failure::unless_refused(&what, q.circle_evaluate(op))?;
        let (inverse_twiddles, columns) = (twiddles.view(), columns.slice_mut(0..len)?);
        let op = CircleInterpolate { params: &params, inverse_twiddles, columns };
        Failure::unless_refused(&what, q.circle_interpolate(op))?;
    }
    let (coefficients, values) = (q.zeros::<M31>(32)?, columns.slice_mut(0..16)?);
    let params = CircleExtendParams { log_coefficients: 5, log_size: 4, columns: 1 };
    let (twiddles, coefficients) = (twiddles.view(), coefficients.view());
    let op = CircleExtend { params: &params, twiddles, coefficients, values };
    Failure::unless_refused("2^5 coefficients on 2^4 points", q.circle_extend(op))
}

pub(super) fn interpolate() -> OpSpec {
    let mut cases = vec![Case::new("published coefficients of 1..=8", |q| {
        let expected = words(&[1_073_741_828, 0, 190_298_901, 0, 2_147_352_575, 0, 775_648_038, 2]);
        Failure::unless_equal(&expected, &interpolated(q, 3, 1, &words(&[1, 2, 3, 4, 5, 6, 7, 8]))?)
    })];
    cases.extend(transform_cases(|q, log_size, columns, values| {
        Ok([interpolated(q, log_size, columns, &values)?, values])
    }));
    OpSpec { op: "circle.interpolate", cases }
}

pub(super) fn extend() -> OpSpec {
    let mut cases = vec![Case::new("published values of 1..=8 on 16 points", |q| {
        let params = CircleExtendParams { log_coefficients: 3, log_size: 4, columns: 1 };
        Failure::unless_equal(&words(&PUBLISHED_EXTENSION), &extended(q, params, &words(&[1, 2, 3, 4, 5, 6, 7, 8]))?)
    })];
    for log_size in 1..=9 {
        cases.push(Case::new(format!("all sizes to 2^{log_size} points"), move |q| {
            for log_coefficients in 0..=log_size {
                let params = CircleExtendParams { log_coefficients, log_size, columns: 2 };
                let coefficients = ElementStream::new(9).column(2 << log_coefficients);
                expect_values(log_size, log_coefficients, &coefficients, &extended(q, params, &coefficients)?)?;
            }
            Ok(())
        }));
    }
    for columns in BATCHES {
        cases.push(Case::new(format!("{columns} columns"), move |q| {
            let params = CircleExtendParams { log_coefficients: 6, log_size: 7, columns };
            let coefficients = ElementStream::new(10).column((columns as usize) << 6);
            expect_values(7, 6, &coefficients, &extended(q, params, &coefficients)?)
        }));
    }
    for (log_coefficients, log_size) in [(10, 13), (11, 12), (12, 16), (13, 14), (16, 18), (20, 21)] {
        cases.push(
            Case::new(format!("2^{log_coefficients} to 2^{log_size}, sampled"), move |q| {
                let columns = some_columns(log_size);
                let params = CircleExtendParams { log_coefficients, log_size, columns };
                let coefficients = ElementStream::new(11).column((columns as usize) << log_coefficients);
                expect_samples(log_size, log_coefficients, &coefficients, &extended(q, params, &coefficients)?)
            })
            .on_elements(1 << log_size),
        );
    }
    OpSpec { op: "circle.extend", cases }
}

/// Extends the values of known coefficients and checks both results.
///
/// The values come from the transform that [`evaluate`] checks.
fn expect_lde(q: &Conditioned, params: CircleExtendParams) -> Result<(), Failure> {
    let CircleExtendParams { log_coefficients, log_size, columns } = params;
    let coefficients = ElementStream::new(12).column((columns as usize) << log_coefficients);
    let values = evaluated(q, log_coefficients, columns, &coefficients)?;
    let [found, extended] = interpolated_and_extended(q, params, &values)?;
    Failure::unless_equal(&coefficients, &found)?;
    expect_samples(log_size, log_coefficients, &coefficients, &extended)
}

pub(super) fn lde() -> OpSpec {
    let mut shapes = Vec::new();
    for log_size in 1..=7 {
        shapes.extend((1..=log_size).map(|log_coefficients| (log_coefficients, log_size, 1)));
    }
    shapes.extend(BATCHES.map(|columns| (5, 6, columns)));
    // One launch of strips in each direction from 2^13 on, wide ones from 2^21 on, two launches from 2^25 on.
    shapes.extend([(12, 13, 2), (13, 13, 1), (13, 14, 3), (14, 17, 1), (16, 17, 2), (20, 21, 1), (21, 22, 1)]);
    let mut cases = Vec::new();
    for (log_coefficients, log_size, columns) in shapes {
        let name = format!("{columns} columns, 2^{log_coefficients} to 2^{log_size}");
        let params = CircleExtendParams { log_coefficients, log_size, columns };
        cases.push(Case::new(name, move |q| expect_lde(q, params)).on_elements(u64::from(columns) << log_size));
    }
    OpSpec { op: "circle.lde", cases }
}
