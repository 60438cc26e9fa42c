//! Softmax cross-entropy of 4096 rows of 1024 f32 with its gradient, one thread.

use nn_ops::{CrossEntropyResults, Tensor, cross_entropy};

use crate::{Contender, Contest, Show, host};

const ROWS: usize = 4096;
const CLASSES: usize = 1024;
/// Every logit is read once, and its gradient written.
const BYTES: usize = 8 * ROWS * CLASSES;

pub(super) fn contests() -> Vec<(String, Box<dyn FnOnce() -> Contest>)> {
    vec![("nn.cross_entropy".to_owned(), Box::new(contest))]
}

fn contest() -> Contest {
    Contest {
        id: "nn.cross_entropy".to_owned(),
        unit: "byte",
        work: BYTES as f64,
        show: Show::Rate,
        contenders: vec![ours(), host::copy(BYTES)],
        goals: Vec::new(),
    }
}

fn ours() -> Contender {
    host::ours(|q| {
        let targets: Vec<u32> = (0..ROWS as u32).map(|row| row * 7 % CLASSES as u32).collect();
        let targets = Tensor::from_values(&q, &[ROWS], &targets)?;
        let (x, mut dx) = (host::tensor::<f32>(&q, &[ROWS, CLASSES], 4.0)?, host::tensor(&q, &[ROWS, CLASSES], 1.0)?);
        let mut losses = host::tensor(&q, &[ROWS], 1.0)?;
        let scale = 1.0 / ROWS as f32;
        Ok(Box::new(move || {
            let results = CrossEntropyResults { losses: losses.at_mut(), dlogits: dx.at_mut() };
            cross_entropy(&q, scale, x.at(), targets.at(), results)
        }))
    })
}
