//! A row added to every row, and sums over either axis, of 4096 rows of 1024 f32, one thread.

use nn_ops::{Binary, Reduction, Tensor, binary, reduce};

use super::{Contender, Contest, Goal, Show, host};

const ROWS: usize = 4096;
const COLUMNS: usize = 1024;
const SHAPE: [usize; 2] = [ROWS, COLUMNS];
/// Of the tensor.
const BYTES: usize = 4 * ROWS * COLUMNS;

/// Every contest of the op set, by name, each built only when its turn comes.
#[must_use]
pub(crate) fn contests() -> Vec<(String, Box<dyn FnOnce() -> Contest>)> {
    let mut all: Vec<(String, Box<dyn FnOnce() -> Contest>)> = vec![(
        "nn.add_row".to_owned(),
        Box::new(|| contest("nn.add_row", 2 * BYTES, add_row(), host::copy(2 * BYTES))),
    )];
    for (axis, name) in ["nn.sum_columns", "nn.sum_rows"].into_iter().enumerate() {
        all.push((name.to_owned(), Box::new(move || contest(name, BYTES, sum(axis), host::read(BYTES)))));
    }
    all
}

/// A contest with its bound, which passes over the same bytes.
fn contest(id: &str, bytes: usize, ours: Contender, bound: Contender) -> Contest {
    Contest {
        id: id.to_owned(),
        unit: "byte",
        work: bytes as f64,
        show: Show::Rate,
        contenders: vec![ours, bound],
        goals: vec![(Goal::Ratio { peer: 1, ratio: 0.9 }, "")],
    }
}

fn add_row() -> Contender {
    host::ours(|q| {
        let (x, row) = (host::tensor::<f32>(&q, &SHAPE, 4.0)?, host::tensor(&q, &[COLUMNS], 1.0)?);
        let mut y = host::tensor(&q, &SHAPE, 4.0)?;
        Ok(Box::new(move || binary(&q, Binary::Add, x.at(), row.at(), y.at_mut())))
    })
}

fn sum(axis: usize) -> Contender {
    host::ours(move |q| {
        let x = host::tensor::<f32>(&q, &SHAPE, 4.0)?;
        let mut y = Tensor::alloc(&q, &[SHAPE[1 - axis]])?;
        Ok(Box::new(move || reduce(&q, Reduction::Sum, x.at(), &[axis], y.at_mut())))
    })
}
