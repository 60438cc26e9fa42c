//! Launch-parameter records, with the same layout on host and device.
//!
//! An op gets a record in addition to its buffers.

pub mod air;
pub mod channel;
pub mod circle;
pub mod columns;
pub mod correction;
pub mod deep;
pub mod elementwise;
pub mod factor;
pub mod fri;
pub mod fss;
pub mod gemm;
pub mod merkle;
pub mod optim;
pub mod recurrent;
pub mod rows;
pub mod share;
mod sizes;
pub mod tensor;

pub use sizes::Sizes;
