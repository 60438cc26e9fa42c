//! Counts of the calls that go through a context.

use core::sync::atomic::{AtomicU64, Ordering};

use backend_api::Submissions;

/// How often a context was called, and for what.
#[derive(Debug, Default)]
pub(super) struct CallCounts {
    calls: AtomicU64,
    launches: AtomicU64,
    replays: AtomicU64,
    copies: AtomicU64,
    allocations: AtomicU64,
    waits: AtomicU64,
}

impl CallCounts {
    /// Counts a call by its name.
    pub(super) fn called(&self, call: &str) {
        add(&self.calls);
        match call {
            "cuLaunchKernel" | "cuLaunchCooperativeKernel" => add(&self.launches),
            "cuGraphLaunch" => add(&self.replays),
            "cuMemcpyHtoDAsync_v2"
            | "cuMemcpyDtoHAsync_v2"
            | "cuMemcpyDtoDAsync_v2"
            | "cuMemcpyPeerAsync"
            | "cuMemsetD8Async" => {
                add(&self.copies);
            }
            "cuMemAllocFromPoolAsync" | "cuMemAlloc_v2" => add(&self.allocations),
            "cuStreamSynchronize" | "cuCtxSynchronize" | "cuEventSynchronize" => add(&self.waits),
            _ => {}
        }
    }

    /// Counts a polling wait, but not its polls.
    pub(super) fn waits_by_asking(&self) {
        add(&self.waits);
    }

    /// Counts one more poll of such a wait.
    pub(super) fn asks(&self) {
        add(&self.calls);
    }

    pub(super) fn submissions(&self) -> Submissions {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Submissions {
            calls: of(&self.calls),
            launches: of(&self.launches),
            replays: of(&self.replays),
            copies: of(&self.copies),
            allocations: of(&self.allocations),
            waits: of(&self.waits),
        }
    }
}

fn add(count: &AtomicU64) {
    count.fetch_add(1, Ordering::Relaxed);
}
