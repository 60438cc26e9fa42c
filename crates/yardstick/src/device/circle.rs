//! Device speed of circle transforms, extensions, evaluation at a point and batch inversion.

use backend_api::{
    Buffer, Queue,
    ops::circle::{
        BatchInverseM31, CircleEvalAtPoint, CircleEvalAtPoints, CircleEvaluate, CircleExtend, CircleInterpolate,
        CircleLde, CircleOps, CircleRestrict, CircleTwiddles,
    },
};
use core_types::{
    circle::CirclePoint,
    field::{M31, QM31, Twiddle},
    params::{
        circle::{CircleExtendParams, CircleFftParams, CirclePointParams, CircleRestrictParams, CircleTwiddleParams},
        columns::ColumnAt,
        deep::SampleAt,
    },
};
use runtime::{AnyBuf, AnyQueue};

use super::{DeviceError, DeviceLine, Extent, RunSize, words};

/// Bytes of an element of a column.
const M31_BYTES: f64 = 4.0;

pub(super) fn lines(extent: Extent) -> Vec<DeviceLine> {
    // A column of 2^24 elements fits the cache of a large device, one of 2^26 fits none.
    let (cached, single, batch, columns) = match extent {
        Extent::Full => (24, 26, 20, 256),
        Extent::Small => (8, 10, 6, 4),
    };
    vec![
        transform(true, cached, 1),
        transform(false, cached, 1),
        transform(true, single, 1),
        transform(false, single, 1),
        transform(true, batch, columns),
        transform(false, batch, columns),
        extend(batch, columns / 4),
        lde(batch, columns / 4),
        restrict(batch, columns / 4),
        at_point(batch, columns),
        at_points(batch, columns),
        inverse(single),
    ]
}

fn elements(log_size: u32, columns: u32) -> usize {
    (columns as usize) << log_size
}

fn column(q: &AnyQueue, len: usize) -> Result<AnyBuf<M31>, DeviceError> {
    let values: Vec<_> = words(len, 1).into_iter().map(|word| M31::from_u32(word as u32 | 1)).collect();
    Ok(q.upload(&values)?)
}

/// Twiddles of a domain and their inverses.
fn twiddles(q: &AnyQueue, log_size: u32) -> Result<[AnyBuf<Twiddle>; 2], DeviceError> {
    let mut both = [q.zeros(1 << (log_size - 1))?, q.zeros(1 << (log_size - 1))?];
    let [forward, inverse] = &mut both;
    q.circle_twiddles(CircleTwiddles {
        params: &CircleTwiddleParams { log_size },
        twiddles: forward.view_mut(),
        inverse_twiddles: inverse.view_mut(),
    })?;
    Ok(both)
}

fn transform(interpolate: bool, log_size: u32, columns: u32) -> DeviceLine {
    let name = if interpolate { "interpolate" } else { "evaluate" };
    let count = elements(log_size, columns);
    let work = count as f64 * f64::from(log_size);
    let bytes = M31_BYTES * count as f64;
    let size = RunSize { unit: "element-layer", work, bytes: 2.0 * bytes, resident: bytes };
    DeviceLine::new(format!("circle.{name}/{columns}x2^{log_size}"), size, move |q| {
        let [forward, inverse] = twiddles(q, log_size)?;
        let mut values = column(q, count)?;
        let params = CircleFftParams { log_size, columns };
        Ok(Box::new(move |q| {
            if interpolate {
                q.circle_interpolate(CircleInterpolate {
                    params: &params,
                    inverse_twiddles: inverse.view(),
                    columns: values.view_mut(),
                })?;
            } else {
                q.circle_evaluate(CircleEvaluate {
                    params: &params,
                    twiddles: forward.view(),
                    columns: values.view_mut(),
                })?;
            }
            Ok(())
        }))
    })
}

/// Low-degree extension by a factor of two.
fn extend(log_coefficients: u32, columns: u32) -> DeviceLine {
    let log_size = log_coefficients + 1;
    let count = elements(log_coefficients, columns);
    let work = 2.0 * count as f64 * f64::from(log_coefficients);
    let bytes = 3.0 * M31_BYTES * count as f64;
    let size = RunSize { unit: "element-layer", work, bytes, resident: bytes };
    DeviceLine::new(format!("circle.extend/{columns}x2^{log_coefficients}"), size, move |q| {
        let [forward, _] = twiddles(q, log_size)?;
        let coefficients = column(q, count)?;
        let mut values = q.zeros(2 * count)?;
        let params = CircleExtendParams { log_coefficients, log_size, columns };
        Ok(Box::new(move |q| {
            Ok(q.circle_extend(CircleExtend {
                params: &params,
                twiddles: forward.view(),
                coefficients: coefficients.view(),
                values: values.view_mut(),
            })?)
        }))
    })
}

