//! Counters and reports of the driver, for tests to read.

use std::collections::BTreeMap;

use crate::exec;

/// Numbers since the session began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Calls of each function, refused ones too.
    pub calls: BTreeMap<&'static str, u64>,
    /// Functions called in a context after a call had returned the error that lost it, in order.
    ///
    /// Functions that give something back or change which context is current are not among them.
    pub calls_after_sticky: Vec<&'static str>,
    /// Kernels launched by a call, not counting those in graphs.
    pub launches: u64,
    /// The same by the name of the kernel.
    pub launches_of: BTreeMap<String, u64>,
    /// Graphs launched.
    pub graph_launches: u64,
    /// Nodes that graph launches ran.
    pub graph_nodes: u64,
    /// Graphs instantiated.
    pub instantiations: u64,
    /// Instantiated graphs updated in place, whole or by node.
    pub graph_updates: u64,
    /// Captures begun.
    pub captures: u64,
    /// Captures that ended without a graph.
    pub captures_lost: u64,
    /// Blocks of device memory allocated, from pools and otherwise.
    pub allocations: u64,
    /// Blocks of device memory freed.
    pub frees: u64,
    /// Allocations that a pool served from bytes it had kept.
    pub pool_hits: u64,
    /// Blocks of pinned host memory allocated or registered.
    pub pins: u64,
    /// Bytes copied from host to device.
    pub bytes_to_device: u64,
    /// Bytes copied from device to host.
    pub bytes_to_host: u64,
    /// Bytes copied within a device.
    pub bytes_on_device: u64,
    /// Bytes copied between devices, by the device they came from and the one they went to.
    pub bytes_between_devices: BTreeMap<(u32, u32), u64>,
    /// Bytes that NCCL moved between devices, likewise.
    pub nccl_bytes: BTreeMap<(u32, u32), u64>,
    /// Asynchronous copies from or to pageable memory, which are not asynchronous.
    pub pageable_copies: u64,
    /// Operations on the legacy default stream.
    pub legacy_operations: u64,
    /// Calls that waited for a stream, an event or a context.
    pub synchronisations: u64,
    /// Modules loaded.
    pub modules: u64,
    /// Sum of what kernels did.
    pub kernels: exec::Counters,
}

impl Counters {
    /// Calls of function `name`.
    pub fn calls_of(&self, name: &str) -> u64 {
        self.calls.get(name).copied().unwrap_or(0)
    }
}

/// Something that the driver noticed but no result code reports.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Report {
    /// Work on a stream failed.
    #[error("{work} failed with {code}: {reason}")]
    Failed {
        /// The work.
        work: String,
        /// The code that later calls answer.
        code: i32,
        /// What happened.
        reason: String,
    },
    /// A use of stream-ordered memory that is not ordered.
    ///
    /// It is not after the allocation, or not before the release.
    #[error("{work} uses stream-ordered memory at {address:#x} {relation}")]
    StreamOrder {
        /// The work.
        work: String,
        /// The memory it uses.
        address: u64,
        /// How the use relates to the memory's lifetime.
        relation: &'static str,
    },
    /// Work that is not ordered after earlier work, at a place where one of them writes.
    #[error("{work} and {earlier} both access {address:#x} without an order between them")]
    Unordered {
        /// The work.
        work: String,
        /// The work that happened to be done before it.
        earlier: String,
        /// The first byte that both touch.
        address: u64,
    },
    /// A copy to the host of bytes that were never written.
    #[error("{work} copies uninitialised bytes to the host, the first at {address:#x}")]
    Unwritten {
        /// The copy.
        work: String,
        /// The first such byte.
        address: u64,
    },
    /// Pinned memory that the host changed while a copy from it was enqueued.
    #[error("the host changed {address:#x} before the {work} that reads it completed")]
    SourceChanged {
        /// The copy.
        work: String,
        /// The start of its source.
        address: u64,
    },
    /// A module was refused.
    #[error("module refused: {0}")]
    Module(String),
    /// An address argument that names no memory of the right kind.
    #[error("{call}: {reason}")]
    Address {
        /// The call.
        call: &'static str,
        /// The problem with the address.
        reason: String,
    },
    /// Calls of NCCL ranks that do not match.
    #[error("NCCL: {0}")]
    Nccl(String),
    /// Objects that a context still held when it was destroyed.
    #[error("{0}")]
    Leak(Leak),
}

/// Objects that a context still held when its last user released it.
#[derive(Clone, Debug, Default, PartialEq, Eq, thiserror::Error)]
#[error(
    "context of device {device} released with {} allocations of {bytes} bytes, {pinned} pinned blocks, {streams} \
     streams, {events} events, {modules} modules, {communicators} communicators", allocations.len()
)]
pub struct Leak {
    /// The device.
    pub device: u32,
    /// Addresses and lengths of device memory.
    pub allocations: Vec<(u64, u64)>,
    /// Their length together.
    pub bytes: u64,
    /// Blocks of pinned host memory.
    pub pinned: usize,
    /// Streams.
    pub streams: usize,
    /// Events.
    pub events: usize,
    /// Modules.
    pub modules: usize,
    /// Communicators of NCCL.
    pub communicators: usize,
}

impl Leak {
    /// Whether nothing leaked.
    pub fn is_empty(&self) -> bool {
        let handles = self.streams + self.events + self.modules + self.communicators;
        self.allocations.is_empty() && self.pinned + handles == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_leaked_is_a_leak() {
        assert!(Leak { device: 1, ..Leak::default() }.is_empty());
        assert!(!Leak { allocations: vec![(1, 1)], ..Leak::default() }.is_empty());
        // Numbers of up to two kinds of objects, one of each.
        for kinds in (1..32).filter(|kinds: &u32| kinds.count_ones() <= 2) {
            let count = |kind: u32| (kinds >> kind & 1) as usize;
            let [pinned, streams, events, modules, communicators] = [0, 1, 2, 3, 4].map(count);
            let leak = Leak { pinned, streams, events, modules, communicators, ..Leak::default() };
            assert!(!leak.is_empty(), "{leak}");
        }
    }
}
