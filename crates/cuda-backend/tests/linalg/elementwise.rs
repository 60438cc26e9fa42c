//! Activations and their slopes, broadcasting maps, scaled addition, dropout and sums over an axis.

use backend_api::{
    BackendError, Buffer, Queue, Real,
    ops::linalg::{self, Activate, ActivateBackward, Axpby, Dropout, ElementwiseOps, SumAxis},
};
use core_types::{
    params::elementwise::{Activation, Binary, BinaryParams, DropoutParams, SumParams},
    philox,
};
use cuda_backend::CudaQueue;
use half::{bf16, f16};

use crate::linalg::{
    model::activation,
    rig::{after_lead, assert_close, on_every_order, reals, rounding, wide},
};

/// Lengths around vectors, blocks and warps, with the misalignment of the views.
const LENGTHS: [(usize, usize); 8] = [(0, 0), (1, 0), (7, 1), (8, 0), (32, 2), (257, 0), (1030, 3), (5000, 4)];

fn activations<T: Real>(q: &CudaQueue) {
    for (f, (n, lead)) in Activation::ALL.into_iter().flat_map(|f| LENGTHS.map(|length| (f, length))) {
        let x: Vec<T> = reals(4, n, 20.0);
        let want: Vec<f64> = wide(&x).into_iter().map(|x| activation(f, x)).collect();
        let (dx, mut y) = (after_lead(q, lead, &x), q.zeros::<T>(lead + n).unwrap());
        let (x, out) = (dx.slice(lead..lead + n).unwrap(), y.slice_mut(lead..lead + n).unwrap());
        q.activate(Activate { f, x, y: out }).unwrap();
        let y = q.read(y.slice(lead..lead + n).unwrap()).unwrap();
        assert_close(f.name(), &want, &y, rounding::<T>() + 2e-6, 1e-6 * rounding::<T>().max(0.1));
    }
}

#[test]
fn activations_are_within_their_bounds() {
    on_every_order(|q| {
        activations::<f32>(q);
        activations::<f16>(q);
        activations::<bf16>(q);
    });
}

#[test]
fn slopes_are_those_of_central_differences() {
    const H: f64 = 1e-5;
    on_every_order(|q| {
        for f in Activation::ALL {
            // Away from the kink of ReLU.
            let x: Vec<f32> = reals::<f32>(5, 531, 10.0);
            let x: Vec<f32> = x.into_iter().map(|x| if x.abs() < 1e-3 { 0.5 } else { x }).collect();
            let g: Vec<f32> = reals(6, x.len(), 1.0);
            let saved: Vec<f32> = match f.saves_output() {
                true => x.iter().map(|&x| activation(f, x.into()) as f32).collect(),
                false => x.clone(),
            };
            let want: Vec<f64> = wide(&x)
                .into_iter()
                .zip(wide(&g))
                .map(|(x, g)| g * (activation(f, x + H) - activation(f, x - H)) / (2.0 * H))
                .collect();
            let (saved, g, mut dx) = (q.upload(&saved).unwrap(), q.upload(&g).unwrap(), q.zeros(x.len()).unwrap());
            q.activate_backward(ActivateBackward { f, saved: saved.view(), g: g.view(), dx: dx.view_mut() }).unwrap();
            assert_close(f.name(), &want, &q.download(&dx).unwrap(), 1e-5, 1e-6);
        }
    });
}

#[test]
fn binary_maps_broadcast_by_strides() {
    let strides = |s: [u64; 3]| [s[0], s[1], s[2], 0, 0, 0];
    let flat = strides([35, 7, 1]);
    on_every_order(|q| {
        for (a_strides, b_strides) in [
            (flat, flat),
            (flat, strides([0, 0, 1])),
            (strides([0, 7, 1]), strides([7, 0, 1])),
            (strides([1, 0, 0]), strides([0, 0, 0])),
            (strides([1, 3, 15]), flat),
        ] {
            let (a, b) = (reals::<f32>(1, 105, 1.0), reals::<f32>(2, 105, 1.0));
            let (da, db) = (q.upload(&a).unwrap(), q.upload(&b).unwrap());
            for (op, f) in [
                (Binary::Add, (|a, b| a + b) as fn(f32, f32) -> f32),
                (Binary::Sub, |a, b| a - b),
                (Binary::Mul, |a, b| a * b),
            ] {
                let params = BinaryParams { op, rank: 3, shape: [3, 5, 7, 1, 1, 1], a_strides, b_strides };
                let mut y = q.zeros::<f32>(105).unwrap();
                q.binary(linalg::Binary { params: &params, a: da.view(), b: db.view(), y: y.view_mut() }).unwrap();
                let at =
                    |i: usize, s: [u64; 6]| i / 35 * s[0] as usize + i / 7 % 5 * s[1] as usize + i % 7 * s[2] as usize;
                let want: Vec<f32> = (0..105).map(|i| f(a[at(i, a_strides)], b[at(i, b_strides)])).collect();
                assert_eq!(q.download(&y).unwrap(), want, "{a_strides:?} {b_strides:?}");
            }
        }
        let params = BinaryParams {
            op: Binary::Add,
            rank: 1,
            shape: [9, 1, 1, 1, 1, 1],
            a_strides: strides([12, 0, 0]),
            b_strides: strides([1, 0, 0]),
        };
        let (a, mut y) = (q.zeros::<f32>(96).unwrap(), q.zeros::<f32>(9).unwrap());
        let short = q.binary(linalg::Binary { params: &params, a: a.view(), b: a.view(), y: y.view_mut() });
        assert_eq!(short, Err(BackendError::Length { op: "binary", view: "a", expected: 97, got: 96 }));
    });
}

