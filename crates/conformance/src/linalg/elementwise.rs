//! Elementwise ops and reductions, each checked against its formula.
//!
//! These are activations, broadcasting maps, sums over an axis and dropout.

use backend_api::{
    Buffer, Queue, Real,
    ops::linalg::{self, Activate, ActivateBackward, ElementwiseOps},
};
use core_types::params::{
    elementwise::{BinaryParams, DropoutParams},
    optim::StepState,
};
use half::{bf16, f16};
use nn_ops::{
    Activation, Binary, Dropout, Layout, Tensor, TensorMut, TensorRef, activate, activate_backward, axpby, binary,
    sum_axis,
};

use super::{
    batches,
    model::{InputSource, activation, bits, narrow, rounding, wide},
    typed,
};
use crate::{Case, Conditioned, Failure, OpSpec, list::ListIterator as _};

/// Lengths around vectors, blocks and the parallel grain.
const LENGTHS: [usize; 12] = [0, 1, 7, 8, 31, 32, 33, 255, 256, 257, 513, 70_001];

pub(super) fn specs() -> Vec<OpSpec> {
    let mut forward = Vec::new();
    let mut backward = Vec::new();
    for f in Activation::ALL {
        for n in LENGTHS {
            forward.push(Case::new(format!("{}, {n}", f.name()), move |q| values(q, f, n)));
        }
        forward.push(Case::new(format!("{}, 16 bits", f.name()), move |q| {
            half_values::<f16>(q, f)?;
            half_values::<bf16>(q, f)
        }));
        for n in batches() {
            let name = format!("{} against central differences, {n}", f.name());
            backward.push(Case::new(name, move |q| slopes::<f32>(q, f, n)));
        }
        let name = format!("{} against central differences, 1031", f.name());
        backward.extend(typed!(name, slopes(f, 1031)));
    }
    forward.extend(typed!("views that are not aligned", unaligned()));
    forward.push(Case::new("NaN stays NaN and ends are exact", specials));
    backward.push(Case::new("NaN stays NaN", lost_slopes));
    backward.extend(typed!("ReLU passes an infinite gradient on or stops it", infinite_gradients()));
    let mut binaries: Vec<Case> = Vec::new();
    for [a, b, y] in BROADCASTS {
        binaries.extend(typed!(format!("{a:?} and {b:?}"), broadcast(a, b, y)));
    }
    for n in batches() {
        let check = move |q: &_| broadcast::<f32>(q, &[n, 5], &[5], &[n, 5]);
        binaries.push(Case::new(format!("a row on {n} rows"), check));
    }
    binaries.push(Case::new("a row on 33 rows of 2001", |q| broadcast::<f32>(q, &[33, 2001], &[2001], &[33, 2001])));
    binaries.extend(typed!("columns, and rows with gaps", strided()));
    binaries.push(Case::new("zeros of both signs, infinities and NaN", special_pairs));
    let mut combined: Vec<Case> = Vec::new();
    for n in batches().into_iter().chain([1030]) {
        combined.extend(typed!(format!("{n} elements"), combine(n)));
    }
    combined.extend(typed!("does not read with beta = 0", overwrite()));
    vec![
        OpSpec { op: "linalg.activate", cases: forward },
        OpSpec { op: "linalg.activate_backward", cases: backward },
        OpSpec { op: "linalg.binary", cases: binaries },
        OpSpec { op: "linalg.axpby", cases: combined },
        OpSpec { op: "linalg.sum_axis", cases: sums() },
        OpSpec { op: "linalg.dropout", cases: dropouts() },
    ]
}

fn dropouts() -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for first in [5, 8] {
        cases.extend(typed!(format!("from element {first} on"), dropout_from(first)));
    }
    let sizes = [(0.0, 100), (0.1, 70_001), (1.0, 33)];
    for (p, n) in sizes.into_iter().chain(batches().map(|n| (0.5, n))) {
        cases.extend(typed!(format!("p = {p}, {n} elements"), dropout(p, n)));
    }
    cases
}

fn apply<T: Real>(q: &Conditioned, f: Activation, x: &[T]) -> Result<Vec<T>, Failure> {
    let (x, mut y) = (Tensor::from_values(q, &[x.len()], x)?, Tensor::alloc(q, &[x.len()])?);
    activate(q, f, x.at(), y.at_mut())?;
    Ok(y.values(q)?)
}

/// Inputs over twelve octaves of both signs, zero included.
fn spread(n: usize) -> Vec<f32> {
    let mut random = InputSource::new(n as u64);
    random.reals::<f32>(n).into_iter().enumerate().map(|(i, x)| x * (1 << (i % 7)) as f32).list()
}

