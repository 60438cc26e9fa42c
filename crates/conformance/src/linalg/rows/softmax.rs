//! Softmax and log-softmax with masks and gradients.
//!
//! They run on rows with special values and on very many equal terms.

use backend_api::{Buffer, DType, Queue, Real};
use half::{bf16, f16};
use nn_ops::{Mask, SoftmaxPlan, TensorMut, TensorRef};

use super::{HELD_LENGTHS, LENGTHS, TYPED_LENGTHS, batches, download, model, unless_near, upload, values, wide};
use crate::{Case, Conditioned, Failure, OpSpec, linalg::model::greatest, list::ListIterator as _, spec::typed};

/// Softmax or its logarithm, with its model.
#[derive(Clone, Copy)]
struct SoftmaxOp {
    log: bool,
    model: fn(&[f64]) -> Vec<f64>,
}

const OPS: [SoftmaxOp; 2] =
    [SoftmaxOp { log: false, model: model::softmax }, SoftmaxOp { log: true, model: model::log_softmax }];

pub(super) fn specs() -> Vec<OpSpec> {
    let [softmax, log_softmax] = OPS;
    vec![
        OpSpec { op: "linalg.softmax", cases: forward(softmax) },
        OpSpec { op: "linalg.log_softmax", cases: forward(log_softmax) },
        OpSpec { op: "linalg.softmax_backward", cases: backward(softmax) },
        OpSpec { op: "linalg.log_softmax_backward", cases: backward(log_softmax) },
        OpSpec { op: "linalg.softmax_in_place", cases: in_place(softmax) },
        OpSpec { op: "linalg.log_softmax_in_place", cases: in_place(log_softmax) },
    ]
}

impl SoftmaxOp {
    /// The model over the middle axis of `outer x len x inner` elements.
    fn model_along(self, x: &[f32], len: usize, inner: usize) -> Vec<f64> {
        model::along(&wide(x), len, inner, &mut |x| (self.model)(x))
    }

    /// The op on host values; inputs and outputs pass through `T`.
    fn run<T: Real>(
        self,
        q: &Conditioned,
        shape: &[usize],
        axis: usize,
        x: &[f32],
        mask: Mask<'_, Conditioned>,
    ) -> Result<Vec<f32>, Failure> {
        let plan = SoftmaxPlan::new(shape, axis)?;
        let (x, mut y) = (upload::<T>(q, x)?, q.zeros::<T>(x.len())?);
        let (x, into) = (TensorRef::contiguous(x.view(), shape)?, TensorMut::contiguous(y.view_mut(), shape)?);
        match self.log {
            false => plan.softmax(q, x, mask, into),
            true => plan.log_softmax(q, x, mask, into),
        }?;
        download::<T>(q, &y)
    }

    fn run_backward<T: Real>(
        self,
        q: &Conditioned,
        shape: &[usize],
        axis: usize,
        y: &[f32],
        g: &[f32],
    ) -> Result<Vec<f32>, Failure> {
        let plan = SoftmaxPlan::new(shape, axis)?;
        let (y, g, mut dx) = (upload::<T>(q, y)?, upload::<T>(q, g)?, q.zeros::<T>(y.len())?);
        let (y, g) = (TensorRef::contiguous(y.view(), shape)?, TensorRef::contiguous(g.view(), shape)?);
        let into = TensorMut::contiguous(dx.view_mut(), shape)?;
        match self.log {
            false => plan.softmax_backward(q, y, g, into),
            true => plan.log_softmax_backward(q, y, g, into),
        }?;
        download::<T>(q, &dx)
    }
}

/// Shapes with a softmax axis in every place.
const SHAPES: [(&[usize], usize); 8] = [
    (&[5], 0),
    (&[9, 4], 0),
    (&[40, 130], 0),
    (&[3, 5, 7], 1),
    (&[2, 17, 64], 1),
    (&[70, 3, 2], 1),
    (&[2, 3, 33], 2),
    (&[6, 2, 2, 3], 0),
];

