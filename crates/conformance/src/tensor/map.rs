//! Maps, choices and fills against their definitions, and forms in place against the others.

use backend_api::{
    Buffer, Queue, Real,
    ops::{
        linalg::{Activate, Binary, Dropout, ElementwiseOps},
        tensor::{CopyStrided, Fill, Map, Select, TensorOps},
    },
};
use core_types::params::{
    elementwise::{Activation, Binary as Arithmetic, BinaryParams, DropoutParams},
    optim::StepState,
    tensor::{CopyParams, Function, MapParams},
};

use super::{LENGTHS, bits, narrow, typed, wide};
use crate::{
    Case, Conditioned, Failure, OpSpec,
    linalg::model::{InputSource, rounding, six},
    list::ListIterator as _,
    spec::BATCHES,
};

pub(super) fn specs() -> Vec<OpSpec> {
    let lengths = [&LENGTHS[..], &[1031]].concat();
    let mut maps: Vec<Case> = Vec::new();
    for f in Function::ALL {
        for &n in &lengths {
            maps.push(Case::new(format!("{}, {n}", f.name()), move |q| values::<f32>(q, f, n)));
        }
    }
    for f in Function::ALL {
        maps.extend(typed!(format!("{}, over the range", f.name()), values(f, 1030)));
    }
    maps.push(Case::new("zeros, infinities and NaN", specials));
    maps.push(Case::new("bounds that are out of order", refused_bounds));
    maps.push(Case::new("the derivative of Huber's function is a clamp", huber_slopes));
    let shapes: [(&[u64], &[u64]); 6] = [
        (&[5, 7], &[7, 1]),
        (&[5, 7], &[0, 1]),
        (&[5, 7], &[1, 0]),
        (&[3, 2, 4], &[0, 4, 1]),
        (&[6], &[0]),
        (&[], &[]),
    ];
    let mut combined: Vec<Case> = Vec::new();
    for (a, b) in shapes {
        combined.extend(typed!(format!("{a:?} by {b:?}"), combined_in_place(a, b)));
    }
    for n in BATCHES {
        let check = move |q: &_| combined_in_place::<f32>(q, &[n.into(), 5], &[0, 1]);
        combined.push(Case::new(format!("a row on {n} rows"), check));
    }
    combined.push(Case::new("strides of a that are not row-major", refused_strides));
    combined.push(Case::new("more than six axes, of copies and of what is not in place too", refused_ranks));
    let (mut in_place, mut activated, mut dropped) = (Vec::new(), Vec::new(), Vec::new());
    let (mut choices, mut kept, mut fills) = (Vec::new(), Vec::new(), Vec::new());
    for &n in &lengths {
        let name = format!("{n} elements");
        in_place.extend(typed!(name, maps_in_place(n)));
        activated.extend(typed!(name, activations_in_place(n)));
        dropped.extend(typed!(name, dropout_in_place(n)));
        choices.extend(typed!(name, chosen(n)));
        kept.extend(typed!(name, chosen_in_place(n)));
        fills.extend(typed!(name, filled(n)));
    }
    vec![
        OpSpec { op: "tensor.map", cases: maps },
        OpSpec { op: "tensor.map_in_place", cases: in_place },
        OpSpec { op: "tensor.activate_in_place", cases: activated },
        OpSpec { op: "tensor.binary_in_place", cases: combined },
        OpSpec { op: "tensor.dropout_in_place", cases: dropped },
        OpSpec { op: "tensor.select", cases: choices },
        OpSpec { op: "tensor.select_in_place", cases: kept },
        OpSpec { op: "tensor.fill", cases: fills },
    ]
}

const LOW: f32 = -0.75;
const HIGH: f32 = 1.5;

fn params(f: Function) -> MapParams {
    MapParams { f, low: LOW, high: HIGH }
}

/// f(x) by its definition.
fn model(f: Function, x: f64) -> f64 {
    let (low, high) = (f64::from(LOW), f64::from(HIGH));
    match f {
        Function::Neg => -x,
        Function::Abs => x.abs(),
        Function::Exp => x.exp(),
        Function::Log => x.ln(),
        Function::Sqrt => x.sqrt(),
        Function::Rsqrt => 1.0 / x.sqrt(),
        Function::Recip => 1.0 / x,
        Function::Clamp => x.max(low).min(high),
        Function::Huber if x.abs() <= high => 0.5 * x * x,
        Function::Huber => high * (x.abs() - 0.5 * high),
    }
}