fn values(q: &Conditioned, f: Activation, n: usize) -> Result<(), Failure> {
    let x = spread(n);
    let expected: Vec<f64> = x.iter().map(|&x| activation(f, f64::from(x))).list();
    Failure::unless_close(&expected, &apply(q, f, &x)?, 2e-6, 1e-7)
}

fn half_values<T: Real>(q: &Conditioned, f: Activation) -> Result<(), Failure> {
    let x: Vec<T> = narrow(&spread(1031));
    let expected: Vec<f64> = wide(&x).into_iter().map(|x| activation(f, f64::from(x))).list();
    Failure::unless_close(&expected, &wide(&apply(q, f, &x)?), rounding::<T>() + 2e-6, 1e-6)
}

/// Views that begin at the fourth element: no access takes several elements of them.
fn unaligned<T: Real>(q: &Conditioned) -> Result<(), Failure> {
    const LEAD: usize = 3;
    let x: Vec<T> = narrow(&spread(1031));
    let dx = q.upload(&x)?;
    for f in Activation::ALL {
        let mut y = q.zeros::<T>(x.len())?;
        q.activate(Activate {
            f,
            len: x.len() - LEAD,
            x: Some(dx.slice(LEAD..x.len())?),
            y: y.slice_mut(LEAD..x.len())?,
        })?;
        let expected: Vec<f64> = wide(&x[LEAD..]).into_iter().map(|x| activation(f, f64::from(x))).list();
        Failure::unless_close(&expected, &wide(&q.download(&y)?[LEAD..]), rounding::<T>() + 2e-6, 1e-6)?;
    }
    Ok(())
}

fn specials(q: &Conditioned) -> Result<(), Failure> {
    for f in Activation::ALL {
        let y = apply(q, f, &[f32::NAN; 19])?;
        if !y.iter().all(|y| y.is_nan()) {
            return Err(Failure::Broken(format!("{} loses NaN", f.name())));
        }
    }
    let ends = [f32::NEG_INFINITY, -200.0, 0.0, 200.0, f32::INFINITY];
    let inf = f32::INFINITY;
    Failure::unless_equal(&[0.0, 0.0, 0.0, 200.0, inf], &apply(q, Activation::Relu, &ends)?)?;
    Failure::unless_equal(&[0.0, 0.0, 0.5, 1.0, 1.0], &apply(q, Activation::Sigmoid, &ends)?)?;
    Failure::unless_equal(&[-1.0, -1.0, 0.0, 1.0, 1.0], &apply(q, Activation::Tanh, &ends)?)
}

/// Computes the gradient of x from `g`, the gradient of f(x), and the saved tensor.
fn gradients<T: Real>(q: &Conditioned, f: Activation, saved: &[T], g: &[T]) -> Result<Vec<f32>, Failure> {
    let (saved, g, mut dx) = (q.upload(saved)?, q.upload(g)?, q.zeros::<T>(g.len())?);
    q.activate_backward(ActivateBackward { f, saved: saved.view(), g: g.view(), dx: dx.view_mut() })?;
    Ok(wide(&q.download(&dx)?))
}

fn lost_slopes(q: &Conditioned) -> Result<(), Failure> {
    for f in Activation::ALL.into_iter().filter(|&f| f != Activation::Identity) {
        let dx = gradients(q, f, &[f32::NAN; 19], &[1.5; 19])?;
        if !dx.iter().all(|dx| dx.is_nan()) {
            return Err(Failure::Broken(format!("{} loses NaN: {dx:?}", f.name())));
        }
    }
    Ok(())
}

fn infinite_gradients<T: Real>(q: &Conditioned) -> Result<(), Failure> {
    let inf = f32::INFINITY;
    let saved: Vec<T> = narrow(&[-inf, -1.0, -0.0, 0.0, 1.0, inf].repeat(7));
    for g in [inf, -inf, 2.0] {
        let dx = gradients(q, Activation::Relu, &saved, &narrow(&[g; 42]))?;
        Failure::unless_equal(&[0.0, 0.0, 0.0, 0.0, g, g].repeat(7), &dx)?;
    }
    let dx = gradients(q, Activation::Relu, &saved, &narrow(&[f32::NAN; 42]))?;
    let stopped = |i: usize| i % 6 < 4;
    match (0..42).all(|i| if stopped(i) { dx[i] == 0.0 } else { dx[i].is_nan() }) {
        true => Ok(()),
        false => Err(Failure::Broken(format!("got {dx:?}"))),
    }
}