/// Shapes with sums long enough to expose a single chain of additions, up to 2^16 elements.
const LONG: [(&[usize], usize); 4] = [(&[21_845, 3], 0), (&[936, 70], 0), (&[1, 65_536], 1), (&[1, 65_535], 1)];

/// Shapes that are compared with the model in every element type.
///
/// They are columns, rows of typical lengths, and rows that a GPU's warp holds.
fn typed_shapes() -> impl Iterator<Item = ([usize; 2], usize)> {
    let lengths = TYPED_LENGTHS.into_iter().chain(HELD_LENGTHS);
    [([20, 70], 0), ([5, 40], 0)].into_iter().chain(lengths.map(|n| ([3, n], 1)))
}

fn axis_lengths(shape: &[usize], axis: usize) -> (usize, usize) {
    (shape[axis], shape[axis + 1..].iter().product())
}

fn forward(op: SoftmaxOp) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for n in LENGTHS {
        cases.push(rows_case(op, 3, n));
    }
    for rows in batches() {
        cases.push(rows_case(op, rows, 17));
    }
    for (shape, axis) in SHAPES {
        cases.push(shape_case(op, shape, axis));
    }
    cases.push(rows_case(op, 1, 65_536).on_elements(65_536));
    for (shape, axis) in LONG {
        cases.push(repeated_case(op, shape, axis).on_elements(65_536));
    }
    cases.push(Case::new("large offsets and dominated rows", move |q| {
        let x = [1e4f32, 1e4 + 1.0, 1e4 - 2.0, 0.0, 30.0, 0.5, -1e38, 1e38, 0.0, 1.0, 1.0, -80.0];
        let want = op.model_along(&x, 3, 1);
        Failure::unless_close(&want, &op.run::<f32>(q, &[4, 3], 1, &x, Mask::None)?, 5e-6, 1e-9)
    }));
    cases.push(Case::new("NaN, +inf and rows of -inf give NaN", move |q| {
        let (nan, inf) = (f32::NAN, f32::INFINITY);
        let x = [1.0, nan, 2.0, 1.0, inf, 2.0, -inf, -inf, -inf, -inf, nan, -inf, 0.0, -inf, 0.0];
        for (shape, axis) in [([5, 3], 1), ([1, 15], 1)] {
            let y = op.run::<f32>(q, &shape, axis, &x, Mask::None)?;
            let bad = shape[1].min(12);
            if !y[..bad].iter().all(|y| y.is_nan()) || (shape[0] == 5 && y[12..].iter().any(|y| y.is_nan())) {
                return Err(Failure::Broken(format!("got {y:?}")));
            }
        }
        Ok(())
    }));
    cases.push(Case::new("special values in rows of every kind", move |q| special_rows(q, op)));
    cases.extend(typed!("a row that begins with parts of -inf", empty_parts(op)));
    if op.log {
        cases.extend(typed!("finite elements have finite logarithms", finite(op)));
    }
    cases.push(masked_case::<f32>(op, "keep mask, last axis", [&[6, 5, 17]; 2], 2));
    cases.push(masked_case::<f32>(op, "keep mask, last axis, aligned", [&[6, 5, 20]; 2], 2));
    cases.push(masked_case::<f32>(op, "keep mask, last axis, long", [&[2, 1, 1101]; 2], 2));
    cases.push(masked_case::<f32>(op, "keep mask, first axis", [&[9, 5, 3]; 2], 0));
    cases.push(masked_case::<f32>(op, "keep mask that repeats, last axis", [&[2, 3, 16], &[3, 16]], 2));
    cases.push(masked_case::<f32>(op, "keep mask that repeats, long", [&[2, 2, 1028], &[2, 1028]], 2));
    cases.push(masked_case::<f32>(op, "keep mask that repeats, middle axis", [&[2, 2, 5, 7], &[2, 5, 7]], 2));
    cases.push(Case::new("a mask of -1e9 leaves out as -inf does", move |q| {
        let (x, shape) = (values(5, 4 * 33), [4, 33]);
        let masked = |low: f32| (0..33).map(|i| if i % 3 == 1 { low } else { 0.0 }).list();
        let mut results = Vec::new();
        for low in [-1e9, f32::NEG_INFINITY] {
            let addend = q.upload(&masked(low))?;
            let mask = Mask::Additive(TensorRef::contiguous(addend.view(), &[33])?);
            let y = op.run::<f32>(q, &shape, 1, &x, mask)?;
            results.push(y.into_iter().filter(|&y| y.is_finite() && y > -1e8).list());
        }
        let kept: Vec<f32> = results.swap_remove(1);
        let near: Vec<f32> = results.swap_remove(0).into_iter().take(kept.len()).list();
        Failure::unless_close(&wide(&kept), &near, 1e-7, 0.0)
    }));
    cases.extend(typed!("shapes of every kind", shapes(op)));
    for (shape, axis) in [(&[3, 2, 20], 2), (&[2, 1, 1101], 2), (&[9, 5, 3], 0)] {
        let name = format!("keep mask, axis {axis} of {shape:?}");
        cases.push(masked_case::<f16>(op, &format!("f16, {name}"), [shape; 2], axis));
        cases.push(masked_case::<bf16>(op, &format!("bf16, {name}"), [shape; 2], axis));
    }
    for (shape, axis) in [(&[3, 4, 6], 2), (&[2, 3, 16], 2), (&[5, 7, 2], 1), (&[1, 3, 1100], 2)] {
        cases.push(causal_case::<f32>(op, "", shape, axis));
        cases.push(causal_case::<f16>(op, "f16, ", shape, axis));
        cases.push(causal_case::<bf16>(op, "bf16, ", shape, axis));
    }
    cases
}

