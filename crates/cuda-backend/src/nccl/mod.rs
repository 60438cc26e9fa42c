//! Collectives between queues by NCCL.
//!
//! A call has two meetings of the ranks' hosts over a [`Transport`](collective::Transport). At the first they agree on the call and its
//! lengths; then each submits its part to NCCL; at the second each says that it has. So a rank that cannot submit is known to all before
//! any of them goes on, and no host waits for a device.
//!
//! When a group fails, each rank aborts its communicator: what NCCL still has on a stream would wait for ever for a rank that does not
//! come. Before that it waits a little for the exchanges that all ranks have submitted. If they do not run through, what they should have
//! brought is missing, whoever reads it must not get what is there instead, and so the device is given up as lost, with the reason. A
//! thread for each rank looks after exchanges that are under way, for the host may wait for one and be told of nothing.

mod error;
mod link;
mod rank;
mod watch;

pub use error::{NcclError, NcclInfo, nccl};
pub use rank::NcclRank;