/// The same from values, coefficients included.
fn lde(log_coefficients: u32, columns: u32) -> DeviceLine {
    let log_size = log_coefficients + 1;
    let count = elements(log_coefficients, columns);
    let work = 3.0 * count as f64 * f64::from(log_coefficients);
    let bytes = M31_BYTES * count as f64;
    let size = RunSize { unit: "element-layer", work, bytes: 4.0 * bytes, resident: 3.0 * bytes };
    DeviceLine::new(format!("circle.lde/{columns}x2^{log_coefficients}"), size, move |q| {
        let [forward, _] = twiddles(q, log_size)?;
        let [_, inverse] = twiddles(q, log_coefficients)?;
        let (mut columns_of, mut values) = (column(q, count)?, q.zeros(2 * count)?);
        let params = CircleExtendParams { log_coefficients, log_size, columns };
        Ok(Box::new(move |q| {
            let (from, to) = (columns_of.view_mut(), values.view_mut());
            Ok(q.circle_lde(CircleLde {
                params: &params,
                inverse_twiddles: inverse.view(),
                twiddles: forward.view(),
                columns: from,
                values: to,
            })?)
        }))
    })
}

/// Evaluates one of eight blocks of a domain with two points per coefficient.
fn restrict(log_coefficients: u32, columns: u32) -> DeviceLine {
    let (log_domain, log_block) = (log_coefficients + 1, log_coefficients - 2);
    let (count, values_len) = (elements(log_coefficients, columns), elements(log_block, columns));
    // A sum of four parts counts as a layer for each.
    let work = values_len as f64 * f64::from(log_block + 4);
    let bytes = M31_BYTES * (count + values_len) as f64;
    let size = RunSize { unit: "element-layer", work, bytes, resident: bytes };
    DeviceLine::new(format!("circle.restrict/{columns}x2^{log_coefficients}"), size, move |q| {
        let [forward, _] = twiddles(q, log_domain)?;
        let coefficients = column(q, count)?;
        let mut values = q.zeros(values_len)?;
        let params = CircleRestrictParams { log_coefficients, log_domain, log_block, block: 5, columns };
        Ok(Box::new(move |q| {
            Ok(q.circle_restrict(CircleRestrict {
                params: &params,
                twiddles: forward.view(),
                coefficients: coefficients.view(),
                values: values.view_mut(),
            })?)
        }))
    })
}

fn at_point(log_size: u32, columns: u32) -> DeviceLine {
    let count = elements(log_size, columns);
    let bytes = M31_BYTES * count as f64;
    let size = RunSize { unit: "element", work: count as f64, bytes, resident: bytes };
    DeviceLine::new(format!("circle.eval_at_point/{columns}x2^{log_size}"), size, move |q| {
        let coefficients = column(q, count)?;
        let mut results = q.zeros(columns as usize)?;
        let t = QM31::from_coordinates([11, 22, 33, 44].map(M31::from_u32));
        let point = CirclePoint::from_parameter(t).ok_or("the parameter names no point")?;
        let params = CirclePointParams { log_size, columns, point };
        Ok(Box::new(move |q| {
            Ok(q.circle_eval_at_point(CircleEvalAtPoint {
                params: &params,
                coefficients: coefficients.view(),
                results: results.view_mut(),
            })?)
        }))
    })
}

/// The same at two points, which are on the device.
fn at_points(log_size: u32, columns: u32) -> DeviceLine {
    let count = elements(log_size, columns);
    let bytes = M31_BYTES * count as f64;
    let size = RunSize { unit: "element and point", work: 2.0 * count as f64, bytes, resident: bytes };
    DeviceLine::new(format!("circle.eval_at_points/{columns}x2^{log_size}"), size, move |q| {
        let coefficients = column(q, count)?;
        let mut sampled = q.zeros(2 * columns as usize)?;
        let t = QM31::from_coordinates([11, 22, 33, 44].map(M31::from_u32));
        let point = CirclePoint::from_parameter(t).ok_or("the parameter names no point")?;
        let other = point.double();
        let points = q.upload(&[point.x, point.y, other.x, other.y])?;
        let samples: Vec<SampleAt> = (0..2 * columns).map(|i| SampleAt { column: i / 2, point: i % 2 }).collect();
        let columns: Vec<ColumnAt> =
            (0..columns).map(|column| ColumnAt::new(u64::from(column) << log_size, log_size)).collect();
        Ok(Box::new(move |q| {
            Ok(q.circle_eval_at_points(CircleEvalAtPoints {
                columns: &columns,
                samples: &samples,
                coefficients: coefficients.view(),
                points: points.view(),
                sampled: sampled.view_mut(),
            })?)
        }))
    })
}

fn inverse(log_size: u32) -> DeviceLine {
    let count = elements(log_size, 1);
    let bytes = 2.0 * M31_BYTES * count as f64;
    let size = RunSize { unit: "element", work: count as f64, bytes, resident: bytes };
    DeviceLine::new(format!("circle.batch_inverse_m31/2^{log_size}"), size, move |q| {
        let values = column(q, count)?;
        let (mut inverses, mut first_zero) = (q.zeros(count)?, q.upload(&[u64::MAX])?);
        Ok(Box::new(move |q| {
            Ok(q.batch_inverse_m31(BatchInverseM31 {
                elements: values.view(),
                inverses: inverses.view_mut(),
                first_zero: first_zero.view_mut(),
            })?)
        }))
    })
}