#[test]
fn axpby_reads_y_only_where_it_counts() {
    on_every_order(|q| {
        let x: Vec<f32> = reals(3, 1030, 1.0);
        let dx = q.upload(&x).unwrap();
        for (beta, start) in [(3.0, 10.0), (0.0, f32::NAN)] {
            let mut y = q.upload(&vec![start; x.len()]).unwrap();
            q.axpby(Axpby { alpha: 2.0, x: dx.view(), beta, y: y.view_mut() }).unwrap();
            let want: Vec<f64> =
                wide(&x).iter().map(|x| 2.0 * x + if beta == 0.0 { 0.0 } else { f64::from(beta * start) }).collect();
            assert_close("axpby", &want, &q.download(&y).unwrap(), 1e-7, 0.0);
        }
    });
}

fn dropped<T: Real>(q: &CudaQueue) {
    for (n, first, threshold) in [(1000, 0, 1 << 31), (70, 5, 1 << 30), (33, 8, 0), (33, 0, 1 << 32), (0, 0, 7)] {
        let p = DropoutParams { seed: 0x0123_4567_89ab_cdef, site: 3, step: 9, first, threshold, scale: 1.25 };
        let x: Vec<T> = reals(7, n, 1.0);
        let (dx, mut y) = (q.upload(&x).unwrap(), q.zeros::<T>(n).unwrap());
        q.dropout(Dropout { params: &p, state: None, x: dx.view(), y: y.view_mut() }).unwrap();
        let want: Vec<T> = x
            .iter()
            .enumerate()
            .map(|(i, x)| {
                let at = first + i as u64;
                let word = philox::block(p.seed, p.site, p.step, at / 4)[at as usize % 4];
                T::from_f32(if u64::from(word) >= threshold { x.to_f32() * p.scale } else { 0.0 })
            })
            .collect();
        assert_eq!(q.download(&y).unwrap(), want, "{n} elements from {first}");
    }
}

#[test]
fn dropout_keeps_what_the_generator_says() {
    on_every_order(|q| {
        dropped::<f32>(q);
        dropped::<f16>(q);
        dropped::<bf16>(q);
    });
}

fn sums<T: Real>(q: &CudaQueue, accumulate: u32) {
    for (outer, len, inner) in [
        (1, 1, 1),
        (1, 0, 5),
        (4, 0, 1),
        (5, 33, 1),
        (3, 1030, 1),
        (1, 40_000, 1),
        (2, 33, 7),
        (1, 1797, 40),
        (3, 5, 70),
    ] {
        let params = SumParams { outer: outer as u64, len: len as u64, inner: inner as u64, accumulate };
        let x: Vec<T> = reals(8, outer * len * inner, 1.0);
        let start: Vec<T> = reals(1, outer * inner, 1.0);
        let (dx, mut y) = (q.upload(&x).unwrap(), q.upload(&start).unwrap());
        q.sum_axis(SumAxis { params: &params, x: dx.view(), y: y.view_mut() }).unwrap();
        let want: Vec<f64> = (0..outer * inner)
            .map(|i| {
                let sum: f64 = (0..len).map(|l| f64::from(x[(i / inner * len + l) * inner + i % inner].to_f32())).sum();
                sum + f64::from(accumulate) * f64::from(start[i].to_f32())
            })
            .collect();
        let what = format!("{outer} x {len} x {inner}");
        assert_close(&what, &want, &q.download(&y).unwrap(), 2f64.powi(-23) + rounding::<T>(), 1e-7);
    }
}

#[test]
fn sums_are_rounded_once() {
    on_every_order(|q| {
        sums::<f32>(q, 0);
        sums::<f32>(q, 1);
        sums::<f16>(q, 1);
        sums::<bf16>(q, 0);
    });
}
