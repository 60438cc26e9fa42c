//! Local arithmetic on shares, between key tree walks and exchanges.
//!
//! It runs between a walk of key trees and an exchange, and after the exchange.
//!
//! All threads go through the same list of terms, which caches hand to a warp at once.

use core_types::params::share::{BitParams, BitTerm, NO_ROW, WordParams, WordTerm};

use super::{GROUP, row};
use crate::dev::{
    idx,
    warp::{FULL, ballot},
};

/// Threads of a block that combines rows, and elements that it takes at a time.
pub(super) const COMBINED: u32 = 256;

/// Sums of bits: a thread takes one element, a warp the 32 elements of one word.
///
/// # Safety
/// As the crate; `terms` are `len`, views have the lengths of `ShareOps::combine_bits`.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn fss_combine_bits(
    params: BitParams,
    terms: *const BitTerm,
    x: *const u64,
    rows: *const u32,
    sums: *mut u32,
    len: u32,
) {
    let padded = row(params.count);
    let words = padded / u64::from(GROUP);
    let tiles = params.count.div_ceil(COMBINED);
    let mut tile = idx::bid_x();
    while tile < tiles {
        let e = u64::from(tile) * u64::from(COMBINED) + u64::from(idx::tid_x());
        let exists = e < u64::from(params.count);
        let x = if exists { *x.add(e as usize) } else { 0 };
        let word = e / u64::from(GROUP);
        // a warp past the last element has no word
        let (word, writes) = if e < padded { (word, idx::lane() == 0) } else { (0, false) };
        let used = ballot(FULL, exists);
        let mut sum = 0;
        let mut out = sums.add(word as usize);
        let mut at = 0;
        while at < len {
            let term = &*terms.add(at as usize);
            sum ^= ballot(FULL, term.public_bit(params.party, x) != 0);
            if term.row != NO_ROW {
                sum ^= *rows.add((u64::from(term.row) * words + word) as usize);
            }
            if term.last != 0 {
                if writes {
                    *out = sum & used;
                }
                out = out.wrapping_add(words as usize);
                sum = 0;
            }
            at += 1;
        }
        tile += idx::gdim_x();
    }
}

/// Sums of words: a thread takes one element.
///
/// # Safety
/// As the crate; `terms` are `len`, and `sums_of_element` of them end a sum; views have the lengths
/// of `ShareOps::combine_words`.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn fss_combine_words(
    params: WordParams,
    terms: *const WordTerm,
    x: *const u64,
    padded: *const u64,
    rows: *const u64,
    opened: *const u32,
    sums: *mut u64,
    len: u32,
    sums_of_element: u32,
) {
    let (count, width) = (u64::from(params.count), row(params.count));
    // from one sum to the next, and from one element to the next
    let (sum_step, element_step) = if params.interleaved == 0 { (count, 1) } else { (1, u64::from(sums_of_element)) };
    for e in idx::grid_stride(count) {
        let x = *x.add(e as usize);
        let variable = params.variable(x);
        let bit = |at: u32| {
            let word = *opened.add((u64::from(at) * (width / u64::from(GROUP)) + e / u64::from(GROUP)) as usize);
            u64::from(word >> (e as u32 % GROUP) & 1)
        };
        let word = |at: u32| match at.checked_sub(params.padded_rows) {
            None => *padded.add((u64::from(at) * width + e) as usize),
            Some(at) => *rows.add((u64::from(at) * count + e) as usize),
        };
        let mut out = sums.add((e * element_step) as usize);
        let mut sum = 0u64;
        let mut at = 0;
        while at < len {
            let term = &*terms.add(at as usize);
            if term.counts(x, bit) {
                let share = term.share(params.party, bit, word);
                sum = sum.wrapping_add(share.wrapping_mul(term.factor(variable)));
            }
            if term.last != 0 {
                *out = params.reduce(sum);
                out = out.wrapping_add(sum_step as usize);
                sum = 0;
            }
            at += 1;
        }
    }
}

kernel_table! {
    fss_combine_bits: block [COMBINED, 1, 1], min_blocks 6, shared None, barriers 0;
    fss_combine_words: block [COMBINED, 1, 1], min_blocks 4, shared None, barriers 0;
}
