//! Every vector level and number of threads against f64 models; shapes and special values are the conformance suite's.

use std::num::NonZeroUsize;

use backend_api::ops::linalg::{RowMask, RowOps};
use core_types::params::rows::{AxisParams, NormParams, SoftmaxParams};

use crate::{CpuConfig, CpuQueue, linalg::lanes::tests::levels};

/// Reproducible values in -4..4.
fn values(seed: u32, count: usize) -> Vec<f32> {
    let mut state = seed | 1;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 21) as f32 - 4.0
    };
    (0..count).map(|_| next()).collect()
}

fn queue(simd: crate::Simd, threads: usize) -> CpuQueue {
    let config = CpuConfig { threads: NonZeroUsize::new(threads), ..CpuConfig::default() };
    CpuQueue::with_simd(config, simd).unwrap()
}

fn softmax_params(outer: usize, len: usize, inner: usize) -> SoftmaxParams {
    let axis = AxisParams { outer: outer as u64, len: len as u64, inner: inner as u64 };
    SoftmaxParams { axis, mask_period: 1, causal_offset: 0 }
}

/// Outputs and gradients of every op, for comparison.
fn all_ops(q: &CpuQueue, outer: usize, len: usize, inner: usize) -> Vec<Vec<f32>> {
    let count = outer * len * inner;
    let (x, g) = (values(1, count), values(2, count));
    let p = softmax_params(outer, len, inner);
    let mut out = Vec::new();
    for log in [false, true] {
        let (mut y, mut dx) = (vec![0.0; count], vec![0.0; count]);
        if log {
            q.log_softmax(&p, &x, RowMask::None, &mut y).unwrap();
            q.log_softmax_backward(&p.axis, &y, &g, &mut dx).unwrap();
        } else {
            q.softmax(&p, &x, RowMask::None, &mut y).unwrap();
            q.softmax_backward(&p.axis, &y, &g, &mut dx).unwrap();
        }
        out.extend([y, dx]);
    }
    let (rows, n) = (outer * inner, len);
    let p = NormParams { rows: rows as u64, len: n as u64, eps: 1e-5 };
    let (gamma, beta) = (values(3, n), values(4, n));
    let (mut y, mut stats, mut dx) = (vec![0.0; count], vec![0.0; 2 * rows], vec![0.0; count]);
    let (mut dgamma, mut dbeta) = (vec![0.0; n], vec![0.0; n]);
    q.layer_norm(&p, &x, &gamma, &beta, &mut y, &mut stats).unwrap();
    q.layer_norm_backward(&p, &x, &gamma, &stats, &g, &mut dx, &mut dgamma, &mut dbeta).unwrap();
    out.extend([y.clone(), dx.clone(), dgamma.clone(), dbeta]);
    q.rms_norm(&p, &x, &gamma, &mut y, &mut stats[..rows]).unwrap();
    q.rms_norm_backward(&p, &x, &gamma, &stats[..rows], &g, &mut dx, &mut dgamma).unwrap();
    out.extend([y, dx, dgamma]);
    out
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    for simd in levels() {
        for (outer, len, inner) in [(700, 100, 1), (1, 90, 700), (70, 9, 30)] {
            let one = all_ops(&queue(simd, 1), outer, len, inner);
            for threads in [2, 5] {
                assert!(one == all_ops(&queue(simd, threads), outer, len, inner), "{simd:?}, {threads} threads");
            }
        }
    }
}

#[test]
fn every_level_agrees_with_the_others() {
    let portable = queue(crate::Simd::detect_up_to(crate::SimdLevel::Portable), 1);
    for (outer, len, inner) in [(3, 1, 1), (3, 15, 1), (2, 17, 1), (2, 257, 1), (2, 7, 65), (5, 7, 3)] {
        let want = all_ops(&portable, outer, len, inner);
        for simd in levels() {
            let got = all_ops(&queue(simd, 1), outer, len, inner);
            for (op, (want, got)) in want.iter().zip(&got).enumerate() {
                let size = want.iter().map(|w| w.abs()).fold(0.0, f32::max);
                for (w, g) in want.iter().zip(got) {
                    assert!((w - g).abs() <= 2e-6 * size + 1e-6, "{simd:?} op {op} {outer}x{len}x{inner}: {w} {g}");
                }
            }
        }
    }
}

#[test]
fn a_softmax_row_is_within_its_bound_of_the_f64_model() {
    for simd in levels() {
        for n in [1, 15, 16, 17, 31, 33, 1000, 20_000] {
            let x = values(7, n);
            let mut y = vec![0.0; n];
            queue(simd, 1).softmax(&softmax_params(1, n, 1), &x, RowMask::None, &mut y).unwrap();
            let sum: f64 = x.iter().map(|&x| f64::from(x).exp()).sum();
            for (&x, &y) in x.iter().zip(&y) {
                let want = f64::from(x).exp() / sum;
                assert!((f64::from(y) - want).abs() <= 2e-6 * want, "{simd:?} {n}: {y} {want}");
            }
        }
    }
}
