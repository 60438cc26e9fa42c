//! Collectives between the queues of one process, by copies from device to device.
//!
//! A call has two meetings of the ranks' threads. Before the first, each rank offers the memory
//! that others may read, with an event after all work on its stream. Between them it lets its
//! stream wait for the events of the others, and submits its copies. After the second it lets its
//! stream wait for an event after the copies of each other rank. Threads wait for threads, and
//! never for a device.

mod board;
mod inlet;
mod probe;
mod rank;

pub(crate) use probe::open_pools;
pub use probe::{links, measured_links};
pub use rank::PeerRank;
