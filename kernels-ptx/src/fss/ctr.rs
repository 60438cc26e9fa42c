//! Expansion of a seed.

use core_types::{Encrypt, block_words, params::fss::AesCtrParams};

use super::aes::{ParamAes, Table};
use crate::dev::idx;

/// Fills `len` words with the blocks of the counter, one block to a thread at a time.
///
/// # Safety
/// As the crate; `words` has `len` elements.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn fss_aes_ctr_fill(params: AesCtrParams, words: *mut u64, len: u64) {
    let cipher = ParamAes { table: Table::fill(), key: &params.key };
    for block in idx::grid_stride(len.div_ceil(2)) {
        let [low, high] = block_words(cipher.encrypt(params.first.wrapping_add(u128::from(block))));
        let at = 2 * block;
        *words.add(at as usize) = low;
        if at + 1 < len {
            *words.add(at as usize + 1) = high;
        }
    }
}