fn slopes<T: Real>(q: &Conditioned, f: Activation, n: usize) -> Result<(), Failure> {
    const H: f64 = 1e-5;
    // Away from the kink of ReLU.
    let x: Vec<f32> = spread(n).into_iter().map(|x| if x.abs() < 1e-3 { 0.5 } else { x }).list();
    let x: Vec<T> = narrow(&x);
    let g = InputSource::new(3).reals::<T>(n);
    let saved: Vec<T> = if f.saves_output() { apply(q, f, &x)? } else { x.clone() };
    let (saved, dg) = (Tensor::from_values(q, &[n], &saved)?, Tensor::from_values(q, &[n], &g)?);
    let mut dx = Tensor::alloc(q, &[n])?;
    activate_backward(q, f, saved.at(), dg.at(), dx.at_mut())?;
    let expected: Vec<f64> = x
        .iter()
        .zip(&g)
        .map(|(x, g)| {
            let (x, g) = (f64::from(x.to_f32()), f64::from(g.to_f32()));
            g * (activation(f, x + H) - activation(f, x - H)) / (2.0 * H)
        })
        .list();
    // A saved output is rounded, and so is the result.
    let rounding = 4.0 * rounding::<T>();
    Failure::unless_close(&expected, &wide(&dx.values(q)?), 1e-5 + rounding, 1e-6 + rounding)
}

/// Shapes of a, b and y: equal ones, and broadcasting in every direction.
const BROADCASTS: [[&[usize]; 3]; 8] = [
    [&[5, 7], &[5, 7], &[5, 7]],
    [&[7], &[5, 7], &[5, 7]],
    [&[5, 1], &[7], &[5, 7]],
    [&[3, 1, 4], &[2, 1], &[3, 2, 4]],
    [&[], &[6], &[6]],
    [&[], &[], &[]],
    [&[3, 700], &[700], &[3, 700]],
    [&[5, 1], &[5, 700], &[5, 700]],
];

/// A function of two numbers and its definition.
type Definition = (Binary, fn(f32, f32) -> f32);

/// Every function of two numbers.
pub(super) const BINARIES: [Definition; 6] = [
    (Binary::Add, |a, b| a + b),
    (Binary::Sub, |a, b| a - b),
    (Binary::Mul, |a, b| a * b),
    (Binary::Div, |a, b| a / b),
    (Binary::Max, |a, b| if a >= b { a } else { b }),
    (Binary::Min, |a, b| if a <= b { a } else { b }),
];

/// Zeros of both signs, infinities and NaN against each other.
fn special_pairs(q: &Conditioned) -> Result<(), Failure> {
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    let ends = [-inf, -1.0, -0.0, 0.0, 1.0, inf, nan];
    let a: Vec<f32> = ends.iter().flat_map(|&a| [a; 7]).list();
    let (da, db) = (q.upload(&a)?, q.upload(&ends)?);
    for (op, f) in BINARIES {
        let mut y = q.zeros::<f32>(49)?;
        let mut run = || {
            let (a, b) = (TensorRef::contiguous(da.view(), &[7, 7])?, TensorRef::contiguous(db.view(), &[7])?);
            binary(q, op, a, b, TensorMut::contiguous(y.view_mut(), &[7, 7])?)
        };
        run()?;
        // With NaN an extreme is NaN; otherwise it is one of the ends, which are sorted.
        let at = |i: usize| match op {
            Binary::Max | Binary::Min if i / 7 == 6 || i % 7 == 6 => nan,
            Binary::Max => ends[(i / 7).max(i % 7)],
            Binary::Min => ends[(i / 7).min(i % 7)],
            _ => f(ends[i / 7], ends[i % 7]),
        };
        Failure::unless_equal(&bits::<f32>(&(0..49).map(at).list()), &bits(&q.download(&y)?))?;
    }
    Ok(())
}

