//! Cross-entropy and its gradient, checked against its formula.

use backend_api::{
    Buffer, Queue, Real,
    ops::linalg::{CrossEntropy, LossOps},
};
use nn_ops::{CrossEntropyResults, Tensor, cross_entropy, cross_entropy_probs};

use super::{
    batches,
    model::{InputSource, rounding, wide},
    typed,
};
use crate::{Case, Conditioned, Failure, OpSpec, list::ListIterator as _};

pub(super) fn specs() -> OpSpec {
    let mut cases: Vec<Case> = Vec::new();
    for (rows, classes) in [(1, 1), (5, 257), (1500, 10)].into_iter().chain(batches().map(|rows| (rows, 10))) {
        let check = move |q: &_| entropy::<f32>(q, rows, classes, 0.0);
        cases.push(Case::new(format!("{rows} x {classes}"), check));
    }
    cases.push(Case::new("1 x 65536, equal terms", long_entropy).on_elements(65_536));
    // Rows of a GPU's warps and blocks, aligned and not, so far below zero that a zero that slips in shows.
    for (rows, classes) in [(3, 10), (3, 12), (3, 300), (2, 1100), (2, 1101)] {
        cases.extend(typed!(format!("{rows} x {classes}, low"), entropy(rows, classes, -40.0)));
    }
    cases.push(Case::new("a row with infinity has no loss", infinite));
    cases.push(Case::new("ignored rows have no loss and no gradient", ignored));
    OpSpec { op: "linalg.cross_entropy", cases }
}

/// Loss and gradient of one row of logits for target probabilities t.
fn row_entropy(x: &[f32], t: &[f64]) -> (f64, Vec<f64>) {
    let max = x.iter().fold(f64::NEG_INFINITY, |max, &x| max.max(f64::from(x)));
    let e: Vec<f64> = x.iter().map(|&x| (f64::from(x) - max).exp()).list();
    let sum: f64 = e.iter().sum();
    let total: f64 = t.iter().sum();
    let loss = x.iter().zip(t).map(|(&x, t)| -t * (f64::from(x) - max - sum.ln())).sum();
    (loss, e.iter().zip(t).map(|(e, t)| e / sum * total - t).list())
}

/// Logits are spread over 40 around `centre`.
fn entropy<T: Real>(q: &Conditioned, rows: usize, classes: usize, centre: f32) -> Result<(), Failure> {
    let mut random = InputSource::new((rows + classes) as u64);
    let n = rows * classes;
    let x: Vec<T> = random.reals::<f32>(n).into_iter().map(|x| T::from_f32(20.0 * x + centre)).list();
    // The second of each four rows has no class.
    let class = |r: usize, word: u32| if r % 4 == 1 { u32::MAX } else { word % classes as u32 };
    let targets: Vec<u32> = (0..rows).map(|r| class(r, random.word())).list();
    let probs: Vec<T> = random.reals::<f32>(n).into_iter().map(|p| T::from_f32(p.abs())).list();
    let scale = 1.0 / rows.max(1) as f32;
    let shape = [rows, classes];
    let (logits, classed) = (Tensor::from_values(q, &shape, &x)?, Tensor::from_values(q, &[rows], &targets)?);
    let weights = Tensor::from_values(q, &shape, &probs)?;
    let (x, probs) = (wide(&x), wide(&probs));
    for by_class in [true, false] {
        let mut losses = Tensor::alloc(q, &[rows])?;
        let mut grad = Tensor::from_values(q, &shape, &vec![T::from_f32(f32::NAN); n])?;
        let results = CrossEntropyResults { losses: losses.at_mut(), dlogits: grad.at_mut() };
        match by_class {
            true => cross_entropy(q, scale, logits.at(), classed.at(), results),
            false => cross_entropy_probs(q, scale, logits.at(), weights.at(), results),
        }?;
        let (mut want_losses, mut want_grad) = (Vec::new(), Vec::new());
        for r in 0..rows {
            let t: Vec<f64> = (0..classes)
                .map(|j| match by_class {
                    true => f64::from(u8::from(targets[r] as usize == j)),
                    false => f64::from(probs[r * classes + j]),
                })
                .list();
            let (loss, grad) = row_entropy(&x[r * classes..][..classes], &t);
            want_losses.push(loss);
            want_grad.extend(grad.into_iter().map(|g| g * f64::from(scale)));
        }
        Failure::unless_close(&want_losses, &losses.values(q)?, 1e-6, 2e-6)?;
        let grad = wide(&grad.values(q)?);
        Failure::unless_close(&want_grad, &grad, 1e-5 + rounding::<T>(), 1e-5 * f64::from(scale))?;
    }
    Ok(())
}

/// Losses and gradients by class.
fn entropy_by_class(q: &Conditioned, x: &[f32], targets: &[u32]) -> Result<[Vec<f32>; 2], Failure> {
    let (logits, classes) = (q.upload(x)?, x.len() / targets.len());
    let (mut losses, mut gradient) = (q.zeros::<f32>(targets.len())?, q.upload(&vec![9.0f32; x.len()])?);
    let targets = q.upload(targets)?;
    q.cross_entropy(CrossEntropy {
        classes,
        scale: 1.0,
        logits: logits.view(),
        targets: targets.view(),
        losses: losses.view_mut(),
        dlogits: gradient.view_mut(),
    })?;
    Ok([q.download(&losses)?, q.download(&gradient)?])
}

/// The logit of class 0 is 0 and all others are -1: rounding errors of equal terms add up.
fn long_entropy(q: &Conditioned) -> Result<(), Failure> {
    const CLASSES: usize = 65_536;
    let mut x = vec![-1.0f32; CLASSES];
    x[0] = 0.0;
    let mut t = vec![0.0; CLASSES];
    t[1] = 1.0;
    let (loss, grad) = row_entropy(&x, &t);
    let [got_losses, got_grad] = entropy_by_class(q, &x, &[1])?;
    Failure::unless_close(&[loss], &got_losses, 1e-6, 0.0)?;
    Failure::unless_close(&grad, &got_grad, 5e-6, 0.0)
}

fn ignored(q: &Conditioned) -> Result<(), Failure> {
    let [losses, grad] = entropy_by_class(q, &[1.0, 2.0, 3.0, 4.0], &[2, 0])?;
    Failure::unless_equal(&[0.0, 0.0, 0.0], &[losses[0], grad[0], grad[1]])?;
    Failure::unless_close(&[core::f64::consts::E.ln_1p()], &losses[1..], 1e-6, 0.0)
}

/// Loss and gradient are NaN, in rows of a GPU's warp and block.
fn infinite(q: &Conditioned) -> Result<(), Failure> {
    for classes in [4, 1028] {
        let mut x = vec![0.0f32; classes];
        x[1] = f32::INFINITY;
        let got = entropy_by_class(q, &x, &[0])?.concat();
        if !got.iter().all(|x| x.is_nan()) {
            return Err(Failure::Broken(format!("{classes} classes: got {got:?}")));
        }
    }
    Ok(())
}
