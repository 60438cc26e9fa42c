//! The states of a ring that are most similar to queries.
//!
//! A block scans a part of the ring (`blockIdx.y`) for a query (`blockIdx.x`). A warp scans 32
//! states at a time and reads four at once; a second kernel joins the lists of all parts. The first
//! kernel is bound by reading the states.
//!
//! # Safety
//! `states` are `p.capacity x p.width`, `norms` `p.capacity`, `stored` one number, `queries`
//! `p.queries x p.width`; `words` hold `p.count` words for each part of each query. Neither the
//! count nor the queries are zero.

use core_types::params::correction::{NO_STATE, Ring, SimilarParams, rank, ranked, similarity};

use super::{
    best::Best,
    product::{product, total},
};
use crate::dev::{
    idx,
    memory::smem::{Layout, Region},
    numeric::math::{fma, sqrt},
    sync::block_sync,
    unroll::unroll,
    warp::{FULL, shfl_idx},
};

/// Warps of a block.
const WARPS: u32 = 8;
/// The lists of a block's warps.
const LISTS: Region<u64> = Layout::new().array(32 * WARPS);

/// The most similar states of each part of `part_len`. Grid: queries x parts; block: 256.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn correction_similar(
    p: SimilarParams,
    part_len: u64,
    states: *const f32,
    norms: *const f32,
    stored: *const u64,
    queries: *const f32,
    words: *mut u64,
) {
    let (width, count) = (p.width as u32, p.count as u32);
    let ring = Ring::new(p.capacity, shfl_idx(FULL, *stored, 0)); // of one lane: it decides for the warp
    let query = queries.add((u64::from(idx::bid_x()) * p.width) as usize);
    let norm = sqrt(product(width, query, query));
    let from = u64::from(idx::bid_y()) * part_len;
    let end = ring.held.min(from + part_len);
    let mut best = Best::NONE;
    let mut first = from + u64::from(32 * idx::warp());
    while first < end {
        // Lane i has state `first + i`; where there is none, the last one stands for it.
        let mut scalar = 0.0;
        let mut row = 0;
        while row < 32 {
            let state = |i: u32| {
                let order = (first + u64::from(row + i)).min(end - 1);
                states.add((ring.place(order) * p.width) as usize)
            };
            let four = [state(0), state(1), state(2), state(3)];
            let mut sums = [0.0; 4];
            let mut k = idx::lane();
            while k < width {
                let value = *query.add(k as usize);
                unroll!(R in 0..4 => {
                    sums[R as usize] = fma(*four[R as usize].add(k as usize), value, sums[R as usize]);
                });
                k += 32;
            }
            unroll!(R in 0..4 => {
                let sum = total(sums[R as usize]);
                if idx::lane() == row + R {
                    scalar = sum;
                }
            });
            row += 4;
        }
        let order = first + u64::from(idx::lane());
        let mut word = 0;
        if order < end {
            word = rank(similarity(scalar, *norms.add(ring.place(order) as usize), norm), order as u32);
        }
        best.take(word, count);
        first += u64::from(32 * WARPS);
    }
    let lists = LISTS.slice();
    lists.set(idx::tid_x(), best.0);
    block_sync();
    // Every warp joins all lists, and the first one writes.
    let mut joined = Best(lists.get(idx::lane()));
    let mut warp = 1;
    while warp < WARPS {
        joined.take(lists.get(32 * warp + idx::lane()), count);
        warp += 1;
    }
    if idx::tid_x() < count {
        let part = u64::from(idx::bid_x()) * u64::from(idx::gdim_y()) + u64::from(idx::bid_y());
        *words.add((part * p.count) as usize + idx::tid_x() as usize) = joined.0;
    }
}

/// The most similar states of all parts. Grid: queries; block: 32.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn correction_similar_join(
    p: SimilarParams,
    parts: u32,
    stored: *const u64,
    words: *const u64,
    places: *mut u32,
    similarities: *mut f32,
) {
    let (count, query) = (p.count as u32, idx::bid_x() as usize);
    let words = words.add(query * (parts * count) as usize);
    let mut best = Best::NONE;
    let mut first = 0;
    while first < parts * count {
        let at = first + idx::lane();
        best.take(if at < parts * count { *words.add(at as usize) } else { 0 }, count);
        first += 32;
    }
    if idx::lane() < count {
        let (place, value) = match ranked(best.0) {
            Some((similarity, order)) => (Ring::new(p.capacity, *stored).place(u64::from(order)) as u32, similarity),
            None => (NO_STATE, 0.0),
        };
        let at = query * count as usize + idx::lane() as usize;
        *places.add(at) = place;
        *similarities.add(at) = value;
    }
}

kernel_table! {
    correction_similar: block [32 * WARPS, 1, 1], min_blocks 4, shared Bytes(LISTS.end().bytes()), barriers 1;
    correction_similar_join: block [32, 1, 1], min_blocks 8, shared None, barriers 0;
}
