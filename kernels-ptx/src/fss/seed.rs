//! Key streams of seeds.

use core_types::{Encrypt as _, params::fss::SeedParams};

use super::aes::{ParamAes, Table};
use crate::dev::idx;

/// Threads of a block.
const THREADS: u32 = 256;

/// Expands a seed, one block of the key stream to a thread at a time.
///
/// The grid's first dimension runs over the blocks of a row and may be smaller; its second
/// dimension runs over the rows, and is at most their number.
///
/// # Safety
/// As the crate; `words` has the length of `FssOps::expand_seed`.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn fss_expand_seed(params: SeedParams, words: *mut u64) {
    let cipher = ParamAes { table: Table::fill(), key: &params.key };
    let mut row = u64::from(idx::bid_y());
    // each place along y has a row
    loop {
        let stream = words.add((2 * row * u64::from(params.blocks)) as usize);
        for block in idx::grid_stride(u64::from(params.blocks)) {
            let [low, high] = params.words(cipher.encrypt(params.counter(row as u32, block as u32)));
            let pair = stream.add(2 * block as usize);
            *pair = low;
            *pair.add(1) = high;
        }
        row += u64::from(idx::gdim_y());
        if row >= u64::from(params.rows) {
            break;
        }
    }
}

kernel_table! {
    fss_expand_seed: block [THREADS, 1, 1], min_blocks 4, shared Bytes(super::aes::TABLE_BYTES), barriers 1;
}
