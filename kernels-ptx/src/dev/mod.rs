//! The device library: everything that a kernel does besides arithmetic.
//!
//! Warp and block collectives are LLVM intrinsics, which the compiler treats as convergent. Inline
//! assembly is not, so it is used only for instructions that one thread runs for itself.

pub mod atomic;
pub mod grid;
pub mod idx;
mod intrinsics;
pub mod memory;
pub mod mma;
pub mod numeric;
pub mod opaque;
pub mod sync;
pub mod unroll;
pub mod warp;
