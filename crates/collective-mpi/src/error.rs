//! Why a process is no rank.

use thiserror::Error;

/// Why a process did not join the others that MPI started.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum JoinError {
    /// This program was built without the feature `mpi` of this crate.
    #[error("this program was built without MPI (feature `mpi` of crate `collective-mpi`)")]
    NotBuilt,
    /// A process joins once: MPI cannot begin again where it has ended.
    #[error("this process has already joined the ranks of MPI")]
    Joined,
    /// Not all processes that were started came.
    #[error("not all ranks joined within {seconds} s")]
    Late {
        /// How long this one waited.
        seconds: u64,
    },
    /// The thread that talks to MPI could not be started.
    #[error("the MPI thread did not start: {reason}")]
    Thread {
        /// The error text of the system or MPI.
        reason: String,
    },
}
