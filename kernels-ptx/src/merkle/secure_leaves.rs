//! Leaves of a tree of one column of the secure field.
//!
//! # Safety
//! `values` are four planes with one word for each value of the leaves, `2^log_leaves` times one or
//! four. Grid: a thread for each leaf; block: 256 threads.

use core_types::{
    blake2s::{BLOCK_WORDS, Digest, one_block},
    field::M31,
};

use super::digest;
use crate::dev::{idx::global_id, unroll::unroll};

/// Leaves of one value: reads each once, coordinate by coordinate.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn merkle_secure_leaves(values: *const M31, leaves: *mut Digest, log_leaves: u32) {
    let leaf = global_id();
    if leaf >> log_leaves != 0 {
        return;
    }
    let mut block = [0; BLOCK_WORDS];
    unroll!(I in 0..4 => {
        block[I as usize] = (*values.add(((I as usize) << log_leaves) + leaf as usize)).word();
    });
    digest::write(leaves.add(leaf as usize), one_block(&block, 16));
}

/// Leaves of four values.
///
/// A thread reads four words of each coordinate that follow each other, one at a time, since views
/// begin at any word; they are in the cache after the first.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn merkle_packed_leaves(values: *const M31, leaves: *mut Digest, log_leaves: u32) {
    let leaf = global_id();
    if leaf >> log_leaves != 0 {
        return;
    }
    let mut block = [0; BLOCK_WORDS];
    unroll!(I in 0..16 => {
        const VALUE: usize = I as usize / 4;
        const COORDINATE: usize = I as usize % 4;
        block[I as usize] = (*values.add((((COORDINATE << log_leaves) + leaf as usize) << 2) + VALUE)).word();
    });
    digest::write(leaves.add(leaf as usize), one_block(&block, 64));
}

kernel_table! {
    merkle_secure_leaves, merkle_packed_leaves: block [256, 1, 1], min_blocks 4, shared None, barriers 0;
}
