//! Speed lines of training: AdamW, and a step of a perceptron.

use nn_ops::{Mlp, Optimizer, OptimizerConfig, ParameterArena, ParameterSpec, ParameterTable, Tensor, io};

use crate::{
    Goal, Line,
    host::{against_copy, tensor, values},
    line::RunSize,
};

/// Sizes of the layers of the perceptron, and the images of a batch.
const SIZES: [usize; 4] = [784, 512, 512, 10];
const ROWS: usize = 256;

pub(super) fn contests() -> [Line; 2] {
    const COUNT: usize = 1 << 22;
    let adam_w = against_copy(adam_w(COUNT).counting("byte", (28 * COUNT) as f64));
    let mlp_step = mlp_step();
    let time = Goal::Rate(mlp_step.size.work / 8e-3);
    [adam_w.goal(Goal::Ratio { peer: 1, ratio: 0.85 }, ""), mlp_step.goal(time, "avx-512")]
}

/// Reads a gradient, and reads and writes a weight and its two moments.
pub(super) fn adam_w(count: usize) -> Line {
    let bytes = RunSize::streaming("weight", count as f64, 28.0 * count as f64);
    let size = RunSize { resident: 16.0 * count as f64, ..bytes };
    Line::new(&format!("nn.adam_w/{count}"), size, move |q| {
        let table = ParameterTable::new(&[ParameterSpec::new("w", &[count])])?;
        let w = table.id("w")?;
        let (mut weights, mut gradients) = (ParameterArena::zeros(q, &table)?, ParameterArena::zeros(q, &table)?);
        weights.write(q, w, &values::<f32>(count, 1.0))?;
        gradients.write(q, w, &values::<f32>(count, 1.0))?;
        let mut optimizer = Optimizer::new(q, OptimizerConfig::adam_w(1e-3), &table)?;
        Ok(Box::new(move |q| Ok(optimizer.step(q, gradients.view(), weights.view_mut(), None)?)))
    })
}

/// Forward, loss, backward and a step with momentum, of a batch of images.
fn mlp_step() -> Line {
    // a product forward and two backward, but the gradient of the inputs
    let products = |pair: &[usize]| 6 * ROWS * pair[0] * pair[1];
    let flops = SIZES.windows(2).map(products).sum::<usize>() - 2 * ROWS * SIZES[0] * SIZES[1];
    Line::new("nn.mlp_step", RunSize::computing("flop", flops as f64, 0.0), |q| {
        let names = ["first", "second", "third"];
        let mut tensors = io::Tensors::new();
        for (name, pair) in names.iter().zip(SIZES.windows(2)) {
            let data = values(pair[0] * pair[1], (6.0 / pair[0] as f32).sqrt());
            tensors.insert(format!("{name}.weight"), io::Tensor { shape: pair.to_vec(), data });
            tensors.insert(format!("{name}.bias"), io::Tensor { shape: vec![pair[1]], data: vec![0.0; pair[1]] });
        }
        let mut network = Mlp::import(q, &names, &tensors)?;
        let mut training = network.training(q, ROWS, OptimizerConfig::sgd(0.01, 0.9))?;
        let targets: Vec<u32> = (0..ROWS as u32).map(|row| row * 7 % 10).collect();
        let (x, y) = (tensor::<f32>(q, &[ROWS, SIZES[0]], 1.0)?, Tensor::from_values(q, &[ROWS], &targets)?);
        Ok(Box::new(move |q| Ok(network.train_step(q, &mut training, x.at(), y.at())?)))
    })
}