/// Inputs over 24 octaves.
///
/// They have both signs if the function has values for both, and are away from zero for quotients.
fn inputs<T: Real>(f: Function, n: usize) -> Vec<T> {
    let mut random = InputSource::new(n as u64);
    let positive = matches!(f, Function::Log | Function::Sqrt | Function::Rsqrt);
    let value = |(i, x): (usize, f32)| {
        let scale = ((i % 24) as f32 - 12.0).exp2();
        let x = if positive { x.abs() + 0.01 } else { x };
        match f {
            Function::Exp => 10.0 * x,
            Function::Recip => (x.abs() + 0.5) * scale * if i % 2 == 0 { 1.0 } else { -1.0 },
            _ => x * scale.max(0.001),
        }
    };
    random.reals::<f32>(n).into_iter().enumerate().map(value).map(T::from_f32).list()
}

fn apply<T: Real>(q: &Conditioned, f: Function, x: &[T]) -> Result<Vec<T>, Failure> {
    let (x, mut y) = (q.upload(x)?, q.zeros::<T>(x.len())?);
    q.map(Map { params: &params(f), len: x.len(), x: Some(x.view()), y: y.view_mut() })?;
    Ok(q.download(&y)?)
}

/// By central differences of the model, away from where it becomes straight.
fn huber_slopes(q: &Conditioned) -> Result<(), Failure> {
    const STEP: f64 = 1e-4;
    let x: Vec<f32> = (-20..=20).map(|i| i as f32 * 0.13).list();
    let slope = |x: f64| (model(Function::Huber, x + STEP) - model(Function::Huber, x - STEP)) / (2.0 * STEP);
    let expected: Vec<f64> = x.iter().map(|&x| slope(x.into())).list();
    let (dx, mut y) = (q.upload(&x)?, q.alloc::<f32>(x.len())?);
    let clamp = MapParams { f: Function::Clamp, low: -HIGH, high: HIGH };
    q.map(Map { params: &clamp, len: x.len(), x: Some(dx.view()), y: y.view_mut() })?;
    Failure::unless_close(&expected, &q.download(&y)?, 1e-6, 1e-6)
}

fn values<T: Real>(q: &Conditioned, f: Function, n: usize) -> Result<(), Failure> {
    let x = inputs::<T>(f, n);
    let expected: Vec<f64> = wide(&x).into_iter().map(|x| model(f, x.into())).list();
    let ulps = match f {
        Function::Neg | Function::Abs | Function::Clamp => 0.0,
        Function::Sqrt | Function::Recip => 0.5,
        _ => 2.0,
    };
    // An ulp is up to 2^-23 of a value; 16-bit results near zero are multiples of 2^-24.
    let (rtol, rounding) = (ulps * 2f64.powi(-23), rounding::<T>());
    let atol = if rounding > 0.0 && ulps > 0.0 { 2f64.powi(-24) } else { 0.0 };
    Failure::unless_close(&expected, &wide(&apply(q, f, &x)?), rtol + if ulps > 0.0 { rounding } else { 0.0 }, atol)
}

fn specials(q: &Conditioned) -> Result<(), Failure> {
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    let x = [-inf, -1.0, -0.0, 0.0, 1.0, inf, nan];
    for (f, want) in [
        (Function::Neg, [inf, 1.0, 0.0, -0.0, -1.0, -inf, nan]),
        (Function::Abs, [inf, 1.0, 0.0, 0.0, 1.0, inf, nan]),
        (Function::Log, [nan, nan, -inf, -inf, 0.0, inf, nan]),
        (Function::Sqrt, [nan, nan, -0.0, 0.0, 1.0, inf, nan]),
        (Function::Rsqrt, [nan, nan, -inf, inf, 1.0, 0.0, nan]),
        (Function::Recip, [-0.0, -1.0, -inf, inf, 1.0, 0.0, nan]),
        (Function::Clamp, [LOW, LOW, -0.0, 0.0, 1.0, HIGH, nan]),
        (Function::Huber, [inf, 0.5, 0.0, 0.0, 0.5, inf, nan]),
    ] {
        for skip in 0..7 {
            Failure::unless_equal(&bits(&want[skip..]), &bits(&apply(q, f, &x[skip..])?))?;
        }
    }
    let ends = apply(q, Function::Exp, &[-inf, -104.0, -0.0, 88.73, inf, nan])?;
    Failure::unless_equal(&bits(&[0.0, 0.0, 1.0, inf, inf, nan]), &bits(&ends))
}

