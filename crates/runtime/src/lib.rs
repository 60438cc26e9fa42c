//! Backend selection: the one crate that reads the environment and names backends.
#![forbid(unsafe_code)]

use cpu_backend::{CpuConfig, CpuError, CpuQueue};

/// Opens a queue on the host processor with default settings and no look at the environment.
///
/// ```
/// use backend_api::Queue;
///
/// let q = runtime::cpu()?;
/// let buf = q.upload(&[1u32, 2, 3])?;
/// assert_eq!(q.download(&buf)?, [1, 2, 3]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`CpuError`] if worker threads cannot be started.
pub fn cpu() -> Result<CpuQueue, CpuError> {
    CpuQueue::open(CpuConfig::default())
}
