//! Kernels of function secret sharing.
//!
//! They cover comparison keys, comparison keys with payload, seeds, packing, arithmetic on shares,
//! products of matrices of shares, and sums of tables.
//!
//! `backend_api::ops::fss` states the layout of a batch. Trees are walked by the formulas of
//! `core_types`; AES looks its rounds up in shared memory ([`aes`]), or is a circuit on bit planes
//! ([`bitsliced`]). Except for the addresses of those look-ups nothing depends on a secret: every
//! thread of a kernel takes the same branches and touches the same places of global memory for all
//! keys.

mod aes;
mod all;
mod bitsliced;
mod cmp;
mod dcf;
mod linear;
mod matmul;
mod pack;
mod quad;
mod seed;
mod share;
mod table;

use core::ops::Range;

use crate::dev::idx;

/// Keys that share one word of output bits. Rows are padded to a multiple of it.
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
