//! The record of steps, taken to the next one.
//!
//! # Safety
//! `sums` are `count` doubles, `state` is one record. Grid: one block; block: 256.

use core_types::params::optim::{AdvanceParams, StepState};

use crate::{
    dev::{idx, numeric::math::sqrt_f64},
    linalg::{
        group::{Block, Group, REDUCE_BYTES},
        index::THREADS,
    },
};

/// Adds the sums in a fixed order and writes the record; without sums the norm is not known.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn optim_advance(p: AdvanceParams, count: u32, sums: *const f64, state: *mut StepState) {
    let mut sum = 0.0;
    for i in idx::block_stride(count) {
        sum += *sums.add(i as usize);
    }
    let sum = Block::sum_f64::<0>(sum);
    if idx::tid_x() == 0 {
        *state = p.advance(*state, if sums.is_null() { None } else { Some(sum) }, sqrt_f64);
    }
}

kernel_table! {
    optim_advance: block [THREADS, 1, 1], min_blocks 1, shared Bytes(REDUCE_BYTES), barriers 1;
}
