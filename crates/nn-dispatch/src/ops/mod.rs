//! The ops on a device: lengths are checked, operands staged, results delivered.

pub(crate) mod elements;
pub(crate) mod embedding;
pub(crate) mod loss;
pub(crate) mod norm;
pub(crate) mod optim;
pub(crate) mod products;
pub(crate) mod softmax;

mod lengths;
