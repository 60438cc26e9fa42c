//! Specifications of the `tensor` op set.

mod cast;
mod copy;
mod index;
mod map;
mod reduce;

use backend_api::Real;

use crate::{OpSpec, spec::typed};

/// Lengths around vectors, warps, blocks and the parallel grain.
const LENGTHS: [usize; 14] = [0, 1, 7, 8, 31, 32, 33, 255, 256, 257, 511, 512, 513, 70_001];

/// Every specification of the op set.
#[must_use]
pub fn specs() -> Vec<OpSpec> {
    let mut all = map::specs();
    all.extend(copy::specs());
    all.extend(cast::specs());
    all.extend(reduce::specs());
    all.extend(index::specs());
    all
}

fn narrow<T: Real>(x: &[f32]) -> Vec<T> {
    x.iter().map(|&x| T::from_f32(x)).collect()
}

fn wide<T: Real>(x: &[T]) -> Vec<f32> {
    x.iter().map(|x| x.to_f32()).collect()
}

/// The patterns of elements, all NaN alike.
fn bits<T: Real>(x: &[T]) -> Vec<u32> {
    wide(x).into_iter().map(|x| if x.is_nan() { f32::NAN.to_bits() } else { x.to_bits() }).collect()
}