fn rows_case(op: SoftmaxOp, rows: usize, n: usize) -> Case {
    Case::new(format!("{rows} rows of {n}"), move |q| {
        let x = values(n as u64, rows * n);
        let y = op.run::<f32>(q, &[rows, n], 1, &x, Mask::None)?;
        Failure::unless_close(&op.model_along(&x, n, 1), &y, 5e-6, 1e-9)?;
        let sum = |row: &[f32]| row.iter().map(|&y| f64::from(y)).sum::<f64>();
        match y.chunks(n).map(sum).find(|sum| !op.log && (sum - 1.0).abs() > 1e-6) {
            Some(sum) => Err(Failure::Broken(format!("a row sums to {sum}"))),
            None => Ok(()),
        }
    })
}

fn shape_case(op: SoftmaxOp, shape: &'static [usize], axis: usize) -> Case {
    Case::new(format!("axis {axis} of {shape:?}"), move |q| {
        let (len, inner) = axis_lengths(shape, axis);
        let x = values(axis as u64, shape.iter().product());
        let y = op.run::<f32>(q, shape, axis, &x, Mask::None)?;
        Failure::unless_close(&op.model_along(&x, len, inner), &y, 5e-6, 1e-9)
    })
}

/// A case in which rounding errors of equal terms add up.
///
/// The first element along the axis is 0 and all others are -1.
fn repeated_case(op: SoftmaxOp, shape: &'static [usize], axis: usize) -> Case {
    Case::new(format!("equal terms along axis {axis} of {shape:?}"), move |q| {
        let (len, inner) = axis_lengths(shape, axis);
        let at = |i: usize| if (i / inner).is_multiple_of(len) { 0.0 } else { -1.0 };
        let x: Vec<f32> = (0..shape.iter().product()).map(at).list();
        let y = op.run::<f32>(q, shape, axis, &x, Mask::None)?;
        Failure::unless_close(&op.model_along(&x, len, inner), &y, 5e-6, 0.0)
    })
}

