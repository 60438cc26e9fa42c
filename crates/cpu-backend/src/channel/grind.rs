//! The search for a nonce: threads take chunks of nonces in order, and the least nonce that any of them finds wins.

use core::sync::atomic::{AtomicU64, Ordering};

use backend_api::Queue;
use core_types::{
    blake2s::Digest,
    channel::{nonce, shows_work},
    params::channel::ChannelState,
};

use crate::CpuQueue;

/// Nonces that a thread takes at once.
const CHUNK: u64 = 1 << 12;

impl CpuQueue {
    /// The first nonce that shows `bits` bits of work.
    pub(super) fn first_nonce(&self, channel: ChannelState, bits: u32) -> [u32; 2] {
        let prefix = channel.work_prefix(bits);
        let (next, best) = (AtomicU64::new(0), AtomicU64::new(u64::MAX));
        self.for_indices(self.caps().threads, 1, |_| {
            loop {
                let first = next.fetch_add(CHUNK, Ordering::Relaxed);
                // A chunk below the best nonce is searched whatever the threads do, so the result is the least of all.
                if first >= best.load(Ordering::Relaxed) {
                    break;
                }
                if let Some(found) = found_in(first, prefix, bits) {
                    best.fetch_min(found, Ordering::Relaxed);
                }
            }
        });
        nonce(best.into_inner())
    }
}

/// The first number of a nonce in the chunk from `first` on that shows the work.
fn found_in(first: u64, prefix: Digest, bits: u32) -> Option<u64> {
    (first..first + CHUNK).find(|&index| shows_work(prefix, nonce(index), bits))
}
