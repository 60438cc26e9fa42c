//! Rows by index: copies to the bit, and sums in the order of their indices.

use backend_api::{
    Buffer, Queue, Real,
    ops::tensor::{Gather, GatherU64, ScatterAdd, TensorOps},
};
use core_types::params::tensor::TableParams;

use super::{bits, long_words, typed};
use crate::{Case, Conditioned, Failure, OpSpec, linalg::model::InputSource, list::ListIterator as _, spec::BATCHES};

/// Rows, width and number of indices.
const SIZES: [[usize; 3]; 10] = [
    [1, 1, 1],
    [5, 3, 40],
    [300, 8, 64],
    [4, 700, 9],
    [1000, 33, 2100],
    [3, 0, 5],
    [0, 4, 0],
    [7, 4, 0],
    [2, 513, 3],
    [2, 3, 70_001],
];

pub(super) fn specs() -> Vec<OpSpec> {
    let (mut gathers, mut words, mut sums) = (Vec::new(), Vec::new(), Vec::new());
    for size in SIZES {
        gathers.extend(typed!(format!("{size:?}"), gathered(size)));
        words.push(Case::new(format!("{size:?}"), move |q| gathered_words(q, size)));
        sums.extend(typed!(format!("{size:?}"), added(size)));
    }
    for n in BATCHES.map(|n| n as usize) {
        gathers.push(Case::new(format!("{n} indices"), move |q| gathered::<f32>(q, [11, 5, n])));
        words.push(Case::new(format!("{n} indices"), move |q| gathered_words(q, [11, 1, n])));
        sums.push(Case::new(format!("{n} indices"), move |q| added::<f32>(q, [11, 5, n])));
    }
    vec![
        OpSpec { op: "tensor.gather", cases: gathers },
        OpSpec { op: "tensor.gather_u64", cases: words },
        OpSpec { op: "tensor.scatter_add", cases: sums },
    ]
}

/// Indices, some out of range, and their places in ascending order of index.
fn indices([rows, _, count]: [usize; 3]) -> (Vec<u32>, Vec<u32>) {
    let mut random = InputSource::new(count as u64);
    let mut index = || match random.word() % 11 {
        0 => rows as u32,
        1 => u32::MAX,
        _ => random.word() % rows as u32,
    };
    let indices: Vec<u32> = (0..count).map(|_| index()).list();
    let mut order: Vec<u32> = (0..count as u32).list();
    order.sort_by_key(|&place| indices[place as usize]);
    (indices, order)
}

fn params([rows, width, count]: [usize; 3]) -> TableParams {
    TableParams { rows: rows as u64, width: width as u64, count: count as u64 }
}

fn gathered<T: Real>(q: &Conditioned, size: [usize; 3]) -> Result<(), Failure> {
    let ([rows, width, count], (indices, _)) = (size, indices(size));
    let table: Vec<T> = InputSource::new(8).reals(rows * width);
    let (dt, di, mut y) = (q.upload(&table)?, q.upload(&indices)?, q.upload(&vec![T::from_f32(9.0); count * width])?);
    q.gather(Gather { params: &params(size), table: dt.view(), indices: di.view(), y: y.view_mut() })?;
    let expected = rows_at(&table, width, &indices, T::from_f32(0.0));
    Failure::unless_equal(&bits(&expected), &bits(&q.download(&y)?))
}

fn gathered_words(q: &Conditioned, size: [usize; 3]) -> Result<(), Failure> {
    let ([rows, width, count], (indices, _)) = (size, indices(size));
    let table = long_words(&mut InputSource::new(8), rows * width);
    let (dt, di, mut y) = (q.upload(&table)?, q.upload(&indices)?, q.upload(&vec![9; count * width])?);
    q.gather_u64(GatherU64 { params: &params(size), table: dt.view(), indices: di.view(), y: y.view_mut() })?;
    Failure::unless_equal(&rows_at(&table, width, &indices, 0), &q.download(&y)?)
}

/// The rows of a table at `indices`, with `zero` in rows that the table does not have.
fn rows_at<T: Copy>(table: &[T], width: usize, indices: &[u32], zero: T) -> Vec<T> {
    let row = |&index: &u32| match table.get(index as usize * width..(index as usize + 1) * width) {
        Some(row) => row.to_vec(),
        None => vec![zero; width],
    };
    indices.iter().flat_map(row).list()
}

fn added<T: Real>(q: &Conditioned, size: [usize; 3]) -> Result<(), Failure> {
    let ([rows, width, count], (indices, order)) = (size, indices(size));
    let (table, g): (Vec<T>, Vec<T>) =
        (InputSource::new(8).reals(rows * width), InputSource::new(9).reals(count * width));
    let (di, places, dg) = (q.upload(&indices)?, q.upload(&order)?, q.upload(&g)?);
    let mut y = q.upload(&table)?;
    q.scatter_add(ScatterAdd {
        params: &params(size),
        indices: di.view(),
        order: places.view(),
        g: dg.view(),
        table: y.view_mut(),
    })?;
    // Sums of multiples of 2^-12 are exact in f32, so that only the order of rounding is left, and there is one.
    let mut sums = vec![0.0f32; rows * width];
    for (place, &index) in indices.iter().enumerate().filter(|&(_, &index)| (index as usize) < rows) {
        (0..width).for_each(|c| sums[index as usize * width + c] += g[place * width + c].to_f32());
    }
    let expected: Vec<T> = table.iter().zip(sums).map(|(x, sum)| T::from_f32(sum + x.to_f32())).list();
    Failure::unless_equal(&bits(&expected), &bits(&q.download(&y)?))
}
