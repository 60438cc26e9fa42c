//! Softmax and layer norm of 4096 rows of 1024 f32, one thread: 16 MiB in, 16 MiB out.

use std::{hint::black_box, num::NonZeroUsize};

use backend_api::{Buffer, Queue};
use cpu_backend::{CpuConfig, CpuQueue};
use nn_ops::{Mask, NormPlan, SoftmaxPlan, TensorMut, TensorRef};

use crate::bench::{Contender, Contest, Goal, Show};

const ROWS: usize = 4096;
const COLUMNS: usize = 1024;
const SHAPE: [usize; 2] = [ROWS, COLUMNS];
const COUNT: usize = ROWS * COLUMNS;
/// Every element is read once and written once.
const BYTES: f64 = 8.0 * COUNT as f64;

pub(super) fn contests() -> Vec<(String, Box<dyn FnOnce() -> Contest>)> {
    vec![
        ("nn.softmax".to_owned(), Box::new(|| contest("nn.softmax", softmax(), plain_softmax()))),
        ("nn.layer_norm".to_owned(), Box::new(|| contest("nn.layer_norm", layer_norm(), plain_layer_norm()))),
    ]
}

fn contest(id: &str, ours: Contender, plain: Contender) -> Contest {
    Contest {
        id: id.to_owned(),
        unit: "byte",
        work: BYTES,
        show: Show::Rate,
        contenders: vec![ours, copy(), plain],
        goals: vec![(Goal::Ratio { peer: 1, ratio: 0.85 }, "")],
    }
}

/// Values in -4..4.
fn input() -> Vec<f32> {
    let mut state = 1u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 21) as f32 - 4.0
    };
    (0..COUNT).map(|_| next()).collect()
}

/// One thread on the strongest path.
#[expect(clippy::expect_used, reason = "a bench without its queue or its memory cannot go on")]
fn queue() -> CpuQueue {
    CpuQueue::open(CpuConfig { threads: NonZeroUsize::new(1), ..CpuConfig::default() }).expect("one thread is enough")
}

#[expect(clippy::expect_used, reason = "a bench without its queue or its memory cannot go on")]
fn softmax() -> Contender {
    let q = queue();
    let plan = SoftmaxPlan::new(&SHAPE, 1).expect("the shape is valid");
    let x = q.upload(&input()).expect("32 MiB are free");
    let mut y = q.upload(&input()).expect("32 MiB are free");
    let mut run = move || {
        let (x, y) = (TensorRef::contiguous(x.view(), &SHAPE)?, TensorMut::contiguous(y.view_mut(), &SHAPE)?);
        plan.softmax(&q, x, Mask::None, y)
    };
    Contender::new("trefoil", move || run().expect("the tensors fit the plan"))
}

#[expect(clippy::expect_used, reason = "a bench without its queue or its memory cannot go on")]
fn layer_norm() -> Contender {
    let q = queue();
    let plan = NormPlan::new(&SHAPE, 1e-5).expect("the shape is valid");
    let x = q.upload(&input()).expect("32 MiB are free");
    let mut y = q.upload(&input()).expect("32 MiB are free");
    let (gamma, beta) = (q.upload(&[1.5f32; COLUMNS]), q.upload(&[0.5f32; COLUMNS]));
    let (gamma, beta) = (gamma.expect("4 KiB are free"), beta.expect("4 KiB are free"));
    let mut stats = plan.layer_stats(&q).expect("32 KiB are free");
    let mut run = move || {
        let (x, y) = (TensorRef::contiguous(x.view(), &SHAPE)?, TensorMut::contiguous(y.view_mut(), &SHAPE)?);
        let gamma = TensorRef::contiguous(gamma.view(), &[COLUMNS])?;
        let beta = TensorRef::contiguous(beta.view(), &[COLUMNS])?;
        let stats = TensorMut::contiguous(stats.view_mut(), &[2, ROWS])?;
        plan.layer_norm(&q, x, Some(gamma), Some(beta), y, stats)
    };
    Contender::new("trefoil", move || run().expect("the tensors fit the plan"))
}

/// The bound: reading and writing the same number of bytes.
fn copy() -> Contender {
    let (x, mut y) = (input(), input());
    Contender::new("copy_from_slice", move || black_box(&mut y).copy_from_slice(black_box(&x)))
}

fn plain_softmax() -> Contender {
    let (x, mut y) = (input(), input());
    Contender::new("plain loops", move || {
        for (x, y) in black_box(&x).chunks_exact(COLUMNS).zip(black_box(&mut y).chunks_exact_mut(COLUMNS)) {
            let greatest = x.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let mut sum = 0.0;
            for (x, y) in x.iter().zip(&mut *y) {
                *y = (x - greatest).exp();
                sum += *y;
            }
            y.iter_mut().for_each(|y| *y /= sum);
        }
    })
}

fn plain_layer_norm() -> Contender {
    let (x, mut y) = (input(), input());
    Contender::new("plain loops", move || {
        for (x, y) in black_box(&x).chunks_exact(COLUMNS).zip(black_box(&mut y).chunks_exact_mut(COLUMNS)) {
            let mean = x.iter().sum::<f32>() / COLUMNS as f32;
            let variance = x.iter().map(|x| (x - mean) * (x - mean)).sum::<f32>() / COLUMNS as f32;
            let rstd = 1.0 / (variance + 1e-5).sqrt();
            for (x, y) in x.iter().zip(y) {
                *y = (x - mean) * rstd * 1.5 + 0.5;
            }
        }
    })
}
