//! Sums of words and a row that repeats over them.
//!
//! Every word is read once and written once, and a row that repeats comes from a cache: memory
//! bounds the kernel.

use core::hint::assert_unchecked;

use core_types::params::share::LinearWordsParams;

use super::share::COMBINED;
use crate::dev::idx;

/// Sums of words and a row: a thread takes one word at a time.
///
/// # Safety
/// As the crate; views have the lengths of `ShareOps::linear_words` or are null, and a row has a
/// word.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn fss_linear_words(
    mut params: LinearWordsParams,
    x: *const u64,
    row: *const u64,
    out: *mut u64,
) {
    let x = if x.is_null() { out.cast_const() } else { x };
    // Without a row each word is read again, and counts 0 times: the loop has no branch.
    let (row, period) = if row.is_null() {
        params.beta = 0;
        (x, params.count.max(1))
    } else {
        (row, params.period)
    };
    assert_unchecked(period != 0); // as the caller promises
    // The place in the row moves with the thread: a remainder for each word takes longer.
    let step = (idx::gdim_x() * idx::bdim_x()) % period;
    let mut place = idx::global_id() % period;
    for i in idx::grid_stride(params.count.into()) {
        *out.add(i as usize) = params.sum(*x.add(i as usize), *row.add(place as usize));
        let to_end = period - place;
        place = if step < to_end { place + step } else { step - to_end };
    }
}

kernel_table! {
    fss_linear_words: block [COMBINED, 1, 1], min_blocks 8, shared None, barriers 0;
}
