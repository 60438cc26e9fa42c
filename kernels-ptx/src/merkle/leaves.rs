//! Leaves of a tree of columns: neighbouring threads read neighbouring values of each column.
//!
//! # Safety
//! `columns` has the number of elements given by the parameters, which are places in `values`. No
//! column of the stage has more values than the stage has rows. `states` and `leaves` have a digest
//! for each state and row. Grid: a thread for each row; block: 256 threads.

use core_types::{
    blake2s::{BLOCK_WORDS, Digest, START, compress},
    field::M31,
    params::{columns::ColumnAt, merkle::MerkleStageParams},
};

use super::digest;
use crate::dev::{idx::global_id, unroll::unroll};

/// Takes the messages of all rows from the columns before the stage to its end.
///
/// It reads each column once; smaller ones come from the cache after that.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn merkle_leaves(
    params: MerkleStageParams,
    columns: *const ColumnAt,
    values: *const M31,
    states: *const Digest,
    leaves: *mut Digest,
) {
    let MerkleStageParams { log_rows, log_states, first, end, columns: count } = params;
    let row = global_id();
    if row >> log_rows != 0 {
        return;
    }
    let (mut chain, mut done) = (START, first);
    if first > 0 {
        chain = (*states.add(position(row, log_rows, log_states))).0;
    }
    loop {
        let mut block = [0; BLOCK_WORDS];
        unroll!(I in 0..16 => {
            if done + I < count {
                let column = *columns.add((done + I) as usize);
                let at = column.first as usize + position(row, log_rows, column.log_len);
                block[I as usize] = (*values.add(at)).word();
            }
        });
        done = count.min(done + BLOCK_WORDS as u32);
        chain = compress(chain, &block, 4 * u64::from(done), done == count);
        if done == end {
            break;
        }
    }
    digest::write(leaves.add(row as usize), Digest(chain));
}

/// The position in `2^log_len` values of a row of `2^log_rows`, which is no less.
///
/// Equals `core_types::air::lifted`, without a branch.
#[inline(always)]
fn position(row: u32, log_rows: u32, log_len: u32) -> usize {
    let pair = (row / 2) >> (log_rows - log_len);
    ((2 * pair + row % 2) & ((1 << log_len) - 1)) as usize
}

kernel_table! {
    merkle_leaves: block [256, 1, 1], min_blocks 4, shared None, barriers 0;
}
