//! Driver objects with an owner.
//!
//! Each call is checked for the context's health, and each object keeps its context alive.
//!
//! `cust` serves initialisation, devices, the primary context, modules and functions. Streams,
//! asynchronous copies, capture, graphs, pools and function attributes go through the typed
//! functions of `cuda_loader`: `cust` lacks most of them and removes the non-blocking flag from its
//! streams.

mod context;
mod counts;
mod device;
mod event;
mod graph;
mod memory;
mod module;
mod nccl;
mod order;
mod peer;
mod pointer;
mod process;
mod stream;

pub use context::abandoned;
pub(crate) use context::{CAPTURE_CODES, CudaContext, SubmissionTurn};
pub(crate) use device::device_attribute;
pub(crate) use event::{CudaEvent, Events};
pub(crate) use graph::{Captured, Executable, Relaxed};
pub(crate) use memory::{
    HostMemory, MemoryPool, copy_on_device, copy_to_device, copy_to_host, fill_bytes, free, free_ordered, memory_info,
    register, take, take_ordered, unregister,
};
pub(crate) use module::{FunctionFacts, KernelFunction, LoadedModule};
pub(crate) use nccl::{Communicator, NCCL_ID_WORDS, NcclFault};
pub(crate) use peer::{PeerFacts, copy_from_peer, enable_access, peer_facts};
pub(crate) use pointer::{DeviceAllocation, allocation_of, is_allocated};
pub use process::exit_at_once;
pub(crate) use stream::CudaStream;
