//! Speed lines of ops on rows.
//!
//! They are a row added to rows, a transpose, sums over either axis, and rows by index.

use nn_ops::{Binary, Indices, NnError, Reduction, binary, copy, reduce};
use runtime::AnyQueue;

use crate::{
    Extent, Goal, Line,
    host::{against_copy, against_reading, matrix_id, tensor, traffic, words},
};

/// Every line of the op set on the processor.
pub(crate) fn contests() -> Vec<Line> {
    let (shape, goal) = ([4096, 1024], Goal::Ratio { peer: 1, ratio: 0.9 });
    vec![
        against_copy(add_row(shape).called("nn.add_row")).goal(goal, ""),
        against_reading(sum(shape, 0).called("nn.sum_columns")).goal(goal, ""),
        against_reading(sum(shape, 1).called("nn.sum_rows")).goal(goal, ""),
    ]
}

/// Every line of the op set on a device.
pub(crate) fn lines(extent: Extent) -> Vec<Line> {
    let shape = match extent {
        Extent::Full => [65_536, 1024],
        Extent::Small => [8, 64],
    };
    vec![add_row(shape), transpose(shape), sum(shape, 0), sum(shape, 1), gather(shape), scatter_add(shape)]
}

fn add_row(shape: [usize; 2]) -> Line {
    Line::new(&matrix_id("add_row", shape), traffic::<f32>(2, shape), move |q| {
        let (x, row, mut y) = (tensor::<f32>(q, &shape, 4.0)?, tensor(q, &shape[1..], 4.0)?, tensor(q, &shape, 4.0)?);
        Ok(Box::new(move |q| Ok(binary(q, Binary::Add, x.at(), row.at(), y.at_mut())?)))
    })
}

fn transpose(shape: [usize; 2]) -> Line {
    Line::new(&matrix_id("transpose", shape), traffic::<f32>(2, shape), move |q| {
        let (x, mut y) = (tensor::<f32>(q, &shape, 4.0)?, tensor(q, &[shape[1], shape[0]], 4.0)?);
        Ok(Box::new(move |q| Ok(copy(q, x.at().transposed()?, y.at_mut())?)))
    })
}

fn sum(shape: [usize; 2], axis: usize) -> Line {
    let name = ["sum_columns", "sum_rows"][axis];
    Line::new(&matrix_id(name, shape), traffic::<f32>(1, shape), move |q| {
        let (x, mut y) = (tensor::<f32>(q, &shape, 4.0)?, tensor(q, &[shape[1 - axis]], 4.0)?);
        Ok(Box::new(move |q| Ok(reduce(q, Reduction::Sum, x.at(), &[axis], y.at_mut())?)))
    })
}

/// Random indices, one for each row of the table.
fn indices(q: &AnyQueue, rows: usize) -> Result<Indices<AnyQueue>, NnError> {
    let named: Vec<u32> = words(rows, 2).into_iter().map(|word| (word >> 33) as u32 % rows as u32).collect();
    Indices::new(q, rows, &named)
}

fn gather(shape: [usize; 2]) -> Line {
    Line::new(&matrix_id("gather", shape), traffic::<f32>(2, shape), move |q| {
        let (indices, table, mut y) = (indices(q, shape[0])?, tensor::<f32>(q, &shape, 4.0)?, tensor(q, &shape, 4.0)?);
        Ok(Box::new(move |q| Ok(indices.gather(q, table.at(), y.at_mut())?)))
    })
}

fn scatter_add(shape: [usize; 2]) -> Line {
    Line::new(&matrix_id("scatter_add", shape), traffic::<f32>(3, shape), move |q| {
        let (indices, g, mut table) = (indices(q, shape[0])?, tensor::<f32>(q, &shape, 4.0)?, tensor(q, &shape, 4.0)?);
        Ok(Box::new(move |q| Ok(indices.scatter_add(q, g.at(), table.at_mut())?)))
    })
}
