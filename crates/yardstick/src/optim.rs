//! Speed lines of training, one thread: AdamW over 2^22 weights, and a step of a perceptron.

use backend_api::{Buffer, Queue};
use nn_ops::{
    Mlp, Optimizer, OptimizerConfig, ParameterArena, ParameterSpec, ParameterTable, TensorRef,
    io::{Tensor, Tensors},
};

use super::{Contest, Goal, Show, host};

/// Every contest of training, by name, each built only when its turn comes.
#[must_use]
pub(crate) fn contests() -> Vec<(String, Box<dyn FnOnce() -> Contest>)> {
    vec![("nn.adam_w/4194304".to_owned(), Box::new(adam_w)), ("nn.mlp_step".to_owned(), Box::new(mlp_step))]
}

/// Updates weights and their two moments, compared with a copy of the same size.
fn adam_w() -> Contest {
    const COUNT: usize = 1 << 22;
    let ours = host::ours(|q| {
        let table = ParameterTable::new(&[ParameterSpec::new("w", &[COUNT])])?;
        let w = table.id("w")?;
        let (mut values, mut gradients) = (ParameterArena::zeros(&q, &table)?, ParameterArena::zeros(&q, &table)?);
        values.write(&q, w, &host::values::<f32>(COUNT, 1.0))?;
        gradients.write(&q, w, &host::values::<f32>(COUNT, 1.0))?;
        let mut optimizer = Optimizer::new(&q, OptimizerConfig::adam_w(1e-3), &table)?;
        Ok(Box::new(move || optimizer.step(&q, gradients.view(), values.view_mut(), None)))
    });
    Contest {
        id: "nn.adam_w/4194304".to_owned(),
        unit: "byte",
        work: (28 * COUNT) as f64,
        show: Show::Rate,
        contenders: vec![ours, host::copy(28 * COUNT)],
        goals: vec![(Goal::Ratio { peer: 1, ratio: 0.85 }, "")],
    }
}

/// Forward, loss, backward and a step with momentum, of a batch of 256 images.
fn mlp_step() -> Contest {
    const SIZES: [usize; 4] = [784, 512, 512, 10];
    const ROWS: usize = 256;
    let ours = host::ours(|q| {
        let names = ["first", "second", "third"];
        let mut tensors = Tensors::new();
        for (name, pair) in names.iter().zip(SIZES.windows(2)) {
            let data = host::values(pair[0] * pair[1], (6.0 / pair[0] as f32).sqrt());
            tensors.insert(format!("{name}.weight"), Tensor { shape: pair.to_vec(), data });
            tensors.insert(format!("{name}.bias"), Tensor { shape: vec![pair[1]], data: vec![0.0; pair[1]] });
        }
        let mut network = Mlp::import(&q, &names, &tensors)?;
        let mut training = network.training(&q, ROWS, OptimizerConfig::sgd(0.01, 0.9))?;
        let x = q.upload(&host::values::<f32>(ROWS * SIZES[0], 1.0))?;
        let y = q.upload(&(0..ROWS as u32).map(|row| row * 7 % 10).collect::<Vec<u32>>())?;
        Ok(Box::new(move || {
            let x = TensorRef::contiguous(x.view(), &[ROWS, SIZES[0]])?;
            network.train_step(&q, &mut training, x, TensorRef::contiguous(y.view(), &[ROWS])?)
        }))
    });
    // a product forward and two backward, but the gradient of the inputs
    let products = |pair: &[usize]| 6 * ROWS * pair[0] * pair[1];
    let flops = SIZES.windows(2).map(products).sum::<usize>() - 2 * ROWS * SIZES[0] * SIZES[1];
    let time = Goal::Rate(flops as f64 / 8e-3);
    Contest {
        id: "nn.mlp_step".to_owned(),
        unit: "flop",
        work: flops as f64,
        show: Show::Rate,
        contenders: vec![ours],
        goals: vec![(time, "avx-512")],
    }
}