/// Equal gradients g for elements that each count fully: dx is g less n times g.
fn repeated_gradient_case(op: SoftmaxOp, shape: &'static [usize], axis: usize) -> Case {
    Case::new(format!("equal terms along axis {axis} of {shape:?}"), move |q| {
        let (len, _) = axis_lengths(shape, axis);
        let count: usize = shape.iter().product();
        let (y, g) = (if op.log { 0.0 } else { 1.0 }, 0.3f32);
        let dx = op.run_backward::<f32>(q, shape, axis, &vec![y; count], &vec![g; count])?;
        let want = f64::from(g) - len as f64 * f64::from(g);
        Failure::unless_close(&vec![want; count], &dx, 5e-6, 0.0)
    })
}

/// The relative error of a result in `T`.
fn rtol<T: Real>() -> f64 {
    match T::DTYPE {
        DType::F16 => 1.0 / 1024.0,
        DType::Bf16 => 1.0 / 128.0,
        _ => 5e-6,
    }
}

fn shapes<T: Real>(q: &Conditioned, op: SoftmaxOp) -> Result<(), Failure> {
    for (shape, axis) in typed_shapes() {
        let (len, inner) = axis_lengths(&shape, axis);
        let x = values(3, shape.iter().product());
        let y = op.run::<T>(q, &shape, axis, &x, Mask::None)?;
        Failure::unless_close(&op.model_along(&x, len, inner), &y, rtol::<T>(), 1e-7)?;
    }
    Ok(())
}

/// Runs a row that is summed in parts; the first part contains only -inf.
fn empty_parts<T: Real>(q: &Conditioned, op: SoftmaxOp) -> Result<(), Failure> {
    const LEN: usize = 16_600;
    let mut x = values(14, LEN);
    x[..16_400].fill(f32::NEG_INFINITY);
    let want = op.model_along(&x, LEN, 1);
    Failure::unless_close(&want, &op.run::<T>(q, &[1, LEN], 1, &x, Mask::None)?, rtol::<T>(), 1e-7)
}

/// Runs rows without a result, and rows in which one element dominates.
///
/// A GPU's warp holds the shortest rows and streams the next, and a block takes the longest.
fn special_rows(q: &Conditioned, op: SoftmaxOp) -> Result<(), Failure> {
    let (nan, inf) = (f32::NAN, f32::INFINITY);
    for len in [4, 6, 1028] {
        let row = |head: [f32; 3], rest: f32| [&head[..], &vec![rest; len - 3]].concat();
        let lost = [row([1.0, nan, 2.0], 0.0), row([1.0, inf, 2.0], 0.0), row([-inf; 3], -inf)].concat();
        let [low, wide_apart] = [row([0.0, 30.0, 0.5], -inf), row([-1e38, 1e38, 0.0], -80.0)];
        let dominated = [low, wide_apart, row([1e4, 10_001.0, 9998.0], -inf)].concat();
        let y = op.run::<f32>(q, &[6, len], 1, &[&lost[..], &dominated].concat(), Mask::None)?;
        if !y[..3 * len].iter().all(|y| y.is_nan()) {
            return Err(Failure::Broken(format!("rows of {len}: got {:?}", &y[..3 * len])));
        }
        let want = op.model_along(&dominated, len, 1);
        Failure::unless_close(&want, &y[3 * len..], 5e-6, 1e-9)?;
    }
    Ok(())
}

