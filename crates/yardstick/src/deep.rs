//! Speed lines of the op sets `deep` and `fri`: quotients, folds, and gathers at the queries.

use backend_api::{
    Buffer, Queue as _,
    ops::{
        deep::{DeepNumerators, DeepOps as _, DeepQuotients},
        fri::{FriFold, FriLastLayer, FriOps as _, OpenColumns, OpenGroups},
    },
};
use core_types::{
    field::{M31, QM31, Twiddle},
    params::{
        columns::ColumnAt,
        deep::{DeepBatch, DeepNumeratorsParams, DeepQuotientsParams, DeepTerm},
        fri::{FriFoldParams, FriLastLayerParams, OpenColumnsParams, OpenGroupsParams},
    },
};
use runtime::{AnyBuf, AnyQueue};

use crate::{
    Contender, Extent, Goal, Line, LineError,
    host::{M31_BYTES, SECURE_BYTES, elements, places, secure_elements, words},
    line::RunSize,
};

/// Columns of the quotients: a trace of 100 and a composition polynomial of 8.
const COLUMNS: u32 = 108;

/// Log of the positions on the processor.
const LOG_SIZE: u32 = 18;

/// Columns times positions per second.
///
/// All take 28 ms at this rate. stwo's vector backend took 40 ms on one core of an EPYC (Zen 4).
const GOAL_RATE: f64 = 108.0 * 262_144.0 / 28e-3;

/// Queries of a proof.
const QUERIES: u32 = 70;

/// Every line of the op sets on the processor.
pub(crate) fn contests() -> Vec<Line> {
    let quotients = numerators_and_quotients().in_nanoseconds().peer(plain_numerators).portable();
    let fold_once = fold(20, 1).called("fri.fold/20").in_nanoseconds();
    vec![quotients.goal(Goal::Rate(GOAL_RATE), "avx-512"), fold_once.variant("trefoil, three folds", fold(20, 3))]
}

/// Every line of the op sets on a device.
pub(crate) fn lines(extent: Extent) -> Vec<Line> {
    let (opened, from, log_size, columns, last) = match extent {
        Extent::Full => (20, 100, 20, COLUMNS, 11),
        Extent::Small => (8, 4, 6, 5, 4),
    };
    vec![
        open_columns(opened, from),
        open_groups(opened),
        numerators(log_size, columns),
        quotients(log_size),
        fold(log_size, 1),
        fold(log_size, 3),
        last_layer(last),
    ]
}

/// Random words, from buffers of these many words.
fn gathered(words: usize, from: usize) -> RunSize {
    RunSize::computing("word", words as f64, M31_BYTES * from as f64)
}

fn positions() -> Vec<u32> {
    words(QUERIES as usize, 3).into_iter().map(|word| (word >> 32) as u32).collect()
}

fn open_columns(log_size: u32, count: u32) -> Line {
    let (words, from) = ((count * QUERIES) as usize, (count as usize) << log_size);
    let id = format!("fri.open_columns/{QUERIES} of {count}x2^{log_size}");
    Line::new(&id, gathered(words, from), move |q| {
        let (columns, positions) = (places(log_size, count), q.upload(&positions())?);
        let (values, mut opened) = (q.zeros::<M31>(from)?, q.zeros::<M31>(words)?);
        let params = OpenColumnsParams { log_from: log_size, log_leaves: log_size, queries: QUERIES };
        Ok(Box::new(move |q| {
            let (values, positions, opened) = (values.view(), positions.view(), opened.view_mut());
            Ok(q.open_columns(OpenColumns { params: &params, columns: &columns, values, positions, opened })?)
        }))
    })
}

fn open_groups(log_size: u32) -> Line {
    let log_group = 2;
    let count = (QUERIES as usize) << log_group;
    let size = gathered(4 * count, 4 << log_size);
    Line::new(&format!("fri.open_groups/{QUERIES} of 2^{log_size}"), size, move |q| {
        let (values, positions) = (q.zeros::<M31>(4 << log_size)?, q.upload(&positions())?);
        let mut opened = q.zeros::<QM31>(count)?;
        let params = OpenGroupsParams { log_size, log_from: log_size, log_group, queries: QUERIES };
        Ok(Box::new(move |q| {
            let (values, positions, opened) = (values.view(), positions.view(), opened.view_mut());
            Ok(q.open_groups(OpenGroups { params: &params, values, positions, opened })?)
        }))
    })
}

/// All columns at one point, with the numerators of their quotients.
struct Numerators {
    params: DeepNumeratorsParams,
    columns: Vec<ColumnAt>,
    terms: Vec<DeepTerm>,
    batches: [DeepBatch; 1],
    values: AnyBuf<M31>,
    factors: AnyBuf<QM31>,
    numerators: AnyBuf<M31>,
}

impl Numerators {
    fn new(q: &AnyQueue, log_size: u32, columns: u32) -> Result<Self, LineError> {
        Ok(Self {
            params: DeepNumeratorsParams { log_size },
            columns: places(log_size, columns),
            terms: (0..columns).map(|column| DeepTerm { column, value: 0, power: 0, reserved: 0 }).collect(),
            batches: [DeepBatch { first: 0, count: columns, point: 0, log_size }],
            values: q.upload(&elements((columns as usize) << log_size))?,
            factors: q.upload(&secure_elements(columns as usize))?,
            numerators: q.zeros(4 << log_size)?,
        })
    }

    fn run(&mut self, q: &AnyQueue) -> Result<(), LineError> {
        Ok(q.deep_numerators(DeepNumerators {
            params: &self.params,
            columns: &self.columns,
            terms: &self.terms,
            batches: &self.batches,
            values: self.values.view(),
            factors: self.factors.view(),
            numerators: self.numerators.view_mut(),
        })?)
    }
}

