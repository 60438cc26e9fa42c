//! The positions at which a proof is opened.
//!
//! Position `i` is word `i mod 8` of draw `i / 8`, modulo `2^log_size`; they are then sorted and
//! deduplicated (stwo 2.3, `core/queries.rs`).

use alloc::vec::Vec;

use crate::transcript::channel::Channel;

/// Draws `count` positions of `2^log_size` and returns the distinct ones, in ascending order.
pub(crate) fn draw(channel: &mut Channel, log_size: u32, count: usize) -> Vec<u32> {
    let mut positions = Vec::new();
    while positions.len() < count {
        let words = channel.draw_u32s();
        // `log_size` is at most 30.
        positions.extend(words.iter().take(count - positions.len()).map(|word| word & ((1 << log_size) - 1)));
    }
    positions.sort_unstable();
    positions.dedup();
    positions
}