/// Runs rows with the greatest and the least number of the type, and an element of -inf.
///
/// The least number has the least finite logarithm, and its gradient passes through; the gradient
/// of -inf is 0.
fn finite<T: Real>(q: &Conditioned, op: SoftmaxOp) -> Result<(), Failure> {
    let most = greatest::<T>();
    let rows = [4, 20, 33, 1101].map(|n| ([2, n], 1));
    for (shape, axis) in rows.into_iter().chain([([20, 7], 0), ([300, 70], 0)]) {
        let (len, inner) = axis_lengths(&shape, axis);
        let count = shape[0] * shape[1];
        let (mut x, g) = (values(15, count), values(16, count));
        for (i, x) in x.iter_mut().enumerate() {
            match i / inner % len {
                0 => *x = most,
                1 => *x = -most,
                3 => *x = f32::NEG_INFINITY,
                _ => {}
            }
        }
        let y = op.model_along(&x, len, inner);
        let least = |(&y, &x): (&f64, &f32)| if x.is_finite() { y.max(-f64::from(most)) } else { y };
        let want: Vec<f64> = y.iter().zip(&x).map(least).list();
        let got = op.run::<T>(q, &shape, axis, &x, Mask::None)?;
        Failure::unless_close(&want, &got, rtol::<T>(), 1e-7)?;
        let dx = op.run_backward::<T>(q, &shape, axis, &got, &g)?;
        let other = |i: usize| i / inner % len == 1;
        match (0..count).find(|&i| other(i) && dx[i] != T::from_f32(g[i]).to_f32()) {
            Some(i) => {
                return Err(Failure::Broken(format!(
                    "{shape:?}: the gradient {} of element {i} became {}",
                    g[i], dx[i]
                )));
            }
            None => Failure::unless_close(&[0.0], &[dx[3 * inner]], 0.0, 0.0)?,
        }
    }
    Ok(())
}

/// The model with the elements outside `keep` left out.
///
/// A row with no element left gives zeros, or -inf for the logarithm.
fn masked_model(op: SoftmaxOp, x: &[f32], keep: &[bool], len: usize, inner: usize) -> Vec<f64> {
    let x: Vec<f64> = x.iter().zip(keep).map(|(&x, &k)| if k { f64::from(x) } else { f64::NEG_INFINITY }).list();
    model::along(&x, len, inner, &mut |row| {
        if row.iter().all(|&x| x == f64::NEG_INFINITY) {
            return vec![if op.log { f64::NEG_INFINITY } else { 0.0 }; row.len()];
        }
        (op.model)(row)
    })
}

/// A case with a random mask that leaves out one row entirely.
///
/// Shapes of logits and mask. The mask is given as addends, and as flags
/// with NaN in the elements that they leave out.
fn masked_case<T: Real>(op: SoftmaxOp, name: &str, [shape, mask]: [&'static [usize]; 2], axis: usize) -> Case {
    Case::new(name, move |q| {
        let (len, inner) = axis_lengths(shape, axis);
        let count: usize = shape.iter().product();
        let mut x = values(11, count);
        let mut keep: Vec<bool> = values(12, mask.iter().product()).iter().map(|&v| v > -1.0).list();
        keep.iter_mut().step_by(inner).take(len).for_each(|keep| *keep = false);
        let kept: Vec<bool> = keep.iter().copied().cycle().take(count).list();
        let addend = values(17, keep.len()).into_iter().zip(&keep);
        let addend: Vec<f32> = addend.map(|(a, &keep)| if keep { a } else { f32::NEG_INFINITY }).list();
        let sums: Vec<f32> = x.iter().zip(addend.iter().cycle()).map(|(x, a)| x + a).list();
        let want = masked_model(op, &sums, &kept, len, inner);
        let addend = q.upload(&addend)?;
        let additive = Mask::Additive(TensorRef::contiguous(addend.view(), mask)?);
        Failure::unless_close(&want, &op.run::<T>(q, shape, axis, &x, additive)?, rtol::<T>(), 1e-7)?;
        x.iter_mut().zip(&kept).filter(|(_, kept)| !**kept).for_each(|(x, _)| *x = f32::NAN);
        let want = masked_model(op, &x, &kept, len, inner);
        let keep = q.upload(&keep)?;
        let flags = Mask::Keep(TensorRef::contiguous(keep.view(), mask)?);
        Failure::unless_close(&want, &op.run::<T>(q, shape, axis, &x, flags)?, rtol::<T>(), 1e-7)
    })
}

fn causal_case<T: Real>(op: SoftmaxOp, width: &str, shape: &'static [usize], axis: usize) -> Case {
    Case::new(format!("{width}causal mask, axis {axis} of {shape:?}"), move |q| {
        let (len, inner) = axis_lengths(shape, axis);
        let queries = shape[axis - 1];
        let x = values(13, shape.iter().product());
        for offset in [-2, 0, 1, 100] {
            let kept = |i: usize| {
                let (outer, c) = (i / (len * inner), i / inner % len);
                c as i64 <= (outer % queries) as i64 + offset
            };
            let keep: Vec<bool> = (0..x.len()).map(kept).list();
            let want = masked_model(op, &x, &keep, len, inner);
            let y = op.run::<T>(q, shape, axis, &x, Mask::Causal { offset })?;
            Failure::unless_close(&want, &y, rtol::<T>(), 1e-7)?;
        }
        Ok(())
    })
}

/// The forms in place against the others, which are compared with the model.
fn in_place(op: SoftmaxOp) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for rows in batches() {
        let check = move |q: &_| same_in_place::<f32>(q, op, &[rows, 16], 1, Mask::None);
        cases.push(Case::new(format!("{rows} rows of 16"), check));
    }
    cases.extend(typed!("shapes of every kind", shapes_in_place(op)));
    for (shape, axis) in [([3, 5, 17], 2), ([3, 5, 20], 2), ([2, 3, 1101], 2), ([3, 9, 5], 1), ([2, 7, 70], 1)] {
        cases.extend(typed!(format!("masks, axis {axis} of {shape:?}"), masks_in_place(op, shape, axis)));
    }
    cases
}

