//! States that go into a ring, by one block, a warp to each.
//!
//! # Safety
//! `features` are `p.count x p.width`, `outcomes` `p.count x 3`, `states` `p.capacity x p.width`,
//! `norms` `p.capacity`, `known` `p.capacity x 3`, `stored` one number; no more states go in than
//! there are places. One block of 256.

use core_types::params::correction::{StoreParams, place};

use super::product::product;
use crate::dev::{idx, numeric::math::sqrt, sync::block_sync};

/// Warps of the block.
const WARPS: u32 = 8;

/// The whole op.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn correction_store(
    p: StoreParams,
    features: *const f32,
    outcomes: *const f32,
    states: *mut f32,
    norms: *mut f32,
    known: *mut f32,
    stored: *mut u64,
) {
    let (width, before) = (p.width as u32, *stored);
    let mut i = u64::from(idx::warp());
    while i < p.count {
        let state = features.add((i * p.width) as usize);
        let place = place(p.capacity, before.wrapping_add(i));
        let into = states.add((place * p.width) as usize);
        let mut k = idx::lane();
        while k < width {
            *into.add(k as usize) = *state.add(k as usize);
            k += 32;
        }
        let norm = sqrt(product(width, state, state));
        if idx::lane() == 0 {
            *norms.add(place as usize) = norm;
        }
        if idx::lane() < 3 {
            let at = idx::lane() as usize;
            *known.add(3 * place as usize + at) = *outcomes.add(3 * i as usize + at);
        }
        i += u64::from(WARPS);
    }
    block_sync();
    if idx::tid_x() == 0 {
        *stored = before.wrapping_add(p.count);
    }
}

kernel_table! {
    correction_store: block [32 * WARPS, 1, 1], min_blocks 1, shared None, barriers 1;
}
