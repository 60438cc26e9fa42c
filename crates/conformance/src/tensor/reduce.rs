//! Reductions along an axis against sums in f64 and plain searches.

use backend_api::{
    Buffer, Queue, Real,
    ops::tensor::{ArgMax, Reduce, TensorOps},
};
use core_types::params::{
    rows::AxisParams,
    tensor::{ReduceParams, Reduction},
};

use super::{bits, narrow, typed, wide};
use crate::{
    Case, Conditioned, Failure, OpSpec,
    linalg::model::{InputSource, rounding},
    list::ListIterator as _,
    spec::BATCHES,
};

/// `outer x len x inner` around vectors, strips, warps, blocks and parts.
const SHAPES: [[usize; 3]; 17] = [
    [1, 1, 1],
    [3, 7, 1],
    [5, 33, 1],
    [2, 513, 1],
    [2, 1101, 1],
    [1, 5, 300],
    [2, 9, 1100],
    [3, 4, 7],
    [1, 3, 513],
    [70, 3, 10],
    [1, 600, 33],
    [0, 3, 2],
    [2, 3, 0],
    [2, 70_001, 1],
    [1, 140_000, 1],
    [1, 23_000, 3],
    [2, 150, 600],
];

pub(super) fn specs() -> Vec<OpSpec> {
    let (mut reductions, mut found) = (Vec::new(), Vec::new());
    for shape in SHAPES {
        reductions.extend(typed!(format!("{shape:?}"), reduced(shape)));
        found.extend(typed!(format!("{shape:?}"), places(shape)));
    }
    for n in BATCHES.map(|n| n as usize) {
        reductions.push(Case::new(format!("{n} rows"), move |q| reduced::<f32>(q, [n, 3, 1])));
        found.push(Case::new(format!("{n} rows"), move |q| places::<f32>(q, [n, 3, 1])));
    }
    for shape in [[1, 9, 1], [1, 9, 3], [1, 600, 1], [1, 600, 2], [1, 3000, 1]] {
        reductions.extend(typed!(format!("NaN and zeros of both signs in {shape:?}"), specials(shape)));
        found.extend(typed!(format!("ties and NaN in {shape:?}"), ties(shape)));
    }
    reductions.push(Case::new("an axis without elements", empty));
    vec![OpSpec { op: "tensor.reduce", cases: reductions }, OpSpec { op: "tensor.arg_max", cases: found }]
}

fn reduce<T: Real>(q: &Conditioned, reduction: Reduction, shape: [usize; 3], x: &[T]) -> Result<Vec<T>, Failure> {
    let [outer, len, inner] = shape.map(|n| n as u64);
    let (x, mut y) = (q.upload(x)?, q.upload(&vec![T::from_f32(9.0); shape[0] * shape[2]])?);
    let params = ReduceParams { reduction, reserved: 0, outer, len, inner };
    q.reduce(Reduce { params: &params, x: x.view(), y: y.view_mut() })?;
    Ok(q.download(&y)?)
}

fn arg_max<T: Real>(q: &Conditioned, shape: [usize; 3], x: &[T]) -> Result<Vec<u32>, Failure> {
    let [outer, len, inner] = shape.map(|n| n as u64);
    let (x, mut y) = (q.upload(x)?, q.upload(&vec![9u32; shape[0] * shape[2]])?);
    q.arg_max(ArgMax { params: &AxisParams { outer, len, inner }, x: x.view(), y: y.view_mut() })?;
    Ok(q.download(&y)?)
}

/// The elements along the axis of each output.
fn columns<T: Real>([outer, len, inner]: [usize; 3], x: &[T]) -> Vec<Vec<f32>> {
    let column = |o: usize, i: usize| (0..len).map(|l| x[(o * len + l) * inner + i].to_f32()).list();
    (0..outer).flat_map(|o| (0..inner).map(move |i| column(o, i))).list()
}

fn reduced<T: Real>(q: &Conditioned, shape: [usize; 3]) -> Result<(), Failure> {
    let x: Vec<T> = InputSource::new(shape[1] as u64).reals(shape.iter().product());
    let columns = columns(shape, &x);
    let sum = |column: &Vec<f32>| column.iter().map(|&x| f64::from(x)).sum::<f64>();
    let sums: Vec<f64> = columns.iter().map(sum).list();
    let means: Vec<f64> = columns.iter().map(|column| sum(column) / column.len() as f64).list();
    for (reduction, expected) in [(Reduction::Sum, sums), (Reduction::Mean, means)] {
        let rtol = 2f64.powi(-23) + rounding::<T>();
        // Means of 16-bit types may be subnormal, multiples of 2^-24.
        let atol = if rounding::<T>() > 0.0 { 2f64.powi(-24) } else { 1e-40 };
        Failure::unless_close(&expected, &wide(&reduce(q, reduction, shape, &x)?), rtol, atol)?;
    }
    let of = |f: fn(f32, f32) -> f32| columns.iter().map(move |column| column.iter().copied().reduce(f).unwrap_or(0.0));
    let greatest: Vec<f32> = of(f32::max).list();
    let least: Vec<f32> = of(f32::min).list();
    Failure::unless_equal(&greatest, &wide(&reduce(q, Reduction::Max, shape, &x)?))?;
    Failure::unless_equal(&least, &wide(&reduce(q, Reduction::Min, shape, &x)?))
}

