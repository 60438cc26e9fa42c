//! Functions of single elements: on the processor of 4096 rows of 1024.

use backend_api::{
    Buffer, Queue as _, Real,
    ops::linalg::{Activate, ElementwiseOps as _},
};
use half::bf16;
use nn_ops::{Activation, Binary, Dropout, activate, activate_backward, binary, binary_scalar};

use crate::{
    Goal, Line,
    host::{against_copy, tensor, traffic, values},
    line::RunSize,
};

const SHAPE: [usize; 2] = [4096, 1024];

pub(super) fn contests() -> Vec<Line> {
    // only memory-bound functions have a goal relative to a copy; the others are bound by arithmetic
    let memory_bound = |line: Line| line.goal(Goal::Ratio { peer: 1, ratio: 0.9 }, "");
    vec![
        memory_bound(activation::<f32>("relu", Activation::Relu)),
        activation::<f32>("sigmoid", Activation::Sigmoid),
        activation::<f32>("tanh", Activation::Tanh),
        activation::<f32>("silu", Activation::Silu),
        activation::<f32>("gelu", Activation::GeluTanh),
        activation::<f32>("gelu_erf", Activation::GeluErf),
        activation::<bf16>("gelu_bf16", Activation::GeluTanh),
        against_copy(gelu_backward()),
        memory_bound(against_copy(sum())),
        memory_bound(against_copy(add_number())),
        against_copy(dropout()),
    ]
}

/// The op of a map alone, without a plan.
pub(super) fn map(name: &str, f: Activation, count: usize) -> Line {
    Line::new(&format!("nn.{name}/{count}"), RunSize::of_bytes(8 * count), move |q| {
        let (x, mut y) = (q.upload(&values::<f32>(count, 4.0))?, q.zeros::<f32>(count)?);
        Ok(Box::new(move |q| Ok(q.activate(Activate { f, len: x.len(), x: Some(x.view()), y: y.view_mut() })?)))
    })
}

fn activation<T: Real>(name: &str, f: Activation) -> Line {
    against_copy(Line::new(&format!("nn.{name}"), traffic::<T>(2, SHAPE), move |q| {
        let (x, mut y) = (tensor::<T>(q, &SHAPE, 4.0)?, tensor(q, &SHAPE, 4.0)?);
        Ok(Box::new(move |q| Ok(activate(q, f, x.at(), y.at_mut())?)))
    }))
}

fn gelu_backward() -> Line {
    Line::new("nn.gelu_backward", traffic::<f32>(3, SHAPE), |q| {
        let (x, g) = (tensor::<f32>(q, &SHAPE, 4.0)?, tensor(q, &SHAPE, 1.0)?);
        let mut dx = tensor(q, &SHAPE, 1.0)?;
        Ok(Box::new(move |q| Ok(activate_backward(q, Activation::GeluTanh, x.at(), g.at(), dx.at_mut())?)))
    })
}

fn sum() -> Line {
    Line::new("nn.add", traffic::<f32>(3, SHAPE), |q| {
        let (a, b) = (tensor::<f32>(q, &SHAPE, 4.0)?, tensor(q, &SHAPE, 1.0)?);
        let mut y = tensor(q, &SHAPE, 1.0)?;
        Ok(Box::new(move |q| Ok(binary(q, Binary::Add, a.at(), b.at(), y.at_mut())?)))
    })
}

/// Reads a tensor and writes its sum with a number, which is a parameter.
fn add_number() -> Line {
    Line::new("nn.add_number", traffic::<f32>(2, SHAPE), |q| {
        let (x, mut y) = (tensor::<f32>(q, &SHAPE, 4.0)?, tensor(q, &SHAPE, 4.0)?);
        Ok(Box::new(move |q| Ok(binary_scalar(q, Binary::Add, x.at(), 0.5, y.at_mut())?)))
    })
}

fn dropout() -> Line {
    Line::new("nn.dropout", traffic::<f32>(2, SHAPE), |q| {
        let (x, mut y) = (tensor::<f32>(q, &SHAPE, 4.0)?, tensor(q, &SHAPE, 1.0)?);
        let (dropout, mut step) = (Dropout::new(0.1, 1)?, 0);
        Ok(Box::new(move |q| {
            step += 1;
            Ok(dropout.apply(q, 0, step, x.at(), y.at_mut())?)
        }))
    })
}