fn broadcast<T: Real>(q: &Conditioned, a_shape: &[usize], b_shape: &[usize], y_shape: &[usize]) -> Result<(), Failure> {
    let layout = |shape: &[usize]| Layout::contiguous(shape).map_err(Failure::from);
    let (la, lb, ly) = (layout(a_shape)?, layout(b_shape)?, layout(y_shape)?);
    let mut random = InputSource::new(5);
    let (a, b) = (random.reals::<T>(la.numel()), random.reals::<T>(lb.numel()));
    let (da, db) = (q.upload(&a)?, q.upload(&b)?);
    let (wa, wb) = (la.broadcast(y_shape)?, lb.broadcast(y_shape)?);
    for (op, f) in BINARIES {
        let mut y = q.zeros::<T>(ly.numel())?;
        let mut run = || {
            let (a, b) = (TensorRef::new(da.view(), la)?, TensorRef::new(db.view(), lb)?);
            binary(q, op, a, b, TensorMut::new(y.view_mut(), ly)?)
        };
        run()?;
        let at = |l: &Layout, mut flat: usize| {
            let mut at = 0;
            for (len, stride) in y_shape.iter().zip(l.strides()).rev() {
                at += flat % len * stride;
                flat /= len;
            }
            at
        };
        let result = |i| f(a[at(&wa, i)].to_f32(), b[at(&wb, i)].to_f32());
        let expected: Vec<T> = (0..ly.numel()).map(|i| T::from_f32(result(i))).list();
        Failure::unless_equal(&wide(&expected), &wide(&q.download(&y)?))?;
    }
    Ok(())
}

/// Strides that no broadcast makes.
///
/// A tensor of 3 x 5 x 7 lies column by column, the other in rows of 12 elements.
fn strided<T: Real>(q: &Conditioned) -> Result<(), Failure> {
    let mut random = InputSource::new(8);
    let (a, b) = (random.reals::<T>(105), random.reals::<T>(175));
    let (da, db) = (q.upload(&a)?, q.upload(&b)?);
    for (op, f) in BINARIES {
        let (a_strides, b_strides) = ([1, 3, 15, 0, 0, 0], [60, 12, 1, 0, 0, 0]);
        let params = BinaryParams { op, rank: 3, shape: [3, 5, 7, 1, 1, 1], a_strides, b_strides };
        let mut y = q.zeros::<T>(105)?;
        q.binary(linalg::Binary { params: &params, a: Some(da.view()), b: db.view(), y: y.view_mut() })?;
        let at = |i: usize, strides: [usize; 3]| i / 35 * strides[0] + i / 7 % 5 * strides[1] + i % 7 * strides[2];
        let result = |i| f(a[at(i, [1, 3, 15])].to_f32(), b[at(i, [60, 12, 1])].to_f32());
        let expected: Vec<T> = (0..105).map(|i| T::from_f32(result(i))).list();
        Failure::unless_equal(&wide(&expected), &wide(&q.download(&y)?))?;
    }
    Ok(())
}

/// alpha x + beta y with alpha = 2.
fn doubled<T: Real>(q: &Conditioned, x: &[T], beta: f32, y: &[T]) -> Result<Vec<f32>, Failure> {
    let (x, mut y) = (Tensor::from_values(q, &[x.len()], x)?, Tensor::from_values(q, &[y.len()], y)?);
    axpby(q, 2.0, x.at(), beta, y.at_mut())?;
    Ok(wide(&y.values(q)?))
}

fn combine<T: Real>(q: &Conditioned, n: usize) -> Result<(), Failure> {
    let (x, y) = (InputSource::new(6).reals::<T>(n), InputSource::new(7).reals::<T>(n));
    let sum = |(x, y): (f32, f32)| 2.0 * f64::from(x) - 3.0 * f64::from(y);
    let expected: Vec<f64> = wide(&x).into_iter().zip(wide(&y)).map(sum).list();
    Failure::unless_close(&expected, &doubled(q, &x, -3.0, &y)?, 1e-6 + rounding::<T>(), 1e-6)
}

/// A y of NaN, element by element and several at once.
fn overwrite<T: Real>(q: &Conditioned) -> Result<(), Failure> {
    for n in [3, 1030] {
        let x = InputSource::new(9).reals::<T>(n);
        let expected: Vec<f32> = wide(&x).into_iter().map(|x| 2.0 * x).list();
        Failure::unless_equal(&expected, &doubled(q, &x, 0.0, &vec![T::from_f32(f32::NAN); n])?)?;
    }
    Ok(())
}

fn sums() -> Vec<Case> {
    let shapes = [
        (1, 1, 1),
        (1, 0, 5),
        (3, 1000, 1),
        (1, 1797, 64),
        (1, 5, 300),
        (2, 9, 1100),
        (4, 0, 1),
        (1, 40_001, 1),
        (2, 70_001, 1),
    ];
    let batches = batches();
    let mut cases: Vec<Case> = Vec::new();
    for shape in shapes.into_iter().chain(batches.map(|n| (1, n, 3))).chain(batches.map(|n| (n, 3, 1))) {
        cases.push(Case::new(format!("{shape:?}"), move |q| sum::<f32>(q, shape)));
    }
    let rows = [5, 37, 69, 100, 101, 1100, 1101].map(|len| (2, len, 1));
    for shape in rows.into_iter().chain([(1, 600, 33), (2, 33, 7), (1, 40_000, 1)]) {
        cases.extend(typed!(format!("{shape:?}, typed"), sum(shape)));
    }
    cases
}