fn refused_bounds(q: &Conditioned) -> Result<(), Failure> {
    let nan = f32::NAN;
    for (f, low, high) in [
        (Function::Clamp, 1.0, 0.0),
        (Function::Clamp, nan, 0.0),
        (Function::Clamp, 0.0, nan),
        (Function::Huber, 0.0, 0.0),
        (Function::Huber, 0.0, nan),
    ] {
        let (params, x, mut y) = (MapParams { f, low, high }, q.zeros::<f32>(3)?, q.zeros::<f32>(3)?);
        let outcome = q.map(Map { params: &params, len: 3, x: Some(x.view()), y: y.view_mut() });
        Failure::unless_refused(f.name(), outcome)?;
        Failure::unless_refused(f.name(), q.map(Map { params: &params, len: 3, x: None, y: y.view_mut() }))?;
    }
    Ok(())
}

fn maps_in_place<T: Real>(q: &Conditioned, n: usize) -> Result<(), Failure> {
    for f in Function::ALL {
        let x = inputs::<T>(f, n);
        let mut y = q.upload(&x)?;
        q.map(Map { params: &params(f), len: n, x: None, y: y.view_mut() })?;
        Failure::unless_equal(&bits(&apply(q, f, &x)?), &bits(&q.download(&y)?))?;
    }
    Ok(())
}

fn activations_in_place<T: Real>(q: &Conditioned, n: usize) -> Result<(), Failure> {
    let x: Vec<T> = InputSource::new(4).reals(n);
    for f in Activation::ALL {
        let (dx, mut y, mut want) = (q.upload(&x)?, q.upload(&x)?, q.zeros::<T>(n)?);
        q.activate(Activate { f, len: n, x: Some(dx.view()), y: want.view_mut() })?;
        q.activate(Activate { f, len: n, x: None, y: y.view_mut() })?;
        Failure::unless_equal(&bits(&q.download(&want)?), &bits(&q.download(&y)?))?;
    }
    Ok(())
}

/// Parameters of tensors of `shape`, b with these strides.
fn strided(op: Arithmetic, shape: &[u64], b_strides: &[u64]) -> BinaryParams {
    let a_strides: Vec<u64> = (0..shape.len()).map(|i| shape[i + 1..].iter().product()).list();
    let (rank, shape) = (shape.len() as u32, six(shape, 1));
    BinaryParams { op, rank, shape, a_strides: six(&a_strides, 0), b_strides: six(b_strides, 0) }
}

fn combined_in_place<T: Real>(q: &Conditioned, shape: &[u64], b_strides: &[u64]) -> Result<(), Failure> {
    let count = shape.iter().product::<u64>() as usize;
    let (a, b): (Vec<T>, Vec<T>) = (InputSource::new(5).reals(count), InputSource::new(6).reals(count.max(8)));
    let (da, db) = (q.upload(&a)?, q.upload(&b)?);
    for op in Arithmetic::ALL {
        let (params, mut y, mut want) = (strided(op, shape, b_strides), q.upload(&a)?, q.zeros::<T>(count)?);
        q.binary(Binary { params: &params, a: Some(da.view()), b: db.view(), y: want.view_mut() })?;
        q.binary(Binary { params: &params, a: None, b: db.view(), y: y.view_mut() })?;
        Failure::unless_equal(&bits(&q.download(&want)?), &bits(&q.download(&y)?))?;
    }
    Ok(())
}

fn refused_strides(q: &Conditioned) -> Result<(), Failure> {
    let (mut y, b) = (q.zeros::<f32>(6)?, q.zeros::<f32>(6)?);
    for a_strides in [[1, 2], [0, 1], [4, 1]] {
        let params = BinaryParams { a_strides: six(&a_strides, 0), ..strided(Arithmetic::Add, &[2, 3], &[3, 1]) };
        let outcome = q.binary(Binary { params: &params, a: None, b: b.view(), y: y.view_mut() });
        Failure::unless_refused("strides of a", outcome)?;
    }
    Ok(())
}

