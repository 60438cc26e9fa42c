//! Speed lines of the op sets `deep` and `fri`, on one thread.

use std::num::NonZeroUsize;

use backend_api::ops::{
    deep::{DeepNumerators, DeepOps as _, DeepQuotients},
    fri::{FriFold, FriOps as _},
};
use core_types::{
    field::{M31, QM31, Twiddle},
    params::{
        columns::ColumnAt,
        deep::{DeepBatch, DeepNumeratorsParams, DeepQuotientsParams, DeepTerm},
        fri::FriFoldParams,
    },
};
use cpu_backend::{CpuConfig, CpuQueue, SimdLevel};

use super::{Contender, Contest, Goal, Show};

/// Columns of the quotients: a trace of 100 and a composition polynomial of 8.
const COLUMNS: u32 = 108;

/// Log of the positions.
const LOG_SIZE: u32 = 18;

/// Columns times positions per second.
///
/// All take 28 ms at this rate. stwo's vector backend took 40 ms on one core of an EPYC (Zen 4).
const GOAL_RATE: f64 = 108.0 * 262_144.0 / 28e-3;

/// Every contest of the op sets, by name; each is built only when its turn comes.
#[must_use]
pub(crate) fn contests() -> Vec<(String, Box<dyn FnOnce() -> Contest>)> {
    let quotients: Box<dyn FnOnce() -> Contest> = Box::new(quotients);
    let fold: Box<dyn FnOnce() -> Contest> = Box::new(fold);
    vec![("deep.quotients/108x18".to_owned(), quotients), ("fri.fold/20".to_owned(), fold)]
}

fn open(simd: SimdLevel) -> CpuQueue {
    let config = CpuConfig { threads: Some(NonZeroUsize::MIN), simd, ..CpuConfig::default() };
    CpuQueue::open(config).expect("one thread needs no pool")
}

fn elements(count: u32) -> Vec<M31> {
    (0..count).map(|i| M31::from_u32(i.wrapping_mul(0x9e37_79b9))).collect()
}

fn secure(count: u32) -> Vec<QM31> {
    elements(4 * count).chunks(4).map(|x| QM31::from_coordinates([x[0], x[1], x[2], x[3]])).collect()
}

fn quotients() -> Contest {
    Contest {
        id: "deep.quotients/108x18".to_owned(),
        unit: "element",
        work: f64::from(COLUMNS) * f64::from(1u32 << LOG_SIZE),
        show: Show::Nanoseconds,
        contenders: vec![
            our_quotients("trefoil", SimdLevel::Avx512),
            plain_numerators(),
            our_quotients("trefoil, portable path", SimdLevel::Portable),
        ],
        goals: vec![(Goal::Rate(GOAL_RATE), "avx-512")],
    }
}

/// Numerators of all columns at one point, and the quotients.
fn our_quotients(name: &str, simd: SimdLevel) -> Contender {
    let q = open(simd);
    let columns: Vec<_> = (0..COLUMNS).map(|i| ColumnAt::new(u64::from(i) << LOG_SIZE, LOG_SIZE)).collect();
    let terms: Vec<_> = (0..COLUMNS).map(|column| DeepTerm { column, value: 0, power: 0, reserved: 0 }).collect();
    let batches = [DeepBatch { first: 0, count: COLUMNS, point: 0, log_size: LOG_SIZE }];
    let (values, factors) = (elements(COLUMNS << LOG_SIZE), secure(COLUMNS));
    let (points, lines) = (secure(2), secure(2));
    let [mut numerators, mut quotients] = [(); 2].map(|()| vec![M31::ZERO; 4 << LOG_SIZE]);
    Contender::new(name, move || {
        q.deep_numerators(DeepNumerators {
            params: &DeepNumeratorsParams { log_size: LOG_SIZE },
            columns: &columns,
            terms: &terms,
            batches: &batches,
            values: &values,
            factors: &factors,
            numerators: &mut numerators,
        })
        .expect("lengths match");
        q.deep_quotients(DeepQuotients {
            params: &DeepQuotientsParams { log_size: LOG_SIZE, log_domain: LOG_SIZE + 1 },
            batches: &batches,
            points: &points,
            lines: &lines,
            numerators: &numerators,
            quotients: &mut quotients,
        })
        .expect("lengths match");
    })
}

/// The numerators alone, column after column, vectorised by the compiler.
fn plain_numerators() -> Contender {
    let (values, factors) = (elements(COLUMNS << LOG_SIZE), secure(COLUMNS));
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

fn fold() -> Contest {
    Contest {
        id: "fri.fold/20".to_owned(),
        unit: "element",
        work: f64::from(1u32 << 20),
        show: Show::Nanoseconds,
        contenders: vec![
            our_fold("trefoil", SimdLevel::Avx512, 1),
            our_fold("trefoil, three folds", SimdLevel::Avx512, 3),
        ],
        goals: vec![],
    }
}

fn our_fold(name: &str, simd: SimdLevel, folds: u32) -> Contender {
    let q = open(simd);
    let params = FriFoldParams { log_size: 20, folds, on_circle: 1 };
    let inverse_twiddles: Vec<Twiddle> = elements(1 << 19).into_iter().map(Twiddle::new).collect();
    let (challenge, values) = (secure(2), elements(4 << 20));
    let mut folded = vec![M31::ZERO; 4 << (20 - folds)];
    Contender::new(name, move || {
        q.fri_fold(FriFold {
            params: &params,
            inverse_twiddles: &inverse_twiddles,
            challenge: &challenge[1..],
            values: &values,
            folded: &mut folded,
        })
        .expect("lengths match");
    })
}
