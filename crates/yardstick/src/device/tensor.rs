//! Device speed of ops on rows.
//!
//! They are a row added to rows, a transpose, sums over either axis, and rows by index.

use nn_ops::{Binary, Indices, Reduction, Tensor, binary, copy, reduce};
use runtime::AnyQueue;

use super::{DeviceError, DeviceLine, Extent, RunSize, words};

pub(super) fn lines(extent: Extent) -> Vec<DeviceLine> {
    let shape = match extent {
        Extent::Full => [65_536, 1024],
        Extent::Small => [8, 64],
    };
    vec![add_row(shape), transpose(shape), sum(shape, 0), sum(shape, 1), gather(shape), scatter_add(shape)]
}

/// Values in -4..4.
fn input(q: &AnyQueue, shape: &[usize]) -> Result<Tensor<AnyQueue, f32>, DeviceError> {
    let value = |word: u64| (word >> 40) as f32 / (1 << 21) as f32 - 4.0;
    let values: Vec<f32> = words(shape.iter().product(), 1).into_iter().map(value).collect();
    Ok(Tensor::from_values(q, shape, &values)?)
}

/// The size of a line that moves `floats` floats for each element of a tensor.
fn traffic(floats: f64, [rows, columns]: [usize; 2]) -> RunSize {
    let bytes = 4.0 * floats * (rows * columns) as f64;
    RunSize { unit: "byte", work: bytes, bytes, resident: bytes }
}

fn id(name: &str, [rows, columns]: [usize; 2]) -> String {
    format!("nn.{name}/{rows}x{columns}")
}

fn add_row(shape: [usize; 2]) -> DeviceLine {
    DeviceLine::new(id("add_row", shape), traffic(2.0, shape), move |q| {
        let (x, row, mut y) = (input(q, &shape)?, input(q, &shape[1..])?, input(q, &shape)?);
        Ok(Box::new(move |q| Ok(binary(q, Binary::Add, x.at(), row.at(), y.at_mut())?)))
    })
}

fn transpose(shape: [usize; 2]) -> DeviceLine {
    DeviceLine::new(id("transpose", shape), traffic(2.0, shape), move |q| {
        let (x, mut y) = (input(q, &shape)?, input(q, &[shape[1], shape[0]])?);
        Ok(Box::new(move |q| Ok(copy(q, x.at().transposed()?, y.at_mut())?)))
    })
}

fn sum(shape: [usize; 2], axis: usize) -> DeviceLine {
    let name = ["sum_columns", "sum_rows"][axis];
    DeviceLine::new(id(name, shape), traffic(1.0, shape), move |q| {
        let (x, mut y) = (input(q, &shape)?, input(q, &[shape[1 - axis]])?);
        Ok(Box::new(move |q| Ok(reduce(q, Reduction::Sum, x.at(), &[axis], y.at_mut())?)))
    })
}

/// Random indices, one for each row of the table.
fn indices(q: &AnyQueue, rows: usize) -> Result<Indices<AnyQueue>, DeviceError> {
    let named: Vec<u32> = words(rows, 2).into_iter().map(|word| (word >> 33) as u32 % rows as u32).collect();
    Ok(Indices::new(q, rows, &named)?)
}

fn gather(shape: [usize; 2]) -> DeviceLine {
    DeviceLine::new(id("gather", shape), traffic(2.0, shape), move |q| {
        let (indices, table, mut y) = (indices(q, shape[0])?, input(q, &shape)?, input(q, &shape)?);
        Ok(Box::new(move |q| Ok(indices.gather(q, table.at(), y.at_mut())?)))
    })
}

fn scatter_add(shape: [usize; 2]) -> DeviceLine {
    DeviceLine::new(id("scatter_add", shape), traffic(3.0, shape), move |q| {
        let (indices, g, mut table) = (indices(q, shape[0])?, input(q, &shape)?, input(q, &shape)?);
        Ok(Box::new(move |q| Ok(indices.scatter_add(q, g.at(), table.at_mut())?)))
    })
}
