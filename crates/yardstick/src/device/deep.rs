//! Device speed of quotients and folds.

use backend_api::{
    Buffer as _, Queue,
    ops::{
        deep::{DeepNumerators, DeepOps, DeepQuotients},
        fri::{FriFold, FriLastLayer, FriOps},
    },
};
use core_types::{
    field::{M31, QM31, Twiddle},
    params::{
        columns::ColumnAt,
        deep::{DeepBatch, DeepNumeratorsParams, DeepQuotientsParams, DeepTerm},
        fri::{FriFoldParams, FriLastLayerParams},
    },
};

use super::{DeviceLine, Extent, RunSize, words};

/// Bytes of four planes for each position.
const SECURE_BYTES: f64 = 16.0;

pub(super) fn lines(extent: Extent) -> Vec<DeviceLine> {
    let (log_size, columns, last) = match extent {
        Extent::Full => (20, 108, 11),
        Extent::Small => (6, 5, 4),
    };
    vec![numerators(log_size, columns), quotients(log_size), fold(log_size, 1), fold(log_size, 3), last_layer(last)]
}

fn elements(count: usize) -> Vec<M31> {
    words(count, 3).into_iter().map(|word| M31::from_u32(word as u32)).collect()
}

fn secure(count: usize) -> Vec<QM31> {
    elements(4 * count).chunks(4).map(|x| QM31::from_coordinates([x[0], x[1], x[2], x[3]])).collect()
}

/// All columns at one point.
fn numerators(log_size: u32, columns: u32) -> DeviceLine {
    let count = (columns as usize) << log_size;
    let bytes = 4.0 * count as f64 + SECURE_BYTES * f64::from(1u32 << log_size);
    let size = RunSize { unit: "element", work: count as f64, bytes, resident: bytes };
    DeviceLine::new(format!("deep.numerators/{columns}x2^{log_size}"), size, move |q| {
        let places: Vec<_> = (0..columns).map(|i| ColumnAt::new(u64::from(i) << log_size, log_size)).collect();
        let terms: Vec<_> = (0..columns).map(|column| DeepTerm { column, value: 0, power: 0, reserved: 0 }).collect();
        let batches = [DeepBatch { first: 0, count: columns, point: 0, log_size }];
        let (values, factors) = (q.upload(&elements(count))?, q.upload(&secure(columns as usize))?);
        let mut numerators = q.zeros(4 << log_size)?;
        Ok(Box::new(move |q| {
            Ok(q.deep_numerators(DeepNumerators {
                params: &DeepNumeratorsParams { log_size },
                columns: &places,
                terms: &terms,
                batches: &batches,
                values: values.view(),
                factors: factors.view(),
                numerators: numerators.view_mut(),
            })?)
        }))
    })
}

/// Two points of one batch each.
fn quotients(log_size: u32) -> DeviceLine {
    let positions = f64::from(1u32 << log_size);
    let bytes = 3.0 * SECURE_BYTES * positions;
    let size = RunSize { unit: "position", work: positions, bytes, resident: bytes };
    DeviceLine::new(format!("deep.quotients/2x2^{log_size}"), size, move |q| {
        let batches = [0, 1].map(|point| DeepBatch { first: point, count: 1, point, log_size });
        let (points, lines) = (q.upload(&secure(4))?, q.upload(&secure(4))?);
        let (numerators, mut quotients) = (q.upload(&elements(8 << log_size))?, q.zeros(4 << log_size)?);
        Ok(Box::new(move |q| {
            Ok(q.deep_quotients(DeepQuotients {
                params: &DeepQuotientsParams { log_size, log_domain: log_size + 1 },
                batches: &batches,
                points: points.view(),
                lines: lines.view(),
                numerators: numerators.view(),
                quotients: quotients.view_mut(),
            })?)
        }))
    })
}

fn fold(log_size: u32, folds: u32) -> DeviceLine {
    let positions = f64::from(1u32 << log_size);
    let bytes = (SECURE_BYTES + 2.0) * positions + SECURE_BYTES * positions / f64::from(1u32 << folds);
    let size = RunSize { unit: "element", work: positions, bytes, resident: bytes };
    DeviceLine::new(format!("fri.fold/{folds}x2^{log_size}"), size, move |q| {
        let (inverse_twiddles, challenge) = (q.zeros::<Twiddle>(1 << (log_size - 1))?, q.upload(&secure(1))?);
        let (values, mut folded) = (q.upload(&elements(4 << log_size))?, q.zeros(4 << (log_size - folds))?);
        Ok(Box::new(move |q| {
            Ok(q.fri_fold(FriFold {
                params: &FriFoldParams { log_size, folds, on_circle: 1 },
                inverse_twiddles: inverse_twiddles.view(),
                challenge: challenge.view(),
                values: values.view(),
                folded: folded.view_mut(),
            })?)
        }))
    })
}

fn last_layer(log_size: u32) -> DeviceLine {
    let positions = f64::from(1u32 << log_size);
    let size = RunSize { unit: "element", work: positions, bytes: 0.0, resident: 2.0 * SECURE_BYTES * positions };
    DeviceLine::new(format!("fri.last_layer/2^{log_size}"), size, move |q| {
        let inverse_twiddles = q.zeros::<Twiddle>(1 << log_size)?;
        let values = q.upload(&elements(4 << log_size))?;
        let (mut coefficients, mut excess) = (q.zeros(1 << (log_size - 1))?, q.zeros(1)?);
        Ok(Box::new(move |q| {
            Ok(q.fri_last_layer(FriLastLayer {
                params: &FriLastLayerParams { log_size, log_bound: log_size - 1 },
                inverse_twiddles: inverse_twiddles.view(),
                values: values.view(),
                coefficients: coefficients.view_mut(),
                excess: excess.view_mut(),
            })?)
        }))
    })
}
