//! Softmax and norms of 4096 rows of 1024, one thread.

use std::hint::black_box;

use backend_api::Real;
use half::bf16;
use nn_ops::{Mask, NormAffine, NormGradients, NormPlan, NormResults, NormSaved, SoftmaxPlan, Tensor};

use crate::{Contender, Contest, Goal, Show, host};

const ROWS: usize = 4096;
const COLUMNS: usize = 1024;
const SHAPE: [usize; 2] = [ROWS, COLUMNS];
const COUNT: usize = ROWS * COLUMNS;

pub(super) fn contests() -> Vec<(String, Box<dyn FnOnce() -> Contest>)> {
    let mut all: Vec<(String, Box<dyn FnOnce() -> Contest>)> = Vec::new();
    let mut add = |id: &'static str, bytes: usize, ours: fn() -> Contender, plain: Option<fn() -> Contender>| {
        all.push((id.to_owned(), Box::new(move || contest(id, bytes, ours(), plain.map(|plain| plain())))));
    };
    add("nn.softmax", 8, || softmax::<f32>(1, false), Some(plain_softmax));
    add("nn.softmax_bf16", 4, || softmax::<bf16>(1, false), None);
    add("nn.softmax_columns", 8, || softmax::<f32>(0, false), None);
    add("nn.softmax_causal", 8, || softmax::<f32>(1, true), None);
    add("nn.log_softmax", 8, log_softmax, None);
    add("nn.softmax_backward", 12, softmax_backward, None);
    add("nn.layer_norm", 8, layer_norm::<f32>, Some(plain_layer_norm));
    add("nn.layer_norm_bf16", 4, layer_norm::<bf16>, None);
    add("nn.layer_norm_backward", 12, layer_norm_backward, None);
    add("nn.rms_norm", 8, rms_norm, None);
    all
}

/// A line that moves `bytes` for each element, compared with a copy of the same size.
fn contest(id: &str, bytes: usize, ours: Contender, plain: Option<Contender>) -> Contest {
    let mut contenders = vec![ours, host::copy(bytes * COUNT)];
    contenders.extend(plain);
    let goals = match id {
        "nn.softmax" | "nn.layer_norm" => vec![(Goal::Ratio { peer: 1, ratio: 0.85 }, "")],
        _ => Vec::new(),
    };
    Contest { id: id.to_owned(), unit: "byte", work: (bytes * COUNT) as f64, show: Show::Rate, contenders, goals }
}

fn softmax<T: Real>(axis: usize, causal: bool) -> Contender {
    host::ours(move |q| {
        let plan = SoftmaxPlan::new(&SHAPE, axis)?;
        let (x, mut y) = (host::tensor::<T>(&q, &SHAPE, 4.0)?, host::tensor(&q, &SHAPE, 4.0)?);
        Ok(Box::new(move || {
            let mask = if causal { Mask::Causal { offset: 0 } } else { Mask::None };
            plan.softmax(&q, x.at(), mask, y.at_mut())
        }))
    })
}

fn log_softmax() -> Contender {
    host::ours(|q| {
        let plan = SoftmaxPlan::new(&SHAPE, 1)?;
        let (x, mut y) = (host::tensor::<f32>(&q, &SHAPE, 4.0)?, host::tensor(&q, &SHAPE, 4.0)?);
        Ok(Box::new(move || plan.log_softmax(&q, x.at(), Mask::None, y.at_mut())))
    })
}

fn softmax_backward() -> Contender {
    host::ours(|q| {
        let plan = SoftmaxPlan::new(&SHAPE, 1)?;
        let (x, g) = (host::tensor::<f32>(&q, &SHAPE, 4.0)?, host::tensor(&q, &SHAPE, 1.0)?);
        let (mut y, mut dx) = (host::tensor(&q, &SHAPE, 4.0)?, host::tensor(&q, &SHAPE, 4.0)?);
        plan.softmax(&q, x.at(), Mask::None, y.at_mut())?;
        Ok(Box::new(move || plan.softmax_backward(&q, y.at(), g.at(), dx.at_mut())))
    })
}

fn layer_norm<T: Real>() -> Contender {
    host::ours(|q| {
        let plan = NormPlan::new(&SHAPE, 1e-5)?;
        let (x, mut y) = (host::tensor::<T>(&q, &SHAPE, 4.0)?, host::tensor(&q, &SHAPE, 4.0)?);
        let (gamma, beta) = (host::tensor(&q, &[COLUMNS], 1.0)?, host::tensor(&q, &[COLUMNS], 1.0)?);
        let mut stats = Tensor::from_buffer(plan.layer_stats(&q)?, &[2, ROWS])?;
        Ok(Box::new(move || {
            let affine = NormAffine { gamma: Some(gamma.at()), beta: Some(beta.at()) };
            plan.layer_norm(&q, x.at(), affine, NormResults { y: y.at_mut(), stats: stats.at_mut() })
        }))
    })
}

fn layer_norm_backward() -> Contender {
    host::ours(|q| {
        let plan = NormPlan::new(&SHAPE, 1e-5)?;
        let (x, g) = (host::tensor::<f32>(&q, &SHAPE, 4.0)?, host::tensor(&q, &SHAPE, 1.0)?);
        let (mut y, mut dx) = (host::tensor(&q, &SHAPE, 4.0)?, host::tensor(&q, &SHAPE, 4.0)?);
        let gamma = host::tensor(&q, &[COLUMNS], 1.0)?;
        let (mut dgamma, mut dbeta) = (host::tensor(&q, &[COLUMNS], 1.0)?, host::tensor(&q, &[COLUMNS], 1.0)?);
        let mut stats = Tensor::from_buffer(plan.layer_stats(&q)?, &[2, ROWS])?;
        let affine = NormAffine { gamma: Some(gamma.at()), beta: None };
        plan.layer_norm(&q, x.at(), affine, NormResults { y: y.at_mut(), stats: stats.at_mut() })?;
        Ok(Box::new(move || {
            let saved = NormSaved { x: x.at(), gamma: Some(gamma.at()), stats: stats.at() };
            let (gamma, beta) = (Some(dgamma.at_mut()), Some(dbeta.at_mut()));
            plan.layer_norm_backward(&q, saved, g.at(), NormGradients { x: dx.at_mut(), gamma, beta })
        }))
    })
}

fn rms_norm() -> Contender {
    host::ours(|q| {
        let plan = NormPlan::new(&SHAPE, 1e-5)?;
        let (x, mut y) = (host::tensor::<f32>(&q, &SHAPE, 4.0)?, host::tensor(&q, &SHAPE, 4.0)?);
        let gamma = host::tensor(&q, &[COLUMNS], 1.0)?;
        let mut stats = Tensor::from_buffer(plan.rms_stats(&q)?, &[ROWS])?;
        Ok(Box::new(move || {
            let results = NormResults { y: y.at_mut(), stats: stats.at_mut() };
            plan.rms_norm(&q, x.at(), Some(gamma.at()), results)
        }))
    })
}

fn plain_softmax() -> Contender {
    let (x, mut y) = (host::values::<f32>(COUNT, 4.0), host::values::<f32>(COUNT, 4.0));
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
    let (x, mut y) = (host::values::<f32>(COUNT, 4.0), host::values::<f32>(COUNT, 4.0));
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
