//! Cross-entropy and its gradient, with rows that are ignored and rows that have no loss.

use backend_api::{
    Buffer, Queue, Real,
    ops::linalg::{CrossEntropy, CrossEntropyProbs, LossOps},
};
use cuda_backend::CudaQueue;
use half::{bf16, f16};

use crate::linalg::{
    model,
    rig::{assert_close, on_every_order, reals, rounding, wide},
};

/// Rows and classes around warps, chunks and blocks.
const SHAPES: [(usize, usize); 6] = [(1, 1), (3, 10), (9, 64), (2, 257), (5, 1024), (2, 1500)];

fn entropy<T: Real>(q: &CudaQueue, rows: usize, classes: usize, by_class: bool) {
    let x: Vec<T> = reals(1, rows * classes, 20.0);
    let mut rng = fastrand::Rng::with_seed(2);
    // Every fourth row is ignored.
    let targets: Vec<u32> = (0..rows).map(|r| if r % 4 == 3 { u32::MAX } else { rng.u32(..classes as u32) }).collect();
    let probs: Vec<T> = (0..rows * classes).map(|_| T::from_f32(f32::from(rng.u8(..)) / 256.0)).collect();
    let scale = 1.0 / rows as f32;
    let (mut want_losses, mut want) = (Vec::new(), Vec::new());
    for (r, x) in wide(&x).chunks(classes).enumerate() {
        let row: Vec<Option<f64>> = x.iter().copied().map(Some).collect();
        let (p, log_p) = (model::softmax(false, &row), model::softmax(true, &row));
        let t: Vec<f64> = match by_class {
            true => (0..classes).map(|j| if targets[r] as usize == j { 1.0 } else { 0.0 }).collect(),
            false => wide(&probs[r * classes..(r + 1) * classes]),
        };
        let total: f64 = t.iter().sum();
        want_losses.push(t.iter().zip(log_p).map(|(t, log_p)| -t * log_p).sum());
        want.extend(p.iter().zip(&t).map(|(p, t)| (p * total - t) * f64::from(scale)));
    }
    let (dx, mut losses) = (q.upload(&x).unwrap(), q.zeros::<f32>(rows).unwrap());
    let mut grad = q.upload(&vec![T::from_f32(f32::NAN); rows * classes]).unwrap();
    let (targets, probs) = (q.upload(&targets).unwrap(), q.upload(&probs).unwrap());
    let (logits, out, dlogits) = (dx.view(), losses.view_mut(), grad.view_mut());
    if by_class {
        let targets = targets.view();
        q.cross_entropy(CrossEntropy { classes, scale, logits, targets, losses: out, dlogits }).unwrap();
    } else {
        let probs = probs.view();
        q.cross_entropy_probs(CrossEntropyProbs { classes, scale, logits, probs, losses: out, dlogits }).unwrap();
    }
    let what = format!("{rows} x {classes}, by class: {by_class}");
    assert_close(&what, &want_losses, &q.download(&losses).unwrap(), 1e-6, 2e-6);
    let atol = 1e-5 * f64::from(scale);
    assert_close(&what, &want, &q.download(&grad).unwrap(), 1e-5 + rounding::<T>(), atol);
}

#[test]
fn losses_and_their_gradients_are_within_their_bounds() {
    on_every_order(|q| {
        for (rows, classes) in SHAPES {
            for by_class in [true, false] {
                entropy::<f32>(q, rows, classes, by_class);
            }
        }
        entropy::<f16>(q, 5, 130, true);
        entropy::<bf16>(q, 5, 130, false);
        entropy::<f16>(q, 2, 1500, false);
        entropy::<bf16>(q, 2, 1500, true);
    });
}

#[test]
fn a_row_with_infinity_has_no_loss() {
    on_every_order(|q| {
        for classes in [4, 1028] {
            let mut x = vec![0.0f32; classes];
            x[1] = f32::INFINITY;
            let (dx, targets) = (q.upload(&x).unwrap(), q.upload(&[0u32]).unwrap());
            let (mut losses, mut grad) = (q.zeros::<f32>(1).unwrap(), q.zeros::<f32>(classes).unwrap());
            q.cross_entropy(CrossEntropy {
                classes,
                scale: 1.0,
                logits: dx.view(),
                targets: targets.view(),
                losses: losses.view_mut(),
                dlogits: grad.view_mut(),
            })
            .unwrap();
            assert!(q.download(&losses).unwrap()[0].is_nan());
            assert!(q.download(&grad).unwrap().iter().all(|g| g.is_nan()));
        }
    });
}
