//! Weights of the parts of a column of coefficients in the values of one block of its domain.
//!
//! # Safety
//! `twiddles` are the `2^(log_domain - 1)` twiddles of the domain, and `weights` has an element for
//! each part of a column. Grid: any; block: 256 threads.

use core_types::{
    field::{M31, Twiddle},
    params::circle::CircleRestrictParams,
};

use crate::dev::idx::grid_stride;

/// Writes for each part the product of the factors of the bits that are set in its number.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn circle_restrict_weights(
    twiddles: *const Twiddle,
    weights: *mut Twiddle,
    params: CircleRestrictParams,
) {
    for part in grid_stride(1 << params.log_parts()) {
        let mut weight = M31::ONE;
        let mut bit = 0;
        while part >> bit != 0 {
            if part >> bit & 1 == 1 {
                weight = weight.times_twiddle(factor(twiddles, &params, bit));
            }
            bit += 1;
        }
        *weights.add(part as usize) = Twiddle::new(weight);
    }
}

/// The factor of the layer between parts that differ in `bit`, for the block.
#[inline(always)]
unsafe fn factor(twiddles: *const Twiddle, params: &CircleRestrictParams, bit: u32) -> Twiddle {
    let layer = params.log_block + bit;
    let offset = (1 << (params.log_domain - 1)) - (1 << (params.log_domain - layer));
    let factor = *twiddles.add((offset + (params.block >> bit >> 1)) as usize);
    if params.block >> bit & 1 == 1 { factor.negated() } else { factor }
}

kernel_table! {
    circle_restrict_weights: block [256, 1, 1], min_blocks 4, shared None, barriers 0;
}
