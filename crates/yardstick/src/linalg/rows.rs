//! Softmax and norms of rows: on the processor 4096 rows of 1024.

use std::hint::black_box;

use backend_api::Real;
use half::bf16;
use nn_ops::{Mask, NormAffine, NormGradients, NormPlan, NormResults, NormSaved, SoftmaxPlan, Tensor};

use crate::{
    Contender, Goal, Line,
    host::{against_copy, matrix_id, tensor, traffic, values},
    line::RunSize,
};

const COLUMNS: usize = 1024;
const SHAPE: [usize; 2] = [4096, COLUMNS];
const COUNT: usize = 4096 * COLUMNS;

pub(super) fn contests() -> Vec<Line> {
    let line = |id: &str, line: Line| against_copy(line.called(id));
    let goal = Goal::Ratio { peer: 1, ratio: 0.85 };
    vec![
        line("nn.softmax", softmax::<f32>(SHAPE, 1, false)).peer(plain_softmax).goal(goal, ""),
        line("nn.softmax_bf16", softmax::<bf16>(SHAPE, 1, false)),
        line("nn.softmax_columns", softmax::<f32>(SHAPE, 0, false)),
        line("nn.softmax_causal", softmax::<f32>(SHAPE, 1, true)),
        line("nn.log_softmax", log_softmax(SHAPE)),
        line("nn.softmax_backward", softmax_backward(SHAPE)),
        line("nn.layer_norm", layer_norm::<f32>(SHAPE)).peer(plain_layer_norm).goal(goal, ""),
        line("nn.layer_norm_bf16", layer_norm::<bf16>(SHAPE)),
        line("nn.layer_norm_in_place", layer_norm_in_place(SHAPE)).goal(goal, ""),
        line("nn.layer_norm_backward", layer_norm_backward(SHAPE)),
        line("nn.rms_norm", rms_norm(SHAPE)),
    ]
}

pub(super) fn softmax<T: Real>(shape: [usize; 2], axis: usize, causal: bool) -> Line {
    Line::new(&matrix_id("softmax", shape), traffic::<T>(2, shape), move |q| {
        let plan = SoftmaxPlan::new(&shape, axis)?;
        let (x, mut y) = (tensor::<T>(q, &shape, 4.0)?, tensor(q, &shape, 4.0)?);
        Ok(Box::new(move |q| {
            let mask = if causal { Mask::Causal { offset: 0 } } else { Mask::None };
            Ok(plan.softmax(q, x.at(), mask, y.at_mut())?)
        }))
    })
}

fn log_softmax(shape: [usize; 2]) -> Line {
    Line::new(&matrix_id("log_softmax", shape), traffic::<f32>(2, shape), move |q| {
        let plan = SoftmaxPlan::new(&shape, 1)?;
        let (x, mut y) = (tensor::<f32>(q, &shape, 4.0)?, tensor(q, &shape, 4.0)?);
        Ok(Box::new(move |q| Ok(plan.log_softmax(q, x.at(), Mask::None, y.at_mut())?)))
    })
}

fn softmax_backward(shape: [usize; 2]) -> Line {
    Line::new(&matrix_id("softmax_backward", shape), traffic::<f32>(3, shape), move |q| {
        let plan = SoftmaxPlan::new(&shape, 1)?;
        let (x, g) = (tensor::<f32>(q, &shape, 4.0)?, tensor(q, &shape, 1.0)?);
        let (mut y, mut dx) = (tensor(q, &shape, 4.0)?, tensor(q, &shape, 4.0)?);
        plan.softmax(q, x.at(), Mask::None, y.at_mut())?;
        Ok(Box::new(move |q| Ok(plan.softmax_backward(q, y.at(), g.at(), dx.at_mut())?)))
    })
}

pub(super) fn layer_norm<T: Real>(shape: [usize; 2]) -> Line {
    Line::new(&matrix_id("layer_norm", shape), traffic::<T>(2, shape), move |q| {
        let ([rows, columns], plan) = (shape, NormPlan::new(&shape, 1e-5)?);
        let (x, mut y) = (tensor::<T>(q, &shape, 4.0)?, tensor(q, &shape, 4.0)?);
        let (gamma, beta) = (tensor(q, &[columns], 1.0)?, tensor(q, &[columns], 1.0)?);
        let mut stats = Tensor::from_buffer(plan.layer_stats(q)?, &[2, rows])?;
        Ok(Box::new(move |q| {
            let affine = NormAffine { gamma: Some(gamma.at()), beta: Some(beta.at()) };
            Ok(plan.layer_norm(q, x.at(), affine, NormResults { y: y.at_mut(), stats: stats.at_mut() })?)
        }))
    })
}

