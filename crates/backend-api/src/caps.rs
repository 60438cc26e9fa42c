use core::fmt;

/// The kind of device behind a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BackendKind {
    /// The host processor.
    Cpu,
}

impl fmt::Display for BackendKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cpu => "cpu",
        })
    }
}

/// What a queue's device is and can do. Facts only; fixed for the life of the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caps {
    /// Kind of device.
    pub kind: BackendKind,
    /// Human-readable device name, for reports.
    pub device: String,
    /// The instruction path ops take, for example `avx2+vaes`.
    pub path: String,
    /// Workers that one op may use at once (CPU threads).
    pub threads: usize,
}