fn shapes_in_place<T: Real>(q: &Conditioned, op: SoftmaxOp) -> Result<(), Failure> {
    for (shape, axis) in SHAPES {
        same_in_place::<T>(q, op, shape, axis, Mask::None)?;
    }
    typed_shapes().try_for_each(|(shape, axis)| same_in_place::<T>(q, op, &shape, axis, Mask::None))
}

/// Masks of every kind.
///
/// Those with elements are repeated over the first axis and leave out one row of it.
fn masks_in_place<T: Real>(q: &Conditioned, op: SoftmaxOp, shape: [usize; 3], axis: usize) -> Result<(), Failure> {
    let (len, inner) = axis_lengths(&shape, axis);
    let of_mask = &shape[1..];
    let mut keep: Vec<bool> = values(32, of_mask.iter().product()).iter().map(|&v| v > -1.0).list();
    keep.iter_mut().step_by(inner).take(len).for_each(|keep| *keep = false);
    let addend: Vec<f32> = keep.iter().map(|&keep| if keep { 0.5 } else { f32::NEG_INFINITY }).list();
    let (keep, addend) = (q.upload(&keep)?, q.upload(&addend)?);
    let keep = Mask::Keep(TensorRef::contiguous(keep.view(), of_mask)?);
    let addend = Mask::Additive(TensorRef::contiguous(addend.view(), of_mask)?);
    for mask in [keep, addend, Mask::Causal { offset: 0 }, Mask::Causal { offset: -2 }] {
        same_in_place::<T>(q, op, &shape, axis, mask)?;
    }
    Ok(())
}

fn same_in_place<T: Real>(
    q: &Conditioned,
    op: SoftmaxOp,
    shape: &[usize],
    axis: usize,
    mask: Mask<'_, Conditioned>,
) -> Result<(), Failure> {
    let x = values(31, shape.iter().product());
    let (expected, mut y) = (op.run::<T>(q, shape, axis, &x, mask)?, upload::<T>(q, &x)?);
    let (plan, into) = (SoftmaxPlan::new(shape, axis)?, TensorMut::contiguous(y.view_mut(), shape)?);
    match op.log {
        false => plan.softmax_in_place(q, into, mask),
        true => plan.log_softmax_in_place(q, into, mask),
    }?;
    let bits = |y: &[f32]| y.iter().map(|y| y.to_bits()).list();
    Failure::unless_equal(&bits(&expected), &bits(&download::<T>(q, &y)?))
}

