//! Conversions between element types.
//!
//! They are exact one way and rounded the other; values beyond the range are counted.

use backend_api::{
    Buffer, DType, Queue, Real,
    ops::tensor::{Narrow, TensorOps, Widen},
};
use core_types::params::tensor::Beyond;

use super::{LENGTHS, bits, typed};
use crate::{
    Conditioned, Failure, OpSpec,
    linalg::model::{InputSource, greatest},
    list::ListIterator as _,
};

pub(super) fn specs() -> Vec<OpSpec> {
    let (mut exact, mut rounded) = (Vec::new(), Vec::new());
    for n in LENGTHS {
        exact.extend(typed!(format!("{n} elements"), widened(n)));
        rounded.extend(typed!(format!("{n} elements"), narrowed(n)));
    }
    rounded.extend(typed!("ends of the range", ends()));
    vec![OpSpec { op: "tensor.widen", cases: exact }, OpSpec { op: "tensor.narrow", cases: rounded }]
}

fn widened<T: Real>(q: &Conditioned, n: usize) -> Result<(), Failure> {
    let x: Vec<T> = InputSource::new(3).reals(n);
    let (dx, mut y) = (q.upload(&x)?, q.zeros(n)?);
    q.widen(Widen { x: dx.view(), y: y.view_mut() })?;
    Failure::unless_equal(&bits(&x), &bits(&q.download(&y)?))
}

/// Returns the narrowed values and the updated out-of-range record.
///
/// The record starts with a count of seven and no first index.
fn narrow<T: Real>(q: &Conditioned, beyond: Beyond, x: &[f32]) -> Result<(Vec<T>, Vec<u64>), Failure> {
    let (x, mut y, mut found) = (q.upload(x)?, q.zeros::<T>(x.len())?, q.upload(&[7u64, u64::MAX])?);
    q.narrow(Narrow { beyond, x: x.view(), y: y.view_mut(), found: Some(found.view_mut()) })?;
    let all = q.download(&y)?;
    q.narrow(Narrow { beyond, x: x.view(), y: y.view_mut(), found: None })?;
    Failure::unless_equal(&bits(&all), &bits(&q.download(&y)?))?;
    Ok((all, q.download(&found)?))
}

fn narrowed<T: Real>(q: &Conditioned, n: usize) -> Result<(), Failure> {
    let mut random = InputSource::new(4);
    let x: Vec<f32> = (0..n).map(|_| f32::from_bits(random.word() << 1 ^ random.word() >> 3)).list();
    let rounded: Vec<T> = x.iter().map(|&x| T::from_f32(x)).list();
    let (y, found) = narrow::<T>(q, Beyond::Infinite, &x)?;
    Failure::unless_equal(&bits(&rounded), &bits(&y))?;
    let beyond = |y: &T| y.to_f32().is_infinite();
    let count = rounded.iter().filter(|y| beyond(y)).count() as u64;
    let first = rounded.iter().position(beyond).map_or(u64::MAX, |i| i as u64);
    Failure::unless_equal(&[7 + count, first], &found)?;
    let (y, found) = narrow::<T>(q, Beyond::Saturated, &x)?;
    let held = |y: T| if beyond(&y) { greatest::<T>().copysign(y.to_f32()) } else { y.to_f32() };
    let held: Vec<f32> = rounded.into_iter().map(held).list();
    Failure::unless_equal(&bits(&held), &bits(&y))?;
    Failure::unless_equal(&[7 + count, first], &found)
}

/// The values around the point that rounds to infinity.
///
/// It is halfway from the greatest value to the next power of two.
fn ends<T: Real>(q: &Conditioned) -> Result<(), Failure> {
    let max = greatest::<T>();
    let halfway = match T::DTYPE {
        DType::F16 => 65_520.0,
        DType::Bf16 => f32::from_bits(max.to_bits() + 0x8000),
        _ => f32::INFINITY,
    };
    let below = f32::from_bits(halfway.to_bits() - 1);
    let x = [max, below, -below, halfway, -halfway, f32::INFINITY, f32::NAN, -f32::INFINITY];
    let (y, found) = narrow::<T>(q, Beyond::Infinite, &x)?;
    let inf = f32::INFINITY;
    Failure::unless_equal(&bits(&[max, max, -max, inf, -inf, inf, f32::NAN, -inf]), &bits(&y))?;
    Failure::unless_equal(&[7 + 4, 3], &found)?;
    let (y, found) = narrow::<T>(q, Beyond::Saturated, &x)?;
    Failure::unless_equal(&bits(&[max, max, -max, max, -max, max, f32::NAN, -max]), &bits(&y))?;
    Failure::unless_equal(&[7 + 4, 3], &found)
}
