//! Proof of work.
//!
//! Warps take tickets for nonces in ascending order and stop at tickets beyond the best nonce
//! found.
//!
//! Every ticket below the least nonce is taken and searched, so that nonce is found whatever the
//! order of warps. Bound by arithmetic: a nonce is one compression.
//!
//! # Safety
//! `channel` is one transcript, `nonce` two words. `search` are two words that are zero at first:
//! the tickets taken, and the complement of the least number of a nonce found.

use core_types::{
    channel::{nonce as nonce_of, shows_work},
    params::channel::{ChannelGrindParams, ChannelState},
};

use crate::dev::{
    atomic,
    idx::lane,
    warp::{FULL, any, shfl_idx},
};

/// Nonces of a ticket.
///
/// There are several for each lane, since all warps take their tickets from one word.
const TICKET: u64 = 32 * 8;

/// Searches for the least number of a nonce that shows the work. Grid: any.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn channel_grind(
    channel: *const ChannelState,
    search: *mut u64,
    params: ChannelGrindParams,
) {
    let prefix = (*channel).work_prefix(params.bits);
    let (mut first, mut end) = (0, 0);
    loop {
        if first == end {
            let (mut taken, mut complement) = (0, 0);
            if lane() == 0 {
                taken = atomic::add_u64(search, 1);
                complement = atomic::max_u64(search.add(1), 0);
            }
            first = TICKET * shfl_idx(FULL, taken, 0);
            end = first + TICKET;
            if first >= !shfl_idx(FULL, complement, 0) {
                break;
            }
        }
        let index = first + u64::from(lane());
        let shows = shows_work(prefix, nonce_of(index), params.bits);
        if shows {
            atomic::max_u64(search.add(1), !index);
        }
        // What follows in the ticket is greater.
        first = if any(FULL, shows) { end } else { first + 32 };
    }
}

/// Writes the nonce that was found. Grid: one block.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn channel_nonce(search: *const u64, nonce: *mut u32) {
    let [lower, upper] = nonce_of(!*search.add(1));
    *nonce = lower;
    *nonce.add(1) = upper;
}

kernel_table! {
    channel_grind: block [256, 1, 1], min_blocks 4, shared None, barriers 0;
    channel_nonce: block [1, 1, 1], min_blocks 1, shared None, barriers 0;
}
