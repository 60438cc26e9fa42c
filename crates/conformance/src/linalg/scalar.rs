//! Functions of a tensor and a number, by definition and to the bits of [`Binary`].

use backend_api::{
    Buffer, Queue, Real,
    ops::linalg::{Binary, BinaryScalar, ElementwiseOps},
};
use core_types::params::elementwise::{Binary as Arithmetic, BinaryParams, BinaryScalarParams};

use super::{
    batches,
    elementwise::BINARIES,
    model::{InputSource, bits, places, six},
    typed,
};
use crate::{Case, Conditioned, Failure, OpSpec, list::ListIterator as _};

/// The shape, and the strides of x.
type StridedShape = [&'static [u64]; 2];

/// Row-major, transposed, with gaps, repeated, of six axes, of one element, and empty.
const LAYOUTS: [StridedShape; 11] = [
    [&[1030], &[1]],
    [&[3], &[1]],
    [&[3, 5, 7], &[35, 7, 1]],
    [&[3, 5, 7], &[1, 3, 15]],
    [&[5, 7], &[12, 1]],
    [&[5, 7], &[0, 1]],
    [&[70, 65], &[1, 70]],
    [&[2, 3, 2, 3, 2, 3], &[1, 2, 6, 12, 36, 72]],
    [&[7, 1, 6], &[6, 99, 1]],
    [&[], &[]],
    [&[3, 0, 2], &[1, 1, 1]],
];

pub(super) fn specs() -> OpSpec {
    let mut cases: Vec<Case> = Vec::new();
    for layout in LAYOUTS {
        cases.extend(in_each_type(&format!("{layout:?}"), layout, 0, &[0.1]));
    }
    cases.extend(in_each_type("views that are not aligned", [&[1030], &[1]], 1, &[-3.0]));
    cases.extend(in_each_type("infinity, zero and NaN", [&[9], &[1]], 0, &[f32::INFINITY, -0.0, f32::NAN]));
    for n in batches() {
        let check = move |q: &_| combined::<f32>(q, [&[n as u64], &[1]], 0, &[0.1]);
        cases.push(Case::new(format!("{n} elements"), check));
    }
    cases.push(Case::new("more than six axes", refused_ranks));
    OpSpec { op: "linalg.binary_scalar", cases }
}

fn in_each_type(name: &str, layout: StridedShape, skip: usize, numbers: &'static [f32]) -> [Case; 3] {
    typed!(name, combined(layout, skip, numbers))
}

/// Every function of x and each number, on views from element `skip` on.
fn combined<T: Real>(
    q: &Conditioned,
    [shape, strides]: [&[u64]; 2],
    skip: usize,
    numbers: &[f32],
) -> Result<(), Failure> {
    let places = places(shape, strides);
    let reached = places.iter().max().map_or(0, |last| last + 1);
    let x: Vec<T> = InputSource::new(11).reals(skip + reached);
    let (dx, all) = (q.upload(&x)?, skip..skip + places.len());
    let (rank, shape, x_strides) = (shape.len() as u32, six(shape, 1), six(strides, 0));
    for (op, f) in BINARIES {
        for &value in numbers {
            let rounded = T::from_f32(value);
            let (mut y, mut same) = (q.zeros::<T>(all.end)?, q.zeros::<T>(places.len())?);
            let params = BinaryScalarParams { op, value, rank, reserved: 0, shape, x_strides };
            let from = dx.slice(skip..skip + reached)?;
            q.binary_scalar(BinaryScalar { params: &params, x: from, y: y.slice_mut(all.clone())? })?;
            let (y, b) = (q.download(&y)?, q.upload(&[rounded])?);
            let params = BinaryParams { op, rank, shape, a_strides: x_strides, b_strides: [0; 6] };
            q.binary(Binary { params: &params, a: Some(from), b: b.view(), y: same.view_mut() })?;
            let got = bits(&y[skip..]);
            Failure::unless_equal(&bits(&q.download(&same)?), &got)?;
            // The definitions leave out NaN and the order of zeros.
            if value.abs() > 0.0 {
                let result = |&at: &usize| T::from_f32(f(x[skip + at].to_f32(), rounded.to_f32()));
                Failure::unless_equal(&bits::<T>(&places.iter().map(result).list()), &got)?;
            }
        }
    }
    Ok(())
}

fn refused_ranks(q: &Conditioned) -> Result<(), Failure> {
    let (x, mut y) = (q.zeros::<f32>(1)?, q.zeros::<f32>(1)?);
    for rank in [7, 8, u32::MAX] {
        let (op, shape, x_strides) = (Arithmetic::Add, [1; 6], [1; 6]);
        let params = BinaryScalarParams { op, value: 1.0, rank, reserved: 0, shape, x_strides };
        let op = BinaryScalar { params: &params, x: x.view(), y: y.view_mut() };
        Failure::unless_refused("a number as an operand", q.binary_scalar(op))?;
    }
    Ok(())
}