fn backward(op: SoftmaxOp) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for n in LENGTHS {
        cases.push(gradient_case(op, &[3, n], 1));
    }
    for rows in batches() {
        cases.push(gradient_case(op, &[rows, 17], 1));
    }
    for (shape, axis) in SHAPES {
        cases.push(gradient_case(op, shape, axis));
    }
    cases.push(Case::new("central differences", move |q| {
        let (x, g) = (values(21, 2 * 19), values(22, 2 * 19));
        let y = op.run::<f32>(q, &[2, 19], 1, &x, Mask::None)?;
        let mut g_rows = g.chunks(19);
        let want = model::along(&wide(&x), 19, 1, &mut |x| {
            let g = g_rows.next().unwrap_or_default();
            model::gradient(x, &wide(g), &op.model)
        });
        unless_near("dx", &want, &op.run_backward::<f32>(q, &[2, 19], 1, &y, &g)?, 1e-3)
    }));
    for (shape, axis) in LONG {
        cases.push(repeated_gradient_case(op, shape, axis).on_elements(65_536));
    }
    cases.push(Case::new("an infinite gradient of elements left out changes nothing", move |q| {
        let out = if op.log { f32::NEG_INFINITY } else { 0.0 };
        for (shape, axis, inner) in [([4, 40], 1, 1), ([4, 1101], 1, 1), ([60, 2], 0, 2), ([60, 70], 0, 70)] {
            let (len, count) = (shape[axis], shape[0] * shape[1]);
            let (mut y, mut g) = (vec![if op.log { -2.0 } else { 0.125 }; count], values(24, count));
            // Every third element along the axis is left out.
            let left_out = |i: usize| i / inner % len % 3 == 1;
            (0..count).filter(|&i| left_out(i)).for_each(|i| (y[i], g[i]) = (out, 0.0));
            let want = op.run_backward::<f32>(q, &shape, axis, &y, &g)?;
            for (i, g) in g.iter_mut().enumerate().filter(|&(i, _)| left_out(i)) {
                *g = [f32::INFINITY, f32::NEG_INFINITY, f32::NAN][i % 3];
            }
            let got = op.run_backward::<f32>(q, &shape, axis, &y, &g)?;
            Failure::unless_close(&wide(&want), &got, 1e-5, 1e-6)?;
            if (0..count).any(|i| left_out(i) && got[i] != 0.0) {
                return Err(Failure::Broken(format!("got {got:?}")));
            }
        }
        Ok(())
    }));
    cases.push(Case::new("elements left out have no gradient beside one without bounds", move |q| no_gradient(q, op)));
    cases.push(Case::new("elements left out have no gradient", move |q| {
        let out = if op.log { f32::NEG_INFINITY } else { 0.0 };
        let live = if op.log { 0.5f32.ln() } else { 0.5 };
        let dx = op.run_backward::<f32>(q, &[2, 3], 1, &[out, out, out, live, out, live], &values(23, 6))?;
        match dx[..3] == [0.0; 3] && dx[4] == 0.0 && dx[3] == -dx[5] {
            true => Ok(()),
            false => Err(Failure::Broken(format!("got {dx:?}"))),
        }
    }));
    cases.extend([
        Case::new("typed shapes, f32", move |q| typed_gradients::<f32>(q, op, 1e-5)),
        Case::new("typed shapes, f16", move |q| typed_gradients::<f16>(q, op, 1e-2)),
        Case::new("typed shapes, bf16", move |q| typed_gradients::<bf16>(q, op, 5e-2)),
    ]);
    cases
}

