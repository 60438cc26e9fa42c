//! Every vector level and thread count against each other, on sizes around vectors and tiles.

use backend_api::ops::deep::{DeepNumerators, DeepOps, DeepQuotients};
use core_types::{
    circle::CirclePoint,
    field::{M31, QM31},
    params::{
        columns::ColumnAt,
        deep::{DeepBatch, DeepNumeratorsParams, DeepQuotientsParams, DeepTerm},
    },
};
use cpu_backend::CpuQueue;

use super::{elements, secure};
use crate::levels::{expect_equal, queues};

/// Two batches at one point and one at another, of three heights, and their numerators.
fn quotients(q: &CpuQueue, log_size: u32) -> [Vec<M31>; 2] {
    const TERMS: u32 = 23;
    let values = elements((TERMS as usize) << log_size, 1);
    let terms: Vec<DeepTerm> =
        (0..TERMS).map(|i| DeepTerm { column: i * 5 % TERMS, value: 0, power: 0, reserved: 0 }).collect();
    let columns: Vec<ColumnAt> = (0..TERMS).map(|i| ColumnAt::new(u64::from(i) << log_size, log_size)).collect();
    let batch = |first, count, point, log_size| DeepBatch { first, count, point, log_size };
    let batches = [batch(0, 5, 0, 1.min(log_size)), batch(5, 1, 0, log_size), batch(6, 17, 1, log_size.div_ceil(2))];
    let factors = secure(TERMS as usize, 2);
    let mut numerators = Vec::new();
    for batch in &batches {
        let start = numerators.len();
        numerators.resize(start + (4 << batch.log_size), M31::ZERO);
        q.deep_numerators(DeepNumerators {
            params: &DeepNumeratorsParams { log_size: batch.log_size },
            columns: &columns,
            terms: &terms,
            batches: core::slice::from_ref(batch),
            values: &values,
            factors: &factors,
            numerators: &mut numerators[start..],
        })
        .unwrap();
    }
    let (points, lines) = (secure(4, 3), secure(6, 4));
    let mut quotients = vec![M31::ZERO; 4 << log_size];
    q.deep_quotients(DeepQuotients {
        params: &DeepQuotientsParams { log_size, log_domain: log_size + 2 },
        batches: &batches,
        points: &points,
        lines: &lines,
        numerators: &numerators,
        quotients: &mut quotients,
    })
    .unwrap();
    [numerators, quotients]
}

#[test]
fn every_level_and_thread_count_gives_the_same_words() {
    let queues = queues();
    for log_size in (0..=6).chain([9, 10, 11, 13]) {
        expect_equal(&queues, &format!("log size {log_size}"), |q| quotients(q, log_size));
    }
}

#[test]
fn a_point_of_the_domain_adds_nothing_where_it_is() {
    let first = CirclePoint { x: M31::ZERO, y: -M31::ONE }; // position 0 of two points
    for q in queues() {
        let points: [QM31; 2] = [first.x.into(), first.y.into()];
        let mut quotients = vec![M31::ONE; 8];
        q.deep_quotients(DeepQuotients {
            params: &DeepQuotientsParams { log_size: 1, log_domain: 1 },
            batches: &[DeepBatch { first: 0, count: 1, point: 0, log_size: 1 }],
            points: &points,
            lines: &[QM31::ONE; 2],
            numerators: &[M31::ONE; 8],
            quotients: &mut quotients,
        })
        .unwrap();
        assert_eq!(quotients, [M31::ZERO; 8], "all denominators of a point of the base field are zero");
    }
}