/// Reads and writes one tensor.
///
/// Each run normalises the rows of the run before, which stay finite.
pub(super) fn layer_norm_in_place(shape: [usize; 2]) -> Line {
    let size = RunSize { resident: traffic::<f32>(1, shape).resident, ..traffic::<f32>(2, shape) };
    Line::new(&matrix_id("layer_norm_in_place", shape), size, move |q| {
        let ([rows, columns], plan) = (shape, NormPlan::new(&shape, 1e-5)?);
        let mut x = tensor::<f32>(q, &shape, 4.0)?;
        let (gamma, beta) = (tensor(q, &[columns], 1.0)?, tensor(q, &[columns], 1.0)?);
        let mut stats = Tensor::from_buffer(plan.layer_stats(q)?, &[2, rows])?;
        Ok(Box::new(move |q| {
            let affine = NormAffine { gamma: Some(gamma.at()), beta: Some(beta.at()) };
            Ok(plan.layer_norm_in_place(q, x.at_mut(), affine, stats.at_mut())?)
        }))
    })
}

/// Reads two tensors and writes their sum and its norm.
pub(super) fn add_layer_norm(shape: [usize; 2]) -> Line {
    Line::new(&matrix_id("add_layer_norm", shape), traffic::<f32>(4, shape), move |q| {
        let ([rows, columns], plan) = (shape, NormPlan::new(&shape, 1e-5)?);
        let (x, r) = (tensor::<f32>(q, &shape, 4.0)?, tensor(q, &shape, 4.0)?);
        let (gamma, beta) = (tensor(q, &[columns], 1.0)?, tensor(q, &[columns], 1.0)?);
        let (mut sum, mut y) = (tensor(q, &shape, 4.0)?, tensor(q, &shape, 4.0)?);
        let mut stats = Tensor::from_buffer(plan.layer_stats(q)?, &[2, rows])?;
        Ok(Box::new(move |q| {
            let affine = NormAffine { gamma: Some(gamma.at()), beta: Some(beta.at()) };
            let results = NormResults { y: y.at_mut(), stats: stats.at_mut() };
            Ok(plan.add_layer_norm(q, [x.at(), r.at()], affine, sum.at_mut(), results)?)
        }))
    })
}

fn layer_norm_backward(shape: [usize; 2]) -> Line {
    Line::new(&matrix_id("layer_norm_backward", shape), traffic::<f32>(3, shape), move |q| {
        let ([rows, columns], plan) = (shape, NormPlan::new(&shape, 1e-5)?);
        let (x, g) = (tensor::<f32>(q, &shape, 4.0)?, tensor(q, &shape, 1.0)?);
        let (mut y, mut dx) = (tensor(q, &shape, 4.0)?, tensor(q, &shape, 4.0)?);
        let gamma = tensor(q, &[columns], 1.0)?;
        let (mut dgamma, mut dbeta) = (tensor(q, &[columns], 1.0)?, tensor(q, &[columns], 1.0)?);
        let mut stats = Tensor::from_buffer(plan.layer_stats(q)?, &[2, rows])?;
        let affine = NormAffine { gamma: Some(gamma.at()), beta: None };
        plan.layer_norm(q, x.at(), affine, NormResults { y: y.at_mut(), stats: stats.at_mut() })?;
        Ok(Box::new(move |q| {
            let saved = NormSaved { x: x.at(), gamma: Some(gamma.at()), stats: stats.at() };
            let (gamma, beta) = (Some(dgamma.at_mut()), Some(dbeta.at_mut()));
            Ok(plan.layer_norm_backward(q, saved, g.at(), NormGradients { x: dx.at_mut(), gamma, beta })?)
        }))
    })
}

pub(super) fn rms_norm(shape: [usize; 2]) -> Line {
    Line::new(&matrix_id("rms_norm", shape), traffic::<f32>(2, shape), move |q| {
        let ([rows, columns], plan) = (shape, NormPlan::new(&shape, 1e-5)?);
        let (x, mut y) = (tensor::<f32>(q, &shape, 4.0)?, tensor(q, &shape, 4.0)?);
        let gamma = tensor(q, &[columns], 1.0)?;
        let mut stats = Tensor::from_buffer(plan.rms_stats(q)?, &[rows])?;
        Ok(Box::new(move |q| {
            let results = NormResults { y: y.at_mut(), stats: stats.at_mut() };
            Ok(plan.rms_norm(q, x.at(), Some(gamma.at()), results)?)
        }))
    })
}

fn plain_softmax() -> Contender {
    let (x, mut y) = (values::<f32>(COUNT, 4.0), values::<f32>(COUNT, 4.0));
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
    let (x, mut y) = (values::<f32>(COUNT, 4.0), values::<f32>(COUNT, 4.0));
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
