//! The device library: everything that a kernel does besides arithmetic.
//!
//! Warp and block collectives are LLVM intrinsics, which the compiler treats as convergent. Inline
//! assembly is not, so it is used only for instructions that one thread runs for itself.

pub mod atomic;
pub mod cp_async;
pub mod functions;
pub mod gmem;
pub mod grid;
pub mod half;
pub mod idx;
mod intrinsics;
pub mod math;
pub mod mma;
pub mod opaque;
pub mod smem;
pub mod sync;
pub mod unroll;
pub mod warp;
