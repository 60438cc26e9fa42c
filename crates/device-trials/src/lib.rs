//! Test kernels with known results, which no op uses.
//!
//! They test a device and its driver's compiler, or the simulator in their place.
//!
//! - [`FAMILIES`] of random programs, compiled for the host into this crate and for the device into
//!   [`PROGRAMS`]. Both must give the same results, bit for bit.
//! - [`CANARIES`], kernels that a compiler without the flags of `kernels-ptx/README.md` breaks,
//!   built with all of them into [`GUARDED`].
//!
//! A build script writes the programs (`generator/`), `cargo xtask build-ptx` the PTX and the
//! manifests. A test of `cuda-sim` runs both on the executor, and `trefoil trials` on a device.
#![forbid(unsafe_code)]

mod canary;
mod float;
mod outcome;
#[allow(unused, clippy::all, reason = "random programs are not written for readers")]
mod programs {
    include!(concat!(env!("OUT_DIR"), "/programs.rs"));
}
mod random;
mod text;

pub use canary::{CANARIES, Canary};
pub use outcome::Wrong;
pub use random::{Arrangement, FAMILIES, Family, Work};
pub use text::{GUARDED, PROGRAMS, Text};
