//! Trefoil's GPU kernels: Rust for `nvptx64-nvidia-cuda`, one PTX module per cargo feature.
//!
//! [`dev`] is the device library. Each op set has a module with its kernels; a `kernel_table!`
//! declares them, at the end of a file or in the macro that writes a family of kernels. Scalar
//! formulas live in `core_types`, shared with the host. `README.md` of this crate describes the
//! build.
//!
//! # Safety
//! Kernels are called by the ops of `cuda-backend` alone. A launch passes device pointers to live
//! buffers of at least the lengths that the parameter record states, with a grid that the kernel's
//! documentation names.
#![no_std]
#![allow(internal_features, reason = "warp and block collectives are LLVM intrinsics")]
#![allow(unused_features, reason = "each module uses its own part of `dev`")]
#![feature(abi_ptx, asm_experimental_arch, core_float_math, link_llvm_intrinsics)]

pub mod dev;
#[macro_use]
mod table;

#[cfg(feature = "air")]
pub mod air;
#[cfg(feature = "canary")]
pub mod canary;
#[cfg(feature = "channel")]
pub mod channel;
#[cfg(feature = "circle")]
pub mod circle;
#[cfg(feature = "correction")]
pub mod correction;
#[cfg(feature = "deep")]
pub mod deep;
#[cfg(feature = "differential")]
pub mod differential;
#[cfg(feature = "factor")]
pub mod factor;
#[cfg(feature = "fss")]
pub mod fss;
#[cfg(any(feature = "correction", feature = "linalg", feature = "optim", feature = "recurrent", feature = "tensor"))]
pub mod linalg;
#[cfg(feature = "merkle")]
pub mod merkle;
#[cfg(feature = "open")]
pub mod open;
#[cfg(feature = "optim")]
pub mod optim;
#[cfg(feature = "recurrent")]
pub mod recurrent;
#[cfg(feature = "tensor")]
pub mod tensor;

/// Unreachable: the build turns every panic into a trap before it gets here.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
