//! Sums of public tables over the set bits of shares, an element to a warp at a time.
//!
//! A lane takes every 32nd point. Entries for neighbouring points are neighbours in a table, so a
//! warp reads 256 bytes of it at once, from the first-level cache if the table is small. A block of
//! 128 points of a share is one word, which all lanes read: from memory for the first table, later
//! from cache. Results are written once.
//!
//! A bit becomes a mask by shifts, and no branch and no address depends on it. The masks and sums
//! of the points limit wide positions, the sum over the lanes of a warp limits narrow ones.

use core::hint::assert_unchecked;

use core_types::{cmp::cmp_blocks, params::share::TableSumsParams};

use crate::dev::{idx, unroll::unroll, warp::reduce};

/// Threads of a block.
const THREADS: u32 = 256;
/// Warps of a block, and elements that it takes at a time.
const WARPS: u32 = THREADS / 32;
/// Points in a block of a share.
const POINTS: u32 = 128;

/// The sums over the tables, and the numbers of set bits. Grid: any; block: 256.
///
/// # Safety
/// As the crate; views have the lengths of `ShareOps::table_sums`, for one table or more.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn fss_table_sums(
    params: TableSumsParams,
    units: *const u128,
    x: *const u64,
    table: *const u64,
    sums: *mut u64,
    ones: *mut u64,
) {
    let (count, blocks) = (u64::from(params.count), cmp_blocks(params.bits) as u32);
    assert_unchecked(blocks != 0);
    assert_unchecked(params.tables != 0);
    let lane = idx::lane();
    let mut e = u64::from(idx::bid_x()) * u64::from(WARPS) + u64::from(idx::warp());
    while e < count {
        let x = *x.add(e as usize);
        let mut out = sums.add(e as usize);
        let mut number = 0;
        while number < params.tables {
            let table = table.add((u64::from(number) << params.bits) as usize);
            let mut unit = units.add(e as usize);
            let (mut sum, mut set) = (0u64, 0);
            let mut block = 0;
            while block < blocks {
                let bits = params.counted(*unit);
                set += bits.count_ones();
                unroll!(I in 0..4 => {
                    let entry = *table.add(params.place(x, POINTS * block + 32 * I + lane) as usize);
                    // The lane's bit in every place.
                    let mask = ((bits >> (32 * I)) as u32) << (31 - lane);
                    let mask = i64::from(mask.cast_signed() >> 31).cast_unsigned();
                    sum = sum.wrapping_add(entry & mask);
                });
                unit = unit.wrapping_add(count as usize);
                block += 1;
            }
            let sum = reduce(sum, u64::wrapping_add);
            if lane == 0 {
                *out = sum;
                if number == 0 {
                    *ones.add(e as usize) = u64::from(set);
                }
            }
            out = out.wrapping_add(count as usize);
            number += 1;
        }
        e += u64::from(idx::gdim_x()) * u64::from(WARPS);
    }
}

kernel_table! {
    fss_table_sums: block [THREADS, 1, 1], min_blocks 4, shared None, barriers 0;
}
