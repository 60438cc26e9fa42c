//! The greatest magnitude of a matrix.
//!
//! # Safety
//! `a` are `len` floats, `peak` is one word, zero before the launch. Grid: any; block: 256.

use crate::dev::{atomic, idx, warp};

/// Raises `peak` to the greatest pattern of a magnitude.
///
/// The result does not depend on the order of the blocks.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn factor_peak(a: *const f32, len: u64, peak: *mut u32) {
    let mut greatest = 0;
    for i in idx::grid_stride(len) {
        greatest = u32::max(greatest, (*a.add(i as usize)).to_bits() & 0x7fff_ffff);
    }
    let greatest = warp::redux_max(warp::FULL, greatest);
    if idx::lane() == 0 {
        atomic::max(peak, greatest);
    }
}

kernel_table! {
    factor_peak: block [256, 1, 1], min_blocks 8, shared None, barriers 0;
}
