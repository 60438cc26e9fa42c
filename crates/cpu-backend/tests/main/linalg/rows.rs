//! Every vector level and number of threads against f64 models; shapes and special values are the conformance suite's.

use std::num::NonZeroUsize;

use backend_api::{
    BackendError, Budget, Queue, Real,
    ops::linalg::{
        CrossEntropy, LayerNorm, LayerNormBackward, LossOps, RmsNorm, RmsNormBackward, RowMask, RowOps, Softmax,
        SoftmaxBackward,
    },
};
use core_types::params::rows::{AxisParams, NormParams, SoftmaxKind, SoftmaxParams};
use cpu_backend::{CpuConfig, CpuQueue, Simd, SimdLevel};
use half::bf16;

use crate::levels::{expect_equal, levels, queue, strongest};

/// Reproducible values in -4..4.
fn values(seed: u64, count: usize) -> Vec<f32> {
    let mut rng = fastrand::Rng::with_seed(seed);
    core::iter::repeat_with(|| rng.u32(..1 << 24) as f32 / (1 << 21) as f32 - 4.0).take(count).collect()
}

fn softmax_params(outer: usize, len: usize, inner: usize) -> SoftmaxParams {
    let axis = AxisParams { outer: outer as u64, len: len as u64, inner: inner as u64 };
    SoftmaxParams { axis, mask_period: 1, causal_offset: 0 }
}

/// A softmax without a mask.
fn unmasked<'a, T: Real>(params: &'a SoftmaxParams, x: &'a [T], y: &'a mut [T]) -> Softmax<'a, CpuQueue, T> {
    Softmax { params, kind: SoftmaxKind::Softmax, x: Some(x), mask: RowMask::None, y }
}

/// A softmax over its operand, without a mask.
fn in_place<T: Real>(q: &CpuQueue, params: &SoftmaxParams, mut x: Vec<T>) -> Result<(), BackendError> {
    q.softmax(Softmax { params, kind: SoftmaxKind::Softmax, x: None, mask: RowMask::None, y: &mut x })
}

/// Outputs and gradients of every op, for comparison.
fn all_ops(q: &CpuQueue, outer: usize, len: usize, inner: usize) -> Vec<Vec<f32>> {
    let count = outer * len * inner;
    let (x, g) = (values(1, count), values(2, count));
    let params = softmax_params(outer, len, inner);
    let mut out = Vec::new();
    for kind in [SoftmaxKind::Softmax, SoftmaxKind::Log] {
        let (mut y, mut dx) = (vec![0.0; count], vec![0.0; count]);
        q.softmax(Softmax { kind, ..unmasked(&params, &x, &mut y) }).unwrap();
        q.softmax_backward(SoftmaxBackward { params: &params.axis, kind, y: &y, g: &g, dx: &mut dx }).unwrap();
        out.extend([y, dx]);
    }
    let (rows, n) = (outer * inner, len);
    let params = NormParams { rows: rows as u64, len: n as u64, eps: 1e-5 };
    let (gamma, beta) = (values(3, n), values(4, n));
    let (gamma, beta) = (Some(&gamma[..]), Some(&beta[..]));
    let (mut y, mut stats, mut dx) = (vec![0.0; count], vec![0.0; 2 * rows], vec![0.0; count]);
    let (mut dgamma, mut dbeta) = (vec![0.0; n], vec![0.0; n]);
    q.layer_norm(LayerNorm { params: &params, x: Some(&x), gamma, beta, y: &mut y, stats: &mut stats }).unwrap();
    q.layer_norm_backward(LayerNormBackward {
        params: &params,
        x: &x,
        gamma,
        stats: &stats,
        g: &g,
        dx: &mut dx,
        dgamma: Some(&mut dgamma),
        dbeta: Some(&mut dbeta),
    })
    .unwrap();
    out.extend([y.clone(), dx.clone(), dgamma.clone(), dbeta]);
    q.rms_norm(RmsNorm { params: &params, x: Some(&x), gamma, y: &mut y, rstd: &mut stats[..rows] }).unwrap();
    let (rstd, of_gamma) = (&stats[..rows], Some(&mut dgamma[..]));
    q.rms_norm_backward(RmsNormBackward { params: &params, x: &x, gamma, rstd, g: &g, dx: &mut dx, dgamma: of_gamma })
        .unwrap();
    out.extend([y, dx, dgamma]);
    out
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    for simd in levels() {
        let queues = [1, 2, 5].map(|threads| queue(simd, threads));
        for (outer, len, inner) in [(700, 100, 1), (1, 90, 700), (70, 9, 30)] {
            expect_equal(&queues, &format!("{outer}x{len}x{inner}"), |q| all_ops(q, outer, len, inner));
        }
    }
}

