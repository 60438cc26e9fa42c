//! Softmax cross-entropy of 4096 rows of 1024 f32 with its gradient.

use nn_ops::{CrossEntropyResults, Tensor, cross_entropy};

use crate::{
    Line,
    host::{against_copy, tensor, traffic},
};

const SHAPE: [usize; 2] = [4096, 1024];

pub(super) fn contest() -> Line {
    // Every logit is read once, and its gradient written.
    against_copy(Line::new("nn.cross_entropy", traffic::<f32>(2, SHAPE), |q| {
        let [rows, classes] = SHAPE;
        let targets: Vec<u32> = (0..rows as u32).map(|row| row * 7 % classes as u32).collect();
        let targets = Tensor::from_values(q, &[rows], &targets)?;
        let (x, mut dx) = (tensor::<f32>(q, &SHAPE, 4.0)?, tensor(q, &SHAPE, 1.0)?);
        let mut losses = tensor(q, &[rows], 1.0)?;
        let scale = 1.0 / rows as f32;
        Ok(Box::new(move |q| {
            let results = CrossEntropyResults { losses: losses.at_mut(), dlogits: dx.at_mut() };
            Ok(cross_entropy(q, scale, x.at(), targets.at(), results)?)
        }))
    }))
}
