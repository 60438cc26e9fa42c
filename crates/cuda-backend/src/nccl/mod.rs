//! Collectives between queues by NCCL.
//!
//! A call has two meetings of the ranks' hosts over a [`Transport`](collective::Transport). At the
//! first they agree on the call and its lengths; then each submits its part to NCCL; at the second
//! each reports its submission. So every rank learns of a rank that cannot submit before any of
//! them goes on, and no host waits for a device.
//!
//! When a group fails, each rank aborts its communicator: NCCL operations still on a stream would
//! wait for ever for a rank that does not come. Before that it waits a little for the exchanges
//! that all ranks have submitted. If they do not complete, their results are missing and must not
//! be replaced by the memory's old content, so the device is given up as lost, with the reason. A
//! thread for each rank watches pending exchanges, since the host may wait for one without being
//! notified.

mod error;
mod link;
mod rank;
mod watch;

pub use error::{NcclError, NcclInfo, nccl};
pub use rank::NcclRank;
