//! Leaves of a tree of columns: neighbouring threads read neighbouring values of each column.
//!
//! # Safety
//! `columns` are `count` places in `values`, none of which is longer than the tree; there are `2^log_leaves` leaves. Grid: a
//! thread for each leaf; block: 256 threads.

use core_types::{
    air::lifted,
    blake2s::{BLOCK_WORDS, Digest, START, compress},
    field::M31,
    params::{columns::ColumnAt, merkle::MerkleLeavesParams},
};

use super::digest;
use crate::dev::{idx::global_id, unroll::unroll};

/// Writes the leaves. It reads every column once, as often as its height goes into that of the tree.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn merkle_leaves(
    params: MerkleLeavesParams,
    columns: *const ColumnAt,
    values: *const M31,
    leaves: *mut Digest,
    count: u32,
) {
    let leaf = global_id();
    if leaf >> params.log_leaves != 0 {
        return;
    }
    let (mut chain, mut done) = (START, 0);
    loop {
        let mut block = [0; BLOCK_WORDS];
        unroll!(I in 0..16 => {
            if done + I < count {
                let column = *columns.add((done + I) as usize);
                let at = lifted(leaf, params.log_leaves, column.log_len) & ((1 << column.log_len) - 1);
                block[I as usize] = (*values.add(column.first as usize + at as usize)).word();
            }
        });
        done = count.min(done + BLOCK_WORDS as u32);
        chain = compress(chain, &block, 4 * u64::from(done), done == count);
        if done == count {
            break;
        }
    }
    digest::write(leaves.add(leaf as usize), Digest(chain));
}

kernel_table! {
    merkle_leaves: block [256, 1, 1], min_blocks 4, shared None, barriers 0;
}
