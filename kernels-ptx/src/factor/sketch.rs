//! Matrices of random signs.
//!
//! # Safety
//! `omega` are `len` floats, `peak` is one word. Grid: any; block: 256.

use core_types::{
    params::factor::{power_of_two, scale_exponent},
    philox,
};

use crate::dev::idx;

/// Fills `omega` with signs, a thread four at a time.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn factor_sketch(seed: u64, len: u64, peak: *const u32, omega: *mut f32) {
    let unit = (power_of_two(-scale_exponent(*peak)) as f32).to_bits();
    for block in idx::grid_stride(len.div_ceil(4)) {
        let words = philox::block(seed, 0, 0, block);
        let mut i = 0;
        while i < 4 {
            let place = 4 * block + i;
            if place < len {
                *omega.add(place as usize) = f32::from_bits(unit | (words[i as usize] & 1 << 31));
            }
            i += 1;
        }
    }
}

kernel_table! {
    factor_sketch: block [256, 1, 1], min_blocks 4, shared None, barriers 0;
}