/// Checks gradients with one element huge, infinite or NaN.
///
/// It is an element that counts, in the first row or column. The gradients of other rows or columns
/// stay as they were.
fn no_gradient(q: &Conditioned, op: SoftmaxOp) -> Result<(), Failure> {
    let out = if op.log { f32::NEG_INFINITY } else { 0.0 };
    for (shape, axis, inner) in [([4, 40], 1, 1), ([4, 1101], 1, 1), ([60, 2], 0, 2), ([60, 70], 0, 70)] {
        let (len, count) = (shape[axis], shape[0] * shape[1]);
        let (mut y, mut g) = (vec![if op.log { -2.0 } else { 0.125 }; count], values(25, count));
        let left_out = |i: usize| i / inner % len % 3 == 1;
        (0..count).filter(|&i| left_out(i)).for_each(|i| (y[i], g[i]) = (out, f32::MAX));
        let mut first = vec![false; count];
        (0..len).for_each(|c| first[c * inner] = true);
        let want = op.run_backward::<f32>(q, &shape, axis, &y, &g)?;
        for huge in [-f32::MAX, f32::INFINITY, f32::NEG_INFINITY, f32::NAN] {
            g[0] = huge;
            let got = op.run_backward::<f32>(q, &shape, axis, &y, &g)?;
            let others = |all: &[f32]| (0..count).filter(|&i| !first[i]).map(|i| all[i]).list();
            Failure::unless_close(&wide(&others(&want)), &others(&got), 1e-5, 1e-6)?;
            if (0..count).any(|i| left_out(i) && got[i] != 0.0) {
                return Err(Failure::Broken(format!("{huge} gives {got:?}")));
            }
        }
    }
    Ok(())
}

fn gradient_case(op: SoftmaxOp, shape: &'_ [usize], axis: usize) -> Case {
    let shape = shape.to_vec();
    Case::new(format!("axis {axis} of {shape:?}"), move |q| gradient::<f32>(q, op, &shape, axis, 1e-5))
}

fn typed_gradients<T: Real>(q: &Conditioned, op: SoftmaxOp, bound: f64) -> Result<(), Failure> {
    typed_shapes().try_for_each(|(shape, axis)| gradient::<T>(q, op, &shape, axis, bound))
}

fn gradient<T: Real>(q: &Conditioned, op: SoftmaxOp, shape: &[usize], axis: usize, bound: f64) -> Result<(), Failure> {
    let [y, g] = gradient_inputs(op, shape, axis);
    let want = model_gradient(op, shape, axis, &y, &g);
    unless_near("dx", &want, &op.run_backward::<T>(q, shape, axis, &y, &g)?, bound)
}

/// The model's output, and a gradient of it.
fn gradient_inputs(op: SoftmaxOp, shape: &[usize], axis: usize) -> [Vec<f32>; 2] {
    let (len, inner) = axis_lengths(shape, axis);
    let count: usize = shape.iter().product();
    let y = op.model_along(&values(31, count), len, inner);
    [y.iter().map(|&y| y as f32).list(), values(32, count)]
}

/// The analytic gradient in f64 at the model's own output.
fn model_gradient(op: SoftmaxOp, shape: &[usize], axis: usize, y: &[f32], g: &[f32]) -> Vec<f64> {
    let (len, inner) = axis_lengths(shape, axis);
    let count = y.len();
    // The model works on pairs (y, g), put side by side along the axis.
    let pairs: Vec<f64> = (0..count / (len * inner))
        .flat_map(|outer| {
            let block = outer * len * inner..(outer + 1) * len * inner;
            [wide(&y[block.clone()]), wide(&g[block])].concat()
        })
        .list();
    let both = model::along(&pairs, 2 * len, inner, &mut |pair| {
        let (y, g) = pair.split_at(len);
        let weight = |y: f64| if op.log { y.exp() } else { y };
        let sum: f64 = y.iter().zip(g).map(|(y, g)| if op.log { *g } else { y * g }).sum();
        let dx = y.iter().zip(g).map(|(&y, g)| if op.log { g - weight(y) * sum } else { y * (g - sum) });
        dx.chain(g.iter().copied()).list()
    });
    both.chunks(2 * len * inner).flat_map(|block| block[..len * inner].to_vec()).list()
}
