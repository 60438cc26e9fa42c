//! Sums of tables over the set bits of shares against sums over single points, at every level.

use backend_api::ops::share::{ShareOps, TableSums};
use core_types::{cmp::cmp_blocks, params::share::TableSumsParams};

use super::words;
use crate::levels::queues;

/// Compares the sums and the numbers of set bits with sums of 128 bits.
fn expect(params: TableSumsParams, units: &[u128], x: &[u64], tables: &[u64]) {
    let (count, size) = (params.count as usize, 1usize << params.bits);
    let bit = |e: usize, i: usize| units[i / 128 * count + e] >> (i % 128) & 1;
    let mut sums = Vec::with_capacity(params.tables as usize * count);
    for table in tables.chunks_exact(size) {
        for (e, &x) in x.iter().enumerate() {
            let own = x as usize % size;
            let term = |i: usize| bit(e, i) * u128::from(table[(own + size - i) % size]);
            sums.push((0..size).map(term).sum::<u128>() as u64);
        }
    }
    let ones: Vec<u64> = (0..count).map(|e| (0..size).map(|i| bit(e, i) as u64).sum()).collect();
    for q in queues() {
        let (mut got, mut set) = (vec![7; sums.len()], vec![7; ones.len()]);
        q.table_sums(TableSums { params: &params, units, x, table: tables, sums: &mut got, ones: &mut set }).unwrap();
        assert!(got == sums && set == ones, "{params:?}, {q:?}");
    }
}

/// Words of `params` that look random.
fn expect_random(params: TableSumsParams) {
    let (count, blocks) = (params.count as usize, cmp_blocks(params.bits) as usize);
    let halves = words(2 * blocks * count, 1);
    let units: Vec<u128> = halves.chunks_exact(2).map(|half| u128::from(half[0]) << 64 | u128::from(half[1])).collect();
    expect(params, &units, &words(count, 2), &words((params.tables as usize) << params.bits, 3));
}

/// Every width, and several jobs of narrow and of wide tables.
#[test]
fn sums_over_set_bits_are_wide_sums_at_every_level() {
    for bits in 1..=13 {
        expect_random(TableSumsParams { count: 5, bits, tables: 2 });
    }
    for tables in [1, 3, 8] {
        expect_random(TableSumsParams { count: 33, bits: 8, tables });
    }
    expect_random(TableSumsParams { count: (1 << 15) + 3, bits: 2, tables: 1 });
    expect_random(TableSumsParams { count: (1 << 13) + 77, bits: 8, tables: 2 });
    expect_random(TableSumsParams { count: 270, bits: 13, tables: 1 });
    expect_random(TableSumsParams { count: 0, bits: 13, tables: 8 });
}

#[test]
fn sums_of_the_greatest_words_wrap_and_bits_past_the_points_do_not_count() {
    for bits in [1, 6, 7, 9] {
        let (count, blocks) = (3, cmp_blocks(bits) as usize);
        let units = [0, u128::MAX, 1 << 127].repeat(blocks);
        let tables = [0, u64::MAX, 1 << 63].map(|word| vec![word; 1 << bits]).concat();
        expect(TableSumsParams { count, bits, tables: 3 }, &units, &[0, u64::MAX, 1 << 63], &tables);
    }
}
