//! Twiddle factors of a domain, each by itself from the index of its point.
//!
//! # Safety
//! Both buffers hold `2^(log_size - 1)` factors. Grid: any; block: 256 threads.

use core_types::{
    circle::CirclePointIndex,
    field::{M31, Twiddle},
    params::circle::CircleTwiddleParams,
};

use crate::dev::idx::grid_stride;

/// Writes the factors and their inverses.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn circle_twiddles(
    twiddles: *mut Twiddle,
    inverse_twiddles: *mut Twiddle,
    params: CircleTwiddleParams,
) {
    for index in grid_stride(1 << (params.log_size - 1)) {
        let x = x_coordinate(params.log_size, index as u32);
        *twiddles.add(index as usize) = Twiddle::new(x);
        *inverse_twiddles.add(index as usize) = Twiddle::new(x.inverse().unwrap_or(M31::ZERO));
    }
}

/// Entry `index` of the flat buffer.
///
/// Layer `j` starts when `2^(log_size - 1 - j)` entries are left.
#[inline(always)]
fn x_coordinate(log_size: u32, index: u32) -> M31 {
    let left = (1 << (log_size - 1)) - index;
    if left == 1 {
        return M31::ONE;
    }
    let log_len = (left - 1).ilog2();
    let layer = log_size - 2 - log_len;
    let h = (2 << log_len) - left;
    // Entry h of layer j is pi^j of entry h << j of layer 0, the point g (1 + 4 bitrev(h << j)).
    let reversed = if log_len == 0 { 0 } else { h.reverse_bits() >> (32 - log_len) };
    let unit = CirclePointIndex::subgroup_generator(log_size + 1);
    (unit * (1 + 4 * reversed) * (1 << layer)).to_point().x
}

kernel_table! {
    circle_twiddles: block [256, 1, 1], min_blocks 4, shared None, barriers 0;
}
