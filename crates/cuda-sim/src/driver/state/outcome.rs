//! What came of work.

use cuda_loader::Status;

use super::accesses::Accesses;
use crate::exec;

/// Why work failed: the code for the caller and the reason for the report.
pub(in crate::driver) type Failure = (Status, String);

/// What came of work.
#[derive(Debug, Default)]
pub(in crate::driver) struct Did {
    /// Counters of a kernel.
    pub(in crate::driver) kernel: Option<exec::Counters>,
    /// The first byte copied to the host that nothing had written, if that is checked.
    pub(in crate::driver) unwritten: Option<u64>,
    /// Its accesses, if streams are checked against each other.
    pub(in crate::driver) accesses: Accesses,
}
