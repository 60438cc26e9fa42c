//! Submissions to a stream: kernel launches, copies, exchanges and recorded graphs.
//!
//! Each submission is admitted by its track first, which orders it after earlier uses of its
//! blocks.

mod caller;
mod caller_error;
mod exchange;
mod graph;
mod host_copy;
mod launch;
mod peer;
mod registered;
mod transfer;

pub use caller::{CallerCopies, CallerStream};
pub use caller_error::CallerError;
pub(crate) use exchange::{Leg, exchange};
pub use graph::CudaGraph;
pub(crate) use graph::replay;
pub use launch::Launch;
pub(crate) use peer::{Courier, copy_between, copy_through_host, copy_within};
pub use registered::CudaRegistered;
pub(crate) use transfer::{copy, download, fill_zero, upload};
