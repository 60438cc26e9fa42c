//! Transport packing.

use core_types::{
    Ring,
    pack::{packed_word, unpacked_element},
    params::fss::PackParams,
};

use crate::dev::idx;

/// Packs elements, one word of the stream to a thread at a time.
///
/// It is a gather, so that no word is written twice.
///
/// # Safety
/// As the crate; views have the lengths of `FssOps::pack_bits`, `len` words.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn fss_pack_bits(params: PackParams, elements: *const u64, words: *mut u64, len: u32) {
    let Some(width) = Ring::new(params.bits) else { return };
    for index in idx::grid_stride(u64::from(len)) {
        let word = packed_word(index as u32, params.count, width, |i| *elements.add(i as usize));
        *words.add(index as usize) = word;
    }
}

/// Unpacks elements, one to a thread at a time.
///
/// # Safety
/// As the crate; views have the lengths of `FssOps::unpack_bits`.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn fss_unpack_bits(params: PackParams, words: *const u64, elements: *mut u64) {
    let Some(width) = Ring::new(params.bits) else { return };
    for index in idx::grid_stride(u64::from(params.count)) {
        *elements.add(index as usize) = unpacked_element(index, width, |i| *words.add(i as usize));
    }
}

kernel_table! {
    fss_pack_bits: block [256, 1, 1], min_blocks 8, shared None, barriers 0;
    fss_unpack_bits: block [256, 1, 1], min_blocks 8, shared None, barriers 0;
}
