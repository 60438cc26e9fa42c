//! Functions of single elements, of 4096 rows of 1024, one thread.

use backend_api::Real;
use half::bf16;
use nn_ops::{Activation, Binary, Dropout, Tensor, activate, activate_backward, binary};

use crate::{Contender, Contest, Goal, Show, host};

const SHAPE: [usize; 2] = [4096, 1024];
const COUNT: usize = 4096 * 1024;

pub(super) fn contests() -> Vec<(String, Box<dyn FnOnce() -> Contest>)> {
    // only memory-bound functions have a goal relative to a copy; the others are bound by arithmetic
    let forward = |name: &'static str, f: Activation, goal: Option<f64>| {
        let id = format!("nn.{name}");
        (id.clone(), Box::new(move || contest(id, 8, activation::<f32>(f), goal)) as Box<dyn FnOnce() -> Contest>)
    };
    let mut all = vec![
        forward("relu", Activation::Relu, Some(0.9)),
        forward("sigmoid", Activation::Sigmoid, None),
        forward("tanh", Activation::Tanh, None),
        forward("silu", Activation::Silu, None),
        forward("gelu", Activation::GeluTanh, None),
        forward("gelu_erf", Activation::GeluErf, None),
    ];
    let mut add = |id: &str, bytes: usize, ours: fn() -> Contender, goal: Option<f64>| {
        let id = id.to_owned();
        all.push((id.clone(), Box::new(move || contest(id, bytes, ours(), goal))));
    };
    add("nn.gelu_bf16", 4, || activation::<bf16>(Activation::GeluTanh), None);
    add("nn.gelu_backward", 12, gelu_backward, None);
    add("nn.add", 12, sum, Some(0.9));
    add("nn.dropout", 8, dropout, None);
    all
}

/// A line that moves `bytes` for each element, compared with a copy of the same size.
fn contest(id: String, bytes: usize, ours: Contender, of_copy: Option<f64>) -> Contest {
    let goals = of_copy.map(|ratio| (Goal::Ratio { peer: 1, ratio }, ""));
    Contest {
        id,
        unit: "byte",
        work: (bytes * COUNT) as f64,
        show: Show::Rate,
        contenders: vec![ours, host::copy(bytes * COUNT)],
        goals: goals.into_iter().collect(),
    }
}

fn activation<T: Real>(f: Activation) -> Contender {
    host::ours(move |q| {
        let (x, mut y) = (host::tensor::<T>(&q, &SHAPE, 4.0)?, host::tensor(&q, &SHAPE, 4.0)?);
        Ok(Box::new(move || activate(&q, f, x.at(), y.at_mut())))
    })
}

fn gelu_backward() -> Contender {
    host::ours(|q| {
        let (x, g) = (host::tensor::<f32>(&q, &SHAPE, 4.0)?, host::tensor(&q, &SHAPE, 1.0)?);
        let mut dx = host::tensor(&q, &SHAPE, 1.0)?;
        Ok(Box::new(move || activate_backward(&q, Activation::GeluTanh, x.at(), g.at(), dx.at_mut())))
    })
}

fn sum() -> Contender {
    host::ours(|q| {
        let (a, b) = (host::tensor::<f32>(&q, &SHAPE, 4.0)?, host::tensor(&q, &SHAPE, 1.0)?);
        let mut y = host::tensor(&q, &SHAPE, 1.0)?;
        Ok(Box::new(move || binary(&q, Binary::Add, a.at(), b.at(), y.at_mut())))
    })
}

fn dropout() -> Contender {
    host::ours(|q| {
        let (x, mut y): (Tensor<_, f32>, _) = (host::tensor(&q, &SHAPE, 4.0)?, host::tensor(&q, &SHAPE, 1.0)?);
        let (dropout, mut step) = (Dropout::new(0.1, 1)?, 0);
        Ok(Box::new(move || {
            step += 1;
            dropout.apply(&q, 0, step, x.at(), y.at_mut())
        }))
    })
}
