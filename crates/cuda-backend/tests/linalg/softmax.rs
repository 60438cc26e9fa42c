//! Softmax and log-softmax with masks, special values and gradients, along rows and columns.

use backend_api::{
    Buffer, Queue, Real,
    ops::linalg::{LogSoftmax, LogSoftmaxBackward, RowMask, RowOps, Softmax, SoftmaxBackward},
};
use core_types::params::rows::{AxisParams, SoftmaxParams};
use cuda_backend::CudaQueue;
use half::{bf16, f16};

use crate::linalg::{
    model,
    rig::{after_lead, assert_close, assert_near, on_every_order, reals, rounding, wide},
};

/// Shapes with rows for registers, warps and blocks, and with columns.
const SHAPES: [[usize; 3]; 12] = [
    [1, 1, 1],
    [3, 4, 1],
    [5, 7, 1],
    [9, 128, 1],
    [2, 1000, 1],
    [3, 1024, 1],
    [2, 1023, 1],
    [2, 1028, 1],
    [1, 3001, 1],
    [2, 5, 7],
    [1, 40, 33],
    [70, 3, 2],
];

fn params([outer, len, inner]: [usize; 3], mask_period: usize, causal_offset: i64) -> SoftmaxParams {
    let axis = AxisParams { outer: outer as u64, len: len as u64, inner: inner as u64 };
    SoftmaxParams { axis, mask_period: mask_period as u64, causal_offset }
}

fn run<T: Real>(
    q: &CudaQueue,
    log: bool,
    params: SoftmaxParams,
    lead: usize,
    x: &[T],
    mask: RowMask<'_, CudaQueue>,
) -> Vec<T> {
    let range = lead..lead + x.len();
    let (dx, mut y) = (after_lead(q, lead, x), q.zeros::<T>(range.end).unwrap());
    let (x, out, mask) = (dx.slice(range.clone()).unwrap(), y.slice_mut(range.clone()).unwrap(), mask.shorten());
    match log {
        false => q.softmax(Softmax { params: &params, x, mask, y: out }),
        true => q.log_softmax(LogSoftmax { params: &params, x, mask, y: out }),
    }
    .unwrap();
    q.read(y.slice(range).unwrap()).unwrap()
}

fn plain<T: Real>(q: &CudaQueue, log: bool, shape: [usize; 3], lead: usize) {
    let x: Vec<T> = reals(10, shape.iter().product(), 4.0);
    let y = run(q, log, params(shape, 1, 0), lead, &x, RowMask::None);
    let some: Vec<Option<f64>> = wide(&x).into_iter().map(Some).collect();
    let want = model::along(&some, shape, |_, _, row| model::softmax(log, row));
    let what = format!("{shape:?} after {lead} elements, log: {log}");
    assert_close(&what, &want, &y, 5e-6 + rounding::<T>(), 1e-9 + 1e-4 * rounding::<T>());
}

#[test]
fn softmax_is_within_its_bound() {
    on_every_order(|q| {
        for log in [false, true] {
            for shape in SHAPES {
                plain::<f32>(q, log, shape, 0);
            }
            for shape in [[3, 128, 1], [2, 1028, 1]] {
                plain::<f32>(q, log, shape, 1);
                plain::<f16>(q, log, shape, 0);
                plain::<bf16>(q, log, shape, 2);
            }
            plain::<f16>(q, log, [2, 9, 35], 0);
        }
    });
}

#[test]
fn special_values_and_dominated_rows_come_out_as_documented() {
    let (nan, inf) = (f32::NAN, f32::INFINITY);
    on_every_order(|q| {
        for len in [4usize, 6, 1028] {
            let row = |head: [f32; 3], rest: f32| {
                let mut row = vec![rest; len];
                row[..3].copy_from_slice(&head);
                row
            };
            let rows = [
                row([1.0, nan, 2.0], 0.0),
                row([1.0, inf, 2.0], 0.0),
                row([-inf; 3], -inf),
                row([0.0, 30.0, 0.5], -inf),
                row([-1e38, 1e38, 0.0], -80.0),
                row([1e4, 1e4 + 1.0, 1e4 - 2.0], -inf),
            ];
            for log in [false, true] {
                let y = run(q, log, params([6, len, 1], 1, 0), 0, &rows.concat(), RowMask::None);
                assert!(y[..3 * len].iter().all(|y| y.is_nan()), "{len}: {:?}", &y[..8]);
                let some: Vec<Option<f64>> = wide(&rows[3..].concat()).into_iter().map(Some).collect();
                let want = model::along(&some, [3, len, 1], |_, _, row| model::softmax(log, row));
                assert_close("dominated", &want, &y[3 * len..], 5e-6, 1e-9);
            }
        }
    });
}

