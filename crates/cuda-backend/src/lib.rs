//! Every op as launches of Rust kernels on an NVIDIA GPU.
//!
//! [`CudaQueue`] submits work to a stream and returns; reading and finishing wait. The driver is
//! the one that `cuda_loader` opened, or the simulated one in its place: this crate cannot tell
//! them apart.
//!
//! # Layers
//! - `ffi`: driver objects with an owner. One gate makes every call: it checks that the device is
//!   not lost, makes the context current for the call, and turns codes into errors. After a sticky
//!   code the only call made is the release of the context.
//! - `mem`: pools of device memory and of pinned host memory, and blocks of device memory that
//!   record which submissions use them.
//! - `kernels`: PTX and manifests, checked against each other and against the device.
//! - `programs`: PTX of programs that come from AIRs.
//! - `device`: an opened device, with its pools and kernels.
//! - `streams`: streams that number and order their work, and recordings of it.
//! - `submit`: the work itself. The one call site of kernels, which checks their arguments, copies,
//!   exchanges, and graphs.
//! - `queue`: the queue, its recordings and marks.
//! - `ops`: the op sets, each op with its launches.
//! - `nccl`: collectives between queues by NCCL.
//! - `peers`: collectives between queues by copies between devices.
//!
//! # Order
//! Work on one queue runs in order. A buffer that several queues use remembers its last write and
//! the reads since then, and a submission on another queue is ordered after them with an event, so
//! no use ever comes too early. Memory goes back to its pool after its last use, in stream order
//! and without waiting.

mod aes;
mod air;
mod buf;
mod checked;
mod counted;
mod device;
mod device_info;
mod error;
mod ffi;
mod kernels;
mod link;
mod mem;
mod nccl;
mod open;
mod ops;
mod peers;
mod programs;
mod queue;
#[cfg(test)]
mod rig;
mod streams;
mod submit;
mod sync;

pub use aes::AesKernel;
pub use air::AirKernel;
pub use buf::{CudaBuf, CudaMut, CudaRef};
pub use device::{DeviceCtx, MemoryUsage};
pub use device_info::{DeviceInfo, MIN_CAPABILITY};
pub use ffi::{abandoned, exit_at_once};
pub use kernels::{
    KernelFacts, KernelSource, ManifestError, ModuleError, ModuleFacts, ModuleInfo, ModuleOutcome, ModuleText,
    ProgramFacts, modules,
};
pub use link::{Detour, Link, Route};
pub use mem::PinnedCounts;
pub use nccl::{NcclError, NcclInfo, NcclRank, nccl};
pub use open::{Allocator, CudaConfig, DriverInfo, MIN_BUDGET_BYTES, OpenError, devices, driver};
pub use ops::{launch_canary, launch_programs, launch_sample};
pub use peers::{PeerRank, links, measured_links};
pub use programs::{ProgramKind, ProgramSource};
pub use queue::{CudaMark, CudaQueue};
pub use submit::{CallerCopies, CallerError, CallerStream, CudaGraph, CudaRegistered, Launch};
