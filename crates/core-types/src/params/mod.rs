//! Launch-parameter records: what an op gets besides its buffers, with the same layout on host and device.

pub mod circle;
pub mod elementwise;
pub mod fss;
pub mod gemm;
pub mod rows;
pub mod share;
mod sizes;

pub use sizes::Sizes;
