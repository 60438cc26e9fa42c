//! Softmax and normalisations against f64 models.

mod model;
mod norm;
mod norm_in_place;
mod softmax;

use backend_api::{Buffer, Queue, Real};

use super::{
    batches,
    model::{InputSource, narrow, wide as single},
};
use crate::{Buf, Conditioned, Failure, OpSpec, list::ListIterator as _};

pub(super) fn specs() -> Vec<OpSpec> {
    let mut all = softmax::specs();
    all.extend(norm::specs());
    all.extend(norm_in_place::specs());
    all
}

/// Lengths of rows around every vector length and the most that a GPU's warp takes.
const LENGTHS: [usize; 12] = [1, 7, 8, 15, 16, 17, 33, 63, 1000, 1023, 1024, 20_000];

/// Lengths of rows that are compared with the model in every element type.
///
/// They are not aligned and end in each quarter of the first and second 128 elements, or are longer
/// than a GPU's warp takes, aligned and not.
const TYPED_LENGTHS: [usize; 10] = [5, 37, 69, 101, 133, 165, 197, 229, 1100, 1101];

/// Lengths of aligned rows that a GPU's warp holds in registers.
///
/// They end within each of the warp's eight chunks of 128.
const HELD_LENGTHS: [usize; 8] = [100, 228, 356, 484, 612, 740, 868, 996];

/// Reproducible values in -4..4, representable in bf16.
fn values(seed: u64, count: usize) -> Vec<f32> {
    let mut random = InputSource::of_state(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    (0..count).map(|_| (i64::from(random.word() >> 23) - 128) as f32 / 32.0).list()
}

fn wide(x: &[f32]) -> Vec<f64> {
    x.iter().map(|&x| f64::from(x)).list()
}

pub(super) fn upload<T: Real>(q: &Conditioned, x: &[f32]) -> Result<Buf<T>, Failure> {
    Ok(q.upload(&narrow::<T>(x))?)
}

pub(super) fn download<T: Real>(q: &Conditioned, x: &Buf<T>) -> Result<Vec<f32>, Failure> {
    Ok(single(&q.read(x.view())?))
}

/// Requires the norm of `got - expected` to be at most `bound` times the norm of `expected`.
///
/// Norms are Euclidean. The expected norm counts as at least a tenth per element: a gradient that
/// cancels to zero, as with one element in a row, has no relative error.
pub(super) fn unless_near(what: &str, expected: &[f64], got: &[f32], bound: f64) -> Result<(), Failure> {
    let square = |x: f64| x * x;
    let size: f64 = expected.iter().map(|&e| square(e)).sum();
    let error: f64 = expected.iter().zip(got).map(|(&e, &g)| square(f64::from(g) - e)).sum();
    let limit = bound * size.sqrt().max(0.1 * (expected.len() as f64).sqrt());
    if expected.len() == got.len() && error.sqrt() <= limit {
        return Ok(());
    }
    Err(Failure::Broken(format!("{what}: error {:e} above {limit:e}", error.sqrt())))
}
