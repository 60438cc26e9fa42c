//! Kernels of function secret sharing: comparison keys, comparison keys with payload, packing, arithmetic on shares.
//!
//! `backend_api::ops::fss` states the layout of a batch. Trees are walked by the formulas of `core_types`; AES looks
//! its rounds up in shared memory ([`aes`]), or is a circuit on bit planes ([`bitsliced`]). Except for the addresses of
//! those look-ups nothing depends on a secret: every thread of a kernel takes the same branches and touches the same
//! places of global memory for all keys.

mod aes;
mod all;
mod bitsliced;
mod cmp;
mod dcf;
mod pack;
mod quad;
mod share;

use core::ops::Range;

use self::{
    aes::TABLE_BYTES,
    all::fss_cmp_eval_all,
    bitsliced::{
        fss_cmp_eval_all_bitsliced, fss_cmp_eval_window_bitsliced, fss_dcf_eval_window_bitsliced,
    },
    cmp::{EVALUATED, fss_cmp_eval_window, fss_cmp_gen},
    dcf::{DCF_BYTES, fss_dcf_eval_window, fss_dcf_gen},
    pack::{fss_pack_bits, fss_unpack_bits},
    share::{COMBINED, fss_combine_bits, fss_combine_words},
};
use crate::{dev::idx, table::Shared};

/// Keys that share one word of output bits, and to a multiple of which rows are padded.
const GROUP: u32 = 32;

/// Keys to a row.
#[inline(always)]
const fn row(count: u32) -> u64 {
    (count as u64).next_multiple_of(GROUP as u64)
}

/// The part of `points` points that the blocks of this place along y take.
#[inline(always)]
fn part(points: u32) -> Range<u32> {
    let cut = |at: u32| (u64::from(at) * u64::from(points) / u64::from(idx::gdim_y())) as u32;
    cut(idx::bid_y())..cut(idx::bid_y() + 1)
}

kernel_table! {
    fss_cmp_eval_all_bitsliced:
        block [bitsliced::THREADS, 1, 1], min_blocks 4, shared Shared::Bytes(bitsliced::CMP_BYTES), barriers 1;
    fss_cmp_eval_window_bitsliced:
        block [bitsliced::THREADS, 1, 1], min_blocks 4, shared Shared::Bytes(bitsliced::CMP_BYTES), barriers 1;
    fss_dcf_eval_window_bitsliced:
        block [bitsliced::THREADS, 1, 1], min_blocks 3, shared Shared::Bytes(bitsliced::DCF_BYTES), barriers 1;
    fss_cmp_eval_all: block [EVALUATED, 1, 1], min_blocks 3, shared Shared::Bytes(TABLE_BYTES), barriers 1;
    fss_cmp_eval_window: block [EVALUATED, 1, 1], min_blocks 4, shared Shared::Bytes(TABLE_BYTES), barriers 1;
    fss_cmp_gen: block [quad::THREADS, 1, 1], min_blocks 6, shared Shared::Bytes(TABLE_BYTES), barriers 1;
    fss_dcf_eval_window: block [EVALUATED, 1, 1], min_blocks 2, shared Shared::Bytes(DCF_BYTES), barriers 1;
    fss_dcf_gen: block [quad::THREADS, 1, 1], min_blocks 5, shared Shared::Bytes(DCF_BYTES), barriers 1;
    fss_pack_bits: block [256, 1, 1], min_blocks 8, shared Shared::None, barriers 0;
    fss_unpack_bits: block [256, 1, 1], min_blocks 8, shared Shared::None, barriers 0;
    fss_combine_bits: block [COMBINED, 1, 1], min_blocks 6, shared Shared::None, barriers 0;
    fss_combine_words: block [COMBINED, 1, 1], min_blocks 4, shared Shared::None, barriers 0;
}