#[test]
fn fetching_rows_does_not_change_results() {
    for simd in levels() {
        let [plain, fetched] =
            [false, true].map(|fetches| all_ops(&queue(simd.with_fetched_rows(fetches), 1), 70, 100, 1));
        assert!(plain == fetched, "{simd:?}");
    }
}

#[test]
fn every_level_agrees_with_the_others() {
    let portable = queue(Simd::detect_up_to(SimdLevel::Portable), 1);
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
            queue(simd, 1).softmax(unmasked(&softmax_params(1, n, 1), &x, &mut y)).unwrap();
            let sum: f64 = x.iter().map(|&x| f64::from(x).exp()).sum();
            for (&x, &y) in x.iter().zip(&y) {
                let want = f64::from(x).exp() / sum;
                assert!((f64::from(y) - want).abs() <= 2e-6 * want, "{simd:?} {n}: {y} {want}");
            }
        }
    }
}

#[test]
fn a_row_that_is_wholly_left_out_gives_zeros_and_one_of_minus_infinity_nan() {
    let low = f32::NEG_INFINITY;
    for simd in levels() {
        let q = queue(simd, 1);
        for (len, inner) in [(3, 1), (40, 1), (3, 2), (40, 70)] {
            let count = len * inner;
            let x: Vec<f32> = [vec![1.0; count], vec![low; count], vec![2.0; count]].concat();
            // The first part is left out wholly, the second not at all, the third in its first place.
            let keep: Vec<bool> = (0..3 * count).map(|i| i >= count && i / inner != 2 * len).collect();
            let addend: Vec<f32> = keep.iter().map(|&keep| if keep { 0.0 } else { low }).collect();
            let params = SoftmaxParams { mask_period: 3, ..softmax_params(3, len, inner) };
            for mask in [RowMask::<CpuQueue>::Keep(&keep[..]), RowMask::Additive(&addend[..])] {
                let mut y = vec![7.0; x.len()];
                q.softmax(Softmax { mask: mask.shorten(), ..unmasked(&params, &x, &mut y) }).unwrap();
                assert!(y[..count].iter().all(|&y| y == 0.0), "{simd:?} {len}x{inner} {mask:?}");
                assert!(y[count..2 * count].iter().all(|y| y.is_nan()), "{simd:?} {len}x{inner} {mask:?}");
                assert_eq!((y[2 * count], y[2 * count + inner]), (0.0, 1.0 / (len as f32 - 1.0)));
                let kind = SoftmaxKind::Log;
                q.softmax(Softmax { kind, mask: mask.shorten(), ..unmasked(&params, &x, &mut y) }).unwrap();
                assert!(y[..count].iter().all(|&y| y == low), "{simd:?} {len}x{inner} {mask:?}");
                assert!(y[count..2 * count].iter().all(|y| y.is_nan()), "{simd:?} {len}x{inner} {mask:?}");
            }
        }
    }
}

#[test]
fn the_logarithm_of_the_only_class_is_zero() {
    for simd in levels() {
        let q = queue(simd, 1);
        for (len, inner) in [(1, 1), (7, 1), (33, 1), (100, 1), (1, 5), (7, 3), (33, 70)] {
            // One class, or one that outweighs all others.
            let x: Vec<f32> = (0..len * inner).map(|i| if i < inner { 3e38 } else { 2e38 }).collect();
            let mut y = vec![7.0; x.len()];
            let params = softmax_params(1, len, inner);
            q.softmax(Softmax { kind: SoftmaxKind::Log, ..unmasked(&params, &x, &mut y) }).unwrap();
            assert!(y[..inner].iter().all(|&y| y == 0.0), "{simd:?} {len}x{inner}: {:e}", y[0]);
        }
    }
}

