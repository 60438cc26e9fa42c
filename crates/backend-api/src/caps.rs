//! Properties of a queue's device, for reports and for choices between code paths.

use core::fmt;

/// The kind of device that a queue runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BackendKind {
    /// The host processor.
    Cpu,
    /// An NVIDIA GPU, or the simulated driver in its place.
    Cuda,
}

impl fmt::Display for BackendKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cpu => "cpu",
            Self::Cuda => "cuda",
        })
    }
}

/// Properties and capabilities of a queue's device.
///
/// Facts only; fixed for the life of the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caps {
    /// Kind of device.
    pub kind: BackendKind,
    /// Human-readable device name, for reports.
    pub device: String,
    /// The instruction path ops take, for example `avx2+vaes` or `sm_80 PTX on 9.0`.
    pub path: String,
    /// Workers that one op may use at once: CPU threads, or the multiprocessors of a GPU.
    pub threads: usize,
}
