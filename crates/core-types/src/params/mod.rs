//! Launch-parameter records, with the same layout on host and device.
//!
//! An op gets a record in addition to its buffers.

pub mod fss;
pub(crate) mod nn;
pub mod share;
mod sizes;
pub(crate) mod stark;

pub use nn::{attention, correction, elementwise, factor, gemm, optim, recurrent, rows, tensor};
pub use sizes::Sizes;
pub use stark::{air, channel, circle, columns, deep, fri, merkle};