fn refused_ranks(q: &Conditioned) -> Result<(), Failure> {
    let (a, b, mut y) = (q.zeros::<f32>(1)?, q.zeros::<f32>(1)?, q.zeros::<f32>(1)?);
    for rank in [7, 8, u32::MAX] {
        let params = BinaryParams { rank, ..strided(Arithmetic::Add, &[], &[]) };
        for (name, a) in [("binary", Some(a.view())), ("binary in place", None)] {
            Failure::unless_refused(name, q.binary(Binary { params: &params, a, b: b.view(), y: y.view_mut() }))?;
        }
        let ones = [1; 6];
        let params = CopyParams { rank, reserved: 0, shape: ones, x_strides: ones, y_strides: ones };
        let op = CopyStrided { params: &params, x: b.view(), y: y.view_mut() };
        Failure::unless_refused("a copy", q.copy_strided(op))?;
    }
    Ok(())
}

/// Masks that begin at a counter and within one, with and without a record.
///
/// Two masks keep all elements or none.
fn dropout_in_place<T: Real>(q: &Conditioned, n: usize) -> Result<(), Failure> {
    let x: Vec<T> = InputSource::new(10).reals(n);
    let (dx, state) = (q.upload(&x)?, q.upload(&[StepState { step: 3, skipped: 2, ..StepState::new(1.0) }])?);
    for (first, threshold) in [(0, 1 << 30), (5, 1 << 31), (8, 0), (0, 1 << 32)] {
        let params = DropoutParams { seed: 7, site: 3, step: 9, first, threshold, scale: 1.5 };
        for follows in [false, true] {
            let (mut y, mut want) = (q.upload(&x)?, q.zeros::<T>(n)?);
            let record = || follows.then(|| state.view());
            let (len, x) = (n, Some(dx.view()));
            q.dropout(Dropout { params: &params, state: record(), len, x, y: want.view_mut() })?;
            q.dropout(Dropout { params: &params, state: record(), len, x: None, y: y.view_mut() })?;
            Failure::unless_equal(&bits(&q.download(&want)?), &bits(&q.download(&y)?))?;
        }
    }
    Ok(())
}

/// A mask, two operands, and the choice.
///
/// Elements that are not selected are NaN, and so are some selected ones.
fn choice<T: Real>(n: usize) -> (Vec<bool>, [Vec<T>; 3]) {
    let mut random = InputSource::new(7);
    let mask: Vec<bool> = (0..n).map(|_| random.word().is_multiple_of(3)).list();
    let pick = |keep: bool| -> Vec<T> {
        let value = |(i, &m): (usize, &bool)| if m == keep && i % 5 > 0 { i as f32 } else { f32::NAN };
        narrow(&mask.iter().enumerate().map(value).list())
    };
    let (a, b) = (pick(true), pick(false));
    let expected = (0..n).map(|i| if mask[i] { a[i] } else { b[i] }).list();
    (mask, [a, b, expected])
}

fn chosen<T: Real>(q: &Conditioned, n: usize) -> Result<(), Failure> {
    let (mask, [a, b, expected]) = choice::<T>(n);
    let (dm, da, db, mut y) = (q.upload(&mask)?, q.upload(&a)?, q.upload(&b)?, q.zeros::<T>(n)?);
    q.select(Select { mask: dm.view(), a: Some(da.view()), b: db.view(), y: y.view_mut() })?;
    Failure::unless_equal(&bits(&expected), &bits(&q.download(&y)?))
}

fn chosen_in_place<T: Real>(q: &Conditioned, n: usize) -> Result<(), Failure> {
    let (mask, [a, b, expected]) = choice::<T>(n);
    let (mask, mut y, b) = (q.upload(&mask)?, q.upload(&a)?, q.upload(&b)?);
    q.select(Select { mask: mask.view(), a: None, b: b.view(), y: y.view_mut() })?;
    Failure::unless_equal(&bits(&expected), &bits(&q.download(&y)?))
}

fn filled<T: Real>(q: &Conditioned, n: usize) -> Result<(), Failure> {
    for value in [0.1, -0.0, f32::INFINITY] {
        let mut y = q.zeros::<T>(n)?;
        q.fill(Fill { value, len: n, y: y.view_mut() })?;
        Failure::unless_equal(&bits(&vec![T::from_f32(value); n]), &bits(&q.download(&y)?))?;
    }
    Ok(())
}