fn numerators(log_size: u32, columns: u32) -> Line {
    let count = (columns as usize) << log_size;
    let bytes = M31_BYTES * count as f64 + SECURE_BYTES * f64::from(1u32 << log_size);
    let size = RunSize::streaming("element", count as f64, bytes);
    Line::new(&format!("deep.numerators/{columns}x2^{log_size}"), size, move |q| {
        let mut numerators = Numerators::new(q, log_size, columns)?;
        Ok(Box::new(move |q| numerators.run(q)))
    })
}

/// Quotients of the numerators of `batches`.
fn divide(
    q: &AnyQueue,
    log_size: u32,
    batches: &[DeepBatch],
    [points, lines]: [&AnyBuf<QM31>; 2],
    numerators: &AnyBuf<M31>,
    quotients: &mut AnyBuf<M31>,
) -> Result<(), LineError> {
    Ok(q.deep_quotients(DeepQuotients {
        params: &DeepQuotientsParams { log_size, log_domain: log_size + 1 },
        batches,
        points: points.view(),
        lines: lines.view(),
        numerators: numerators.view(),
        quotients: quotients.view_mut(),
    })?)
}

/// Two points of one batch each.
fn quotients(log_size: u32) -> Line {
    let positions = f64::from(1u32 << log_size);
    let size = RunSize::streaming("position", positions, 3.0 * SECURE_BYTES * positions);
    Line::new(&format!("deep.quotients/2x2^{log_size}"), size, move |q| {
        let batches = [0, 1].map(|point| DeepBatch { first: point, count: 1, point, log_size });
        let (points, lines) = (q.upload(&secure_elements(4))?, q.upload(&secure_elements(4))?);
        let (numerators, mut quotients) = (q.upload(&elements(8 << log_size))?, q.zeros::<M31>(4 << log_size)?);
        Ok(Box::new(move |q| divide(q, log_size, &batches, [&points, &lines], &numerators, &mut quotients)))
    })
}

/// Numerators of all columns at one point, and the quotients.
fn numerators_and_quotients() -> Line {
    let size = RunSize::computing("element", f64::from(COLUMNS) * f64::from(1u32 << LOG_SIZE), 0.0);
    Line::new("deep.quotients/108x18", size, |q| {
        let mut all = Numerators::new(q, LOG_SIZE, COLUMNS)?;
        let (points, lines) = (q.upload(&secure_elements(2))?, q.upload(&secure_elements(2))?);
        let mut quotients = q.zeros::<M31>(4 << LOG_SIZE)?;
        Ok(Box::new(move |q| {
            all.run(q)?;
            divide(q, LOG_SIZE, &all.batches, [&points, &lines], &all.numerators, &mut quotients)
        }))
    })
}

fn fold(log_size: u32, folds: u32) -> Line {
    let positions = f64::from(1u32 << log_size);
    let bytes = (SECURE_BYTES + 2.0) * positions + SECURE_BYTES * positions / f64::from(1u32 << folds);
    let size = RunSize::streaming("element", positions, bytes);
    Line::new(&format!("fri.fold/{folds}x2^{log_size}"), size, move |q| {
        let inverse_twiddles: Vec<_> = elements(1 << (log_size - 1)).into_iter().map(Twiddle::new).collect();
        let (inverse_twiddles, challenge) = (q.upload(&inverse_twiddles)?, q.upload(&secure_elements(1))?);
        let (values, mut folded) = (q.upload(&elements(4 << log_size))?, q.zeros::<M31>(4 << (log_size - folds))?);
        let params = FriFoldParams { log_size, folds, on_circle: 1 };
        Ok(Box::new(move |q| {
            let (params, inverse_twiddles, challenge) = (&params, inverse_twiddles.view(), challenge.view());
            let (values, folded) = (values.view(), folded.view_mut());
            Ok(q.fri_fold(FriFold { params, inverse_twiddles, challenge, values, folded })?)
        }))
    })
}

fn last_layer(log_size: u32) -> Line {
    let positions = f64::from(1u32 << log_size);
    let size = RunSize::computing("element", positions, 2.0 * SECURE_BYTES * positions);
    Line::new(&format!("fri.last_layer/2^{log_size}"), size, move |q| {
        let (inverse_twiddles, values) = (q.zeros::<Twiddle>(1 << log_size)?, q.upload(&elements(4 << log_size))?);
        let (mut coefficients, mut excess) = (q.zeros::<QM31>(1 << (log_size - 1))?, q.zeros::<u32>(1)?);
        let params = FriLastLayerParams { log_size, log_bound: log_size - 1 };
        Ok(Box::new(move |q| {
            let (params, inverse_twiddles, values) = (&params, inverse_twiddles.view(), values.view());
            let (coefficients, excess) = (coefficients.view_mut(), excess.view_mut());
            Ok(q.fri_last_layer(FriLastLayer { params, inverse_twiddles, values, coefficients, excess })?)
        }))
    })
}

/// The numerators alone, column after column, vectorised by the compiler.
fn plain_numerators() -> Contender {
    let (values, factors) = (elements((COLUMNS as usize) << LOG_SIZE), secure_elements(COLUMNS as usize));
    let mut sums = vec![[0u64; 4]; 1 << LOG_SIZE];
    Contender::new("plain loops over columns, autovectorised", move || {
        sums.fill([0; 4]);
        for (column, factor) in values.chunks(1 << LOG_SIZE).zip(&factors) {
            let factor = factor.coordinates().map(|word| u64::from(word.word()));
            for (sums, value) in sums.iter_mut().zip(column) {
                for (sum, factor) in sums.iter_mut().zip(factor) {
                    let product = u64::from(value.word()) * factor;
                    *sum += (product & 0x7fff_ffff) + (product >> 31);
                }
            }
        }
    })
}
