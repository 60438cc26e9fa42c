//! Backend selection.
//!
//! The one crate that reads the environment and names backends. An explicit choice beats a domain's
//! own variable, which beats `TREFOIL_BACKEND`, which beats the default (`cpu`). Unknown values are
//! errors that list the choices; nothing falls back in silence, and nothing changes backend in the
//! middle of a computation.
//!
//! ```
//! use backend_api::Queue;
//!
//! let (queue, status) = runtime::open()?;
//! let buf = queue.upload(&[1u32, 2, 3])?;
//! assert_eq!(queue.download(&buf)?, [1, 2, 3]);
//! println!("on {status}: {}", queue.caps().path);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Tracing
//!
//! Every call on an [`AnyQueue`] that does work, except for the marks of `Timed`, and every call of
//! an [`AnyRank`] is a span of crate `tracing`, with target [`TRACE_TARGET`] and level `DEBUG`: an
//! op with its name, its element type, the sizes among its parameters and the lengths of its views,
//! or a copy with its bytes. No span shows contents, keys, seeds or factors. Without a subscriber
//! that wants them, a call takes one extra load and comparison. A span is the time until the call
//! returns: on a GPU, where ops run later, that is the time to enqueue them. [`mark_calls`]
//! measures the time of the device. A backend that opens in place of another is an event with the
//! same target and level, and the reason.
//!
//! # Features
//!
//! `cuda`, off by default, adds the backends `gpu` and `sim`. Without it, requesting one of them
//! fails as on a machine without a GPU, with [`Unavailable::NotBuilt`]. With it, `cust` looks for a
//! CUDA toolkit at build time; on a machine without one, `CUDA_LIBRARY_PATH=FOLDER` with the folder
//! `link` of crate `cuda-loader` satisfies it, and the driver is still looked for at run time.
#![forbid(unsafe_code)]
#![cfg_attr(
    not(feature = "cuda"),
    allow(unreachable_patterns, reason = "a single backend cannot be mixed with another")
)]

mod any;
mod choice;
mod collective_kind;
#[cfg(feature = "cuda")]
mod cuda;
mod domain;
mod env;
mod error;
mod launch;
mod open;
mod ranks;
mod replays;

#[cfg(feature = "cuda")]
pub use cuda_backend::{
    AesKernel, AirKernel, CallerCopies, CallerError, CallerStream, Detour, KernelFacts, Link, ModuleFacts, ModuleInfo,
    ModuleOutcome, NcclError, NcclInfo, Route, abandoned, exit_at_once,
};

pub use any::{
    AnyBuf, AnyGraph, AnyMark, AnyMut, AnyQueue, AnyRank, AnyRef, AnyRegistered, MarkedCall, TRACE_TARGET, mark_calls,
};
pub use choice::{Choice, UnknownChoice};
pub use collective_kind::CollectiveKind;
#[cfg(feature = "cuda")]
pub use cuda::{
    CudaFacts, cuda_facts, cuda_links, cuda_memory, cuda_modules, cuda_queue, nccl_facts, refused_recording,
    simulator_reports,
};
pub use domain::Domain;
pub use env::{
    CudaLibrary, EnvironmentVariable, NcclLibrary, Settings, SettingsError, VARIABLES, unknown_variables, value_of,
};
pub use error::{OpenError, Unavailable};
pub use launch::{Launch, launch};
pub use open::{BackendStatus, availability, cpu, open, open_for, open_with};
pub use ranks::{NoReach, RanksError, ranks, ranks_with};
pub use replays::{ReplayCounts, Replays};