fn specials<T: Real>(q: &Conditioned, shape: [usize; 3]) -> Result<(), Failure> {
    let [outer, len, inner] = shape;
    for at in [0, len / 2, len - 1] {
        let with = |value: f32, other: f32| -> Vec<T> {
            let mut x = vec![other; outer * len * inner];
            x[at * inner] = value;
            narrow(&x)
        };
        let first = |reduction, x: &[T]| reduce(q, reduction, shape, x).map(|y| bits(&y[..1]));
        for reduction in Reduction::ALL {
            Failure::unless_equal(&bits(&[f32::NAN]), &first(reduction, &with(f32::NAN, 1.0))?)?;
        }
        for (value, other) in [(0.0, -0.0), (-0.0, 0.0)] {
            Failure::unless_equal(&bits(&[0.0f32]), &first(Reduction::Max, &with(value, other))?)?;
            Failure::unless_equal(&bits(&[-0.0f32]), &first(Reduction::Min, &with(value, other))?)?;
        }
        let (inf, low) = (f32::INFINITY, f32::NEG_INFINITY);
        Failure::unless_equal(&bits(&[low]), &first(Reduction::Max, &with(low, low))?)?;
        Failure::unless_equal(&bits(&[inf]), &first(Reduction::Min, &with(inf, inf))?)?;
        Failure::unless_equal(&bits(&[low]), &first(Reduction::Min, &with(low, inf))?)?;
    }
    Ok(())
}

fn empty(q: &Conditioned) -> Result<(), Failure> {
    Failure::unless_equal(&[0.0; 3], &reduce::<f32>(q, Reduction::Sum, [1, 0, 3], &[])?)?;
    for reduction in [Reduction::Mean, Reduction::Max, Reduction::Min] {
        Failure::unless_equal(&[], &reduce::<f32>(q, reduction, [0, 0, 3], &[])?)?;
        let (x, mut y) = (q.zeros::<f32>(0)?, q.zeros::<f32>(3)?);
        let params = ReduceParams { reduction, reserved: 0, outer: 1, len: 0, inner: 3 };
        let outcome = q.reduce(Reduce { params: &params, x: x.view(), y: y.view_mut() });
        Failure::unless_refused(reduction.name(), outcome)?;
    }
    let (x, mut y) = (q.zeros::<f32>(0)?, q.zeros(3)?);
    let outcome =
        q.arg_max(ArgMax { params: &AxisParams { outer: 3, len: 0, inner: 1 }, x: x.view(), y: y.view_mut() });
    Failure::unless_refused("arg_max", outcome)
}

fn places<T: Real>(q: &Conditioned, shape: [usize; 3]) -> Result<(), Failure> {
    let x: Vec<T> = InputSource::new(shape[1] as u64).reals(shape.iter().product());
    let place = |column: Vec<f32>| {
        let greatest = column.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        column.iter().position(|&x| x == greatest).map_or(0, |i| i as u32)
    };
    let expected: Vec<u32> = columns(shape, &x).into_iter().map(place).list();
    Failure::unless_equal(&expected, &arg_max(q, shape, &x)?)
}

/// The first column, all of one value but for `values` at `at` and at the end.
fn ties<T: Real>(q: &Conditioned, shape: [usize; 3]) -> Result<(), Failure> {
    let [_, len, inner] = shape;
    let (nan, inf) = (f32::NAN, f32::INFINITY);
    for at in [0, 1, len / 2, len - 2] {
        for (value, last, other, want) in [
            (2.0, 2.0, 1.0, at),
            (0.0, -0.0, -1.0, at),
            (-0.0, 0.0, -1.0, at),
            (nan, nan, inf, at),
            (inf, nan, 1.0, len - 1),
            (nan, inf, 1.0, at),
            (-inf, -inf, -inf, 0),
            (-0.0, -0.0, 0.0, 0),
        ] {
            let mut x = vec![other; len * inner];
            (x[at * inner], x[(len - 1) * inner]) = (value, last);
            let found = arg_max(q, shape, &narrow::<T>(&x))?;
            Failure::unless_equal(&[want as u32], &found[..1])?;
        }
    }
    Ok(())
}