/// Memory that an op takes in addition to its operands, by the budget's peak on two threads.
fn scratch_bytes<T>(op: impl FnOnce(&CpuQueue, T) -> Result<(), BackendError>, operands: T) -> u64 {
    let q = strongest(2);
    op(&q, operands).unwrap();
    q.budget().peak_bytes()
}

#[test]
fn scratch_is_counted_in_the_budget_and_refused_beyond_it() {
    let (len, inner) = (1000, 300);
    let x = values(1, len * inner);
    let params = softmax_params(1, len, inner);
    // Two strips of 64 columns at once, and a slice of any type for each row of each of five strips.
    let columns = scratch_bytes(|q, mut y: Vec<f32>| q.softmax(unmasked(&params, &x, &mut y)), x.clone());
    assert_eq!(columns, 2 * 64 * 4 * len as u64 + 24 * 5 * len as u64);
    let few = softmax_params(1, len * inner / 3, 3);
    let block = scratch_bytes(|q, mut y: Vec<f32>| q.softmax(unmasked(&few, &x, &mut y)), x.clone());
    assert_eq!(block, 64 * 4 * (len * inner / 3) as u64);
    let both = |q: &CpuQueue, mut dx: Vec<f32>| {
        q.softmax_backward(SoftmaxBackward {
            params: &params.axis,
            kind: SoftmaxKind::Softmax,
            y: &x,
            g: &x,
            dx: &mut dx,
        })
    };
    assert_eq!(scratch_bytes(both, x.clone()), 2 * 2 * 64 * 4 * len as u64 + 24 * 5 * len as u64);
    let rows = softmax_params(len, inner, 1);
    let plain = scratch_bytes(|q, mut y: Vec<f32>| q.softmax(unmasked(&rows, &x, &mut y)), x.clone());
    assert_eq!(plain, 0);
    // Each of two tasks copies a row in place.
    assert_eq!(scratch_bytes(|q, x: Vec<f32>| in_place(q, &rows, x), x.clone()), 2 * 4 * inner as u64);
    assert_eq!(scratch_bytes(|q, x: Vec<f32>| in_place(q, &params, x), x.clone()), columns);
    let narrow: Vec<bf16> = x.iter().map(|&x| bf16::from_f32(x)).collect();
    let widened = |q: &CpuQueue, mut y: Vec<bf16>| q.softmax(unmasked(&rows, &narrow, &mut y));
    assert_eq!(scratch_bytes(widened, narrow.clone()), 2 * 2 * 4 * inner as u64);
    assert_eq!(scratch_bytes(|q, x: Vec<bf16>| in_place(q, &rows, x), narrow.clone()), 2 * 2 * 4 * inner as u64);
    let (targets, mut losses) = (vec![0; len], vec![0.0; len]);
    let entropy = |q: &CpuQueue, mut y: Vec<bf16>| {
        let (logits, targets, losses, dlogits) = (&narrow[..], &targets[..], &mut losses[..], &mut y[..]);
        q.cross_entropy(CrossEntropy { classes: inner, scale: 1.0, logits, targets, losses, dlogits })
    };
    assert_eq!(scratch_bytes(entropy, narrow.clone()), 2 * 2 * 4 * inner as u64);

    let tight = CpuConfig { budget: Budget::new(columns - 1), threads: NonZeroUsize::new(2), ..CpuConfig::default() };
    let (q, mut y) = (CpuQueue::open(tight).unwrap(), vec![7.0; x.len()]);
    let refused = q.softmax(unmasked(&params, &x, &mut y));
    assert!(matches!(refused, Err(BackendError::BudgetExceeded { .. })), "{refused:?}");
    assert!(y.iter().all(|&y| y == 7.0) && q.budget().live_bytes() == 0);
}