/// Sums that overwrite y, and sums that are added to it.
fn sum<T: Real>(q: &Conditioned, (outer, len, inner): (usize, usize, usize)) -> Result<(), Failure> {
    let x = InputSource::new(len as u64).reals::<T>(outer * len * inner);
    let start = InputSource::new(1).reals::<T>(outer * inner);
    let dx = Tensor::from_values(q, &[outer, len, inner], &x)?;
    for accumulate in [false, true] {
        let mut dy = Tensor::from_values(q, &[outer, inner], &start)?;
        sum_axis(q, dx.at(), 1, accumulate, dy.at_mut())?;
        let expected: Vec<f64> = (0..outer * inner)
            .map(|i| {
                let (o, j) = (i / inner, i % inner);
                let sum: f64 = (0..len).map(|l| f64::from(x[(o * len + l) * inner + j].to_f32())).sum();
                if accumulate { sum + f64::from(start[i].to_f32()) } else { sum }
            })
            .list();
        Failure::unless_close(&expected, &wide(&dy.values(q)?), 2f64.powi(-23) + rounding::<T>(), 0.0)?;
    }
    Ok(())
}

fn dropout<T: Real>(q: &Conditioned, p: f64, n: usize) -> Result<(), Failure> {
    let (seed, site, step) = (0x0123_4567_89ab_cdef, 3, 9);
    let x: Vec<T> = InputSource::new(2).reals(n);
    let dx = q.upload(&x)?;
    let mut dy = q.zeros::<T>(n)?;
    let (x_at, y_at) = (TensorRef::contiguous(dx.view(), &[n])?, TensorMut::contiguous(dy.view_mut(), &[n])?);
    Dropout::new(p, seed)?.apply(q, site, step, x_at, y_at)?;
    Failure::unless_equal(&dropped(p, [seed, site.into(), step.into(), 0], &x), &wide(&q.download(&dy)?))?;
    // by the record of an optimizer, whose numbers pass the ends of words
    for (taken, left) in [(0, 0), (3, 2), (u64::from(u32::MAX), 1 << 32)] {
        let state = q.upload(&[StepState { step: taken, skipped: left, ..StepState::new(1.0) }])?;
        let params =
            DropoutParams { seed, site, step, first: 0, threshold: (p * 2f64.powi(32)) as u64, scale: scale_of(p) };
        let (len, x_view, y) = (x.len(), Some(dx.view()), dy.view_mut());
        q.dropout(linalg::Dropout { params: &params, state: Some(state.view()), len, x: x_view, y })?;
        let later = (u64::from(step) + taken + left) % (1 << 32);
        Failure::unless_equal(&dropped(p, [seed, site.into(), later, 0], &x), &wide(&q.download(&dy)?))?;
    }
    Ok(())
}

/// Dropout of elements that a mask counts from `first` on.
fn dropout_from<T: Real>(q: &Conditioned, first: u64) -> Result<(), Failure> {
    const P: f64 = 0.25;
    let params = DropoutParams { seed: 5, site: 3, step: 9, first, threshold: 1 << 30, scale: scale_of(P) };
    let x: Vec<T> = InputSource::new(2).reals(1030);
    let (dx, mut dy) = (q.upload(&x)?, q.zeros::<T>(x.len())?);
    q.dropout(linalg::Dropout { params: &params, state: None, len: x.len(), x: Some(dx.view()), y: dy.view_mut() })?;
    Failure::unless_equal(&dropped(P, [5, 3, 9, first], &x), &wide(&q.download(&dy)?))
}

/// What kept elements are multiplied by.
fn scale_of(p: f64) -> f32 {
    if p == 1.0 { 0.0 } else { (1.0 / (1.0 - p)) as f32 }
}

/// x after dropout by the mask of a seed, a site and a step, from element `first` on.
fn dropped<T: Real>(p: f64, [seed, site, step, first]: [u64; 4], x: &[T]) -> Vec<f32> {
    let threshold = (p * 2f64.powi(32)).floor() as u64;
    let word = |i: usize| {
        let at = first + i as u64;
        core_types::philox::block(seed, site as u32, step as u32, at / 4)[at as usize % 4]
    };
    let kept = |(i, x): (usize, &T)| if u64::from(word(i)) >= threshold { x.to_f32() * scale_of(p) } else { 0.0 };
    wide(&x.iter().enumerate().map(kept).map(T::from_f32).list())
}
