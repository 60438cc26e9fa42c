//! Collectives between the queues of one process, by copies from device to device.
//!
//! A call has two meetings of the ranks' threads. Before the first, each rank puts up what others may read of its memory and
//! an event after all that its stream holds. Between them it lets its stream wait for the events of the others, and submits copies of
//! what it wants. After the second it lets its stream wait for an event behind the copies of each other rank. Threads wait for
//! threads, and never for a device.

mod board;
mod inlet;
mod link;
mod probe;
mod rank;

pub(crate) use link::Links;
pub use link::{Detour, Link, Route};
pub(crate) use probe::open_pools;
pub use probe::{links, measured_links};
pub use rank::PeerRank;