/// An op on a queue, with room for a result and for statistics of the rows.
type RowOp<'a, T> = &'a dyn Fn(&CpuQueue, &mut [T], &mut [f32]) -> Result<(), BackendError>;

/// Scratch on rows of 300: a masked softmax, its gradient, norms, norms in place, gradients.
fn row_scratch<T: Real>(rows: usize, is_given: [bool; 2]) -> [u64; 8] {
    const LEN: usize = 300;
    let x: Vec<T> = values(1, rows * LEN).into_iter().map(T::from_f32).collect();
    let (x, keep, column) = (&x[..], vec![true; LEN], vec![T::from_f32(1.0); LEN]);
    let [gamma, beta] = is_given.map(|is_given| is_given.then_some(&column[..]));
    let softmax = softmax_params(rows, LEN, 1);
    let norm = NormParams { rows: rows as u64, len: LEN as u64, eps: 1e-5 };
    let of = |op: RowOp<'_, T>| {
        let (q, mut y, mut stats) = (strongest(2), x.to_vec(), vec![1.0f32; 2 * rows]);
        op(&q, &mut y, &mut stats).unwrap();
        q.budget().peak_bytes()
    };
    [
        of(&|q, y, _| q.softmax(Softmax { mask: RowMask::Keep(&keep[..]), ..unmasked(&softmax, x, y) })),
        of(&|q, dx, _| {
            q.softmax_backward(SoftmaxBackward { params: &softmax.axis, kind: SoftmaxKind::Softmax, y: x, g: x, dx })
        }),
        of(&|q, y, stats| q.layer_norm(LayerNorm { params: &norm, x: Some(x), gamma, beta, y, stats })),
        of(&|q, y, stats| q.rms_norm(RmsNorm { params: &norm, x: Some(x), gamma, y, rstd: &mut stats[..rows] })),
        of(&|q, y, stats| q.layer_norm(LayerNorm { params: &norm, x: None, gamma, beta, y, stats })),
        of(&|q, y, stats| q.rms_norm(RmsNorm { params: &norm, x: None, gamma, y, rstd: &mut stats[..rows] })),
        of(&|q, dx, stats| {
            let (g, stats) = (x, &stats[..]);
            q.layer_norm_backward(LayerNormBackward {
                params: &norm,
                x,
                gamma,
                stats,
                g,
                dx,
                dgamma: None,
                dbeta: None,
            })
        }),
        of(&|q, dx, stats| {
            let (g, rstd) = (x, &stats[..rows]);
            q.rms_norm_backward(RmsNormBackward { params: &norm, x, gamma, rstd, g, dx, dgamma: None })
        }),
    ]
}

/// A task has at most 2^14 elements: 54 rows of 300.
///
/// Gradients of norms have blocks of 64 rows, and a buffer of sums with 64 bytes of slack.
#[test]
fn rows_that_are_converted_masked_or_made_are_scratch_of_two_tasks() {
    let (row, sums) = (4 * 300, [4 * (2 * 300 + 16), 4 * (300 + 16)]);
    for (rows, tasks) in [(54, 1), (55, 2)] {
        let all = |of_tasks: [u64; 6], of_block: u64| {
            let [softmax, gradient, layer, rms, layer_in_place, rms_in_place] =
                of_tasks.map(|count| tasks * count * row);
            let gradients = sums.map(|sums| of_block * row + sums);
            [softmax, gradient, layer, rms, layer_in_place, rms_in_place, gradients[0], gradients[1]]
        };
        assert_eq!(row_scratch::<f32>(rows, [true; 2]), all([1, 0, 0, 0, 1, 1], 0));
        assert_eq!(row_scratch::<f32>(rows, [true, false]), all([1, 0, 1, 0, 2, 1], 0));
        assert_eq!(row_scratch::<f32>(rows, [false; 2]), all([1, 0, 2, 1, 3, 2], 1));
        assert_eq!(row_scratch::<bf16>(rows, [true; 2]), all([3, 3, 4, 3, 4, 3], 4));
        assert_eq!(row_scratch::<bf16>(rows, [false; 2]), all([3, 3, 4, 3, 4, 3], 4));
    }
}