#[test]
fn masks_leave_out_what_they_say() {
    on_every_order(|q| {
        for (shape, period) in [([6, 16, 1], 3), ([4, 33, 1], 4), ([2, 1028, 1], 1), ([4, 5, 7], 2)] {
            let [_, len, inner] = shape;
            let x: Vec<f32> = reals(11, shape.iter().product(), 4.0);
            let mut rng = fastrand::Rng::with_seed(12);
            let mut keep: Vec<bool> = (0..period * len * inner).map(|_| rng.u8(..4) != 0).collect();
            // One row is left out wholly.
            keep.iter_mut().step_by(inner).take(len).for_each(|keep| *keep = false);
            let kept = |i: usize| keep[i % keep.len()];
            let addend: Vec<f32> = keep.iter().map(|&keep| if keep { 0.25 } else { f32::NEG_INFINITY }).collect();
            let hidden: Vec<f32> = x.iter().enumerate().map(|(i, &x)| if kept(i) { x } else { f32::NAN }).collect();
            let some: Vec<Option<f64>> = (0..x.len()).map(|i| kept(i).then(|| x[i].into())).collect();
            let (keep, addend) = (q.upload(&keep).unwrap(), q.upload(&addend).unwrap());
            let p = params(shape, period, 0);
            for log in [false, true] {
                let want = model::along(&some, shape, |_, _, row| model::softmax(log, row));
                let y = run(q, log, p, 0, &hidden, RowMask::Keep(keep.view()));
                assert_close("keep", &want, &y, 5e-6, 1e-9);
                let y = run(q, log, p, 0, &x, RowMask::Additive(addend.view()));
                assert_close("additive", &want, &y, 5e-6, 1e-9);
            }
            for offset in [-2, 0, 1, 100] {
                let some = model_causal(&x, shape, period, offset);
                for log in [false, true] {
                    let want = model::along(&some, shape, |_, _, row| model::softmax(log, row));
                    let y = run(q, log, params(shape, period, offset), 0, &x, RowMask::Causal);
                    assert_close("causal", &want, &y, 5e-6, 1e-9);
                }
            }
        }
    });
}

fn model_causal(x: &[f32], [_, len, inner]: [usize; 3], period: usize, offset: i64) -> Vec<Option<f64>> {
    let kept = |i: usize| (i / inner % len) as i64 <= (i / (len * inner) % period) as i64 + offset;
    x.iter().enumerate().map(|(i, &x)| kept(i).then_some(x.into())).collect()
}

fn backward<T: Real>(q: &CudaQueue, log: bool, shape: [usize; 3], lead: usize, bound: f64) {
    let count = shape.iter().product();
    let x: Vec<Option<f64>> = wide(&reals::<f32>(21, count, 4.0)).into_iter().map(Some).collect();
    let y = model::along(&x, shape, |_, _, row| model::softmax(log, row));
    let y: Vec<T> = y.into_iter().map(|y| T::from_f32(y as f32)).collect();
    let g: Vec<T> = reals(22, count, 1.0);
    let pairs: Vec<(f64, f64)> = wide(&y).into_iter().zip(wide(&g)).collect();
    let want = model::along(&pairs, shape, |_, _, row| {
        let sum: f64 = row.iter().map(|(y, g)| if log { *g } else { y * g }).sum();
        row.iter().map(|(y, g)| if log { g - y.exp() * sum } else { y * (g - sum) }).collect()
    });
    let range = lead..lead + count;
    let (dy, dg, mut dx) = (after_lead(q, lead, &y), after_lead(q, lead, &g), q.zeros::<T>(range.end).unwrap());
    let (y, g, out) =
        (dy.slice(range.clone()).unwrap(), dg.slice(range.clone()).unwrap(), dx.slice_mut(range.clone()).unwrap());
    let params = params(shape, 1, 0).axis;
    match log {
        false => q.softmax_backward(SoftmaxBackward { params: &params, y, g, dx: out }),
        true => q.log_softmax_backward(LogSoftmaxBackward { params: &params, y, g, dx: out }),
    }
    .unwrap();
    let got = q.read(dx.slice(range).unwrap()).unwrap();
    assert_near(&format!("{shape:?} after {lead} elements, log: {log}"), &want, &got, bound);
}

#[test]
fn gradients_are_within_their_bounds() {
    on_every_order(|q| {
        for log in [false, true] {
            for shape in SHAPES {
                backward::<f32>(q, log, shape, 0, 1e-5);
            }
            backward::<f32>(q, log, [3, 128, 1], 3, 1e-5);
            backward::<f16>(q, log, [3, 128, 1], 0, 1e-2);
            backward::<bf16>(q, log, [2, 1500, 1], 0, 5e-2);
            backward::<bf16>(q, log, [2, 7, 40], 0, 5e-2);
        }
    });
}

#[test]
fn elements_left_out_have_no_gradient() {
    on_every_order(|q| {
        let (out, live) = (f32::NEG_INFINITY, 0.5f32.ln());
        let y = q.upload(&[out, out, out, out, live, out, live, out]).unwrap();
        let g = q.upload(&reals::<f32>(23, 8, 1.0)).unwrap();
        let mut dx = q.zeros::<f32>(8).unwrap();
        let params = AxisParams { outer: 2, len: 4, inner: 1 };
        q.log_softmax_backward(LogSoftmaxBackward { params: &params, y: y.view(), g: g.view(), dx: dx.view_mut() })
            .unwrap();
        let dx = q.download(&dx).unwrap();
        assert_eq!([dx[0], dx[1], dx[2], dx[3], dx[5], dx[7]], [0.0; 6]);
        assert_eq!(dx[4], -dx[6]);
    });
}
