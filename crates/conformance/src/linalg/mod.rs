//! Specifications of the `linalg` op set.

mod alpha;
mod attention;
mod differences;
mod elementwise;
mod gemm;
mod loss;
pub(crate) mod model;
mod refuse;
mod rows;
mod scalar;
mod strides;

use crate::{
    OpSpec,
    spec::{BATCHES, typed},
};

fn batches() -> [usize; 8] {
    BATCHES.map(|n| n as usize)
}

/// Every specification of the op set.
#[must_use]
pub fn specs() -> Vec<OpSpec> {
    let mut all = gemm::specs();
    all.extend(alpha::specs());
    all.extend(elementwise::specs());
    all.push(scalar::specs());
    all.push(loss::specs());
    all.extend(rows::specs());
    all.extend(attention::specs());
    all.extend(differences::specs());
    all.extend(refuse::specs());
    all
}
