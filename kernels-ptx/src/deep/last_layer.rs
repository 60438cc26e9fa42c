//! The polynomial of the last layer, by one block.
//!
//! It runs layer after layer in global memory, with a barrier between them.
//!
//! # Safety
//! `twiddles` are the `2^log_size` inverse twiddles of the domain of `2^(log_size + 1)` points,
//! `values` and `scratch` four planes of `2^log_size` words, `coefficients` `2^log_bound` elements,
//! `excess` one word. Grid: one block of 512 threads.

use core_types::{
    circle::bit_reversed,
    field::{M31, QM31, Twiddle},
    params::fri::FriLastLayerParams,
};

use super::fold::factor;
use crate::dev::{
    idx::{block_stride, tid_x},
    sync::{block_any, block_sync},
};

/// Interpolates, and writes the lowest coefficients in bit-reversed order.
///
/// Also writes whether others are not zero.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn deep_last_layer(
    twiddles: *const Twiddle,
    values: *const M31,
    scratch: *mut M31,
    coefficients: *mut QM31,
    excess: *mut u32,
    params: FriLastLayerParams,
) {
    let FriLastLayerParams { log_size, log_bound } = params;
    let len = 1u32 << log_size;
    for i in block_stride(4 * len) {
        *scratch.add(i as usize) = (*values.add(i as usize)).div_power_of_two(log_size);
    }
    block_sync();
    let mut layer = 0;
    while layer < log_size {
        // The pairs of the four planes follow each other.
        for i in block_stride(2 * len) {
            let (plane, pair) = (i >> (log_size - 1), i & ((len >> 1) - 1));
            let h = pair >> layer;
            let low = scratch.add(((plane << log_size) + pair + (h << layer)) as usize);
            let high = low.add(1 << layer);
            (*low, *high) = (*low).inverse_butterfly(*high, factor(twiddles, log_size + 1, layer + 1, h as usize));
        }
        block_sync();
        layer += 1;
    }
    let mut beyond = false;
    for i in block_stride(len) {
        let coefficient = |place: u32| {
            let plane = |k: u32| *scratch.add(((k << log_size) + place) as usize);
            QM31::from_coordinates([plane(0), plane(1), plane(2), plane(3)])
        };
        if i < 1 << log_bound {
            *coefficients.add(i as usize) = coefficient(bit_reversed(i, log_bound));
        } else {
            beyond |= coefficient(i) != QM31::ZERO;
        }
    }
    let beyond = block_any(beyond);
    if tid_x() == 0 {
        *excess = u32::from(beyond);
    }
}

kernel_table! {
    deep_last_layer: block [512, 1, 1], min_blocks 1, shared None, barriers 3;
}
