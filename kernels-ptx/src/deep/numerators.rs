//! Sums of columns times their factors: one read of each column for each batch that uses it.
//!
//! A block adds up a batch at 1024 positions, four a thread, with the terms in shared memory. Sums
//! are of 64 bits and reduced after each four products.
//!
//! # Safety
//! `firsts` and `factors` have an element for each term, and no batch has more terms than `most`. A
//! column has `2^log_size` words from its first on, and `numerators` has four planes of
//! `2^log_size` words for each batch. Grid: `2^log_size / 1024`, one at least, times batches, which
//! are the slower; block: 256 threads.

use core_types::{
    field::{M31, P, QM31, widening_mul_add},
    params::deep::{DeepBatch, DeepNumeratorsParams},
};

use crate::dev::{
    idx::{bid_x, tid_x},
    memory::{
        gmem::U4,
        smem::{Layout, Region},
    },
    sync::block_sync,
    unroll::unroll,
};

const THREADS: u32 = 256;

/// Log of the positions of a block.
const LOG_BLOCK: u32 = 10;

/// Terms in shared memory at once, a multiple of four.
const TERMS: u32 = 128;

const FIRSTS: Region<u64> = Layout::new().array(TERMS);
const FACTORS: Region<U4> = FIRSTS.end().array(TERMS);

/// Shared memory of a block.
const SHARED_BYTES: u32 = FACTORS.end().bytes();

/// Writes the sums of a batch at its first positions.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn deep_numerators(
    firsts: *const u64,
    batches: *const DeepBatch,
    values: *const M31,
    factors: *const QM31,
    numerators: *mut M31,
    params: DeepNumeratorsParams,
    most: u32,
) {
    let (shared_firsts, shared_factors) = (FIRSTS.slice(), FACTORS.slice());
    let log_blocks = params.log_size.max(LOG_BLOCK) - LOG_BLOCK;
    let batch = (bid_x() >> log_blocks) as usize;
    let DeepBatch { first, count, .. } = *batches.add(batch);
    let len = 1u32 << params.log_size;
    let position = ((bid_x() & ((1 << log_blocks) - 1)) << LOG_BLOCK) + tid_x();
    let mut sums = [[0u64; 4]; 4];
    let mut done = 0;
    // All batches take the turns of the longest: a uniform bound shows that a block's threads meet at the barriers.
    while done < most {
        let held = (count.max(done) - done).min(TERMS);
        block_sync();
        // Terms beyond the last have the factor zero, so that each four are whole; their column is the last one's.
        if tid_x() < TERMS && held > 0 {
            let term = first as usize + (done + tid_x().min(held - 1)) as usize;
            shared_firsts.set(tid_x(), *firsts.add(term));
            let factor = if tid_x() < held { *factors.add(term) } else { QM31::ZERO };
            shared_factors.set(tid_x(), U4(factor.coordinates().map(M31::word)));
        }
        block_sync();
        let mut term = 0;
        while term < held {
            unroll!(I in 0..4 => {
                let column = values.add(shared_firsts.get(term + I) as usize);
                let U4(factor) = shared_factors.get(term + I);
                unroll!(J in 0..4 => {
                    let at = position + J * THREADS;
                    let word = if at < len { (*column.add(at as usize)).word() } else { 0 };
                    unroll!(K in 0..4 => {
                        let sum = sums[J as usize][K as usize];
                        sums[J as usize][K as usize] = widening_mul_add(word, factor[K as usize], sum);
                    });
                });
            });
            // Four products plus a reduced sum below 2^34 stay below 2^64.
            unroll!(J in 0..4 => {
                unroll!(K in 0..4 => {
                    let sum = sums[J as usize][K as usize];
                    sums[J as usize][K as usize] = (sum & u64::from(P)) + (sum >> 31);
                });
            });
            term += 4;
        }
        done += TERMS;
    }
    let planes = numerators.add(batch << (params.log_size + 2));
    unroll!(J in 0..4 => {
        let at = position + J * THREADS;
        if at < len {
            unroll!(K in 0..4 => {
                *planes.add(((K as usize) << params.log_size) + at as usize) = M31::from_u64(sums[J as usize][K as usize]);
            });
        }
    });
}

kernel_table! {
    deep_numerators: block [256, 1, 1], min_blocks 3, shared Bytes(SHARED_BYTES), barriers 2;
}
