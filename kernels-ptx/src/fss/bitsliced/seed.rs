//! Key streams of seeds.

use core_types::params::fss::SeedParams;

use super::{ONE_CIPHER, cipher::RoundKeys, pairs::Pairs, seat::Seat};
use crate::dev::{idx, sync::block_sync};

/// Expands a seed. A warp takes 64 blocks of the key stream at a time.
///
/// The grid's first dimension runs over tiles of 256 blocks of a row and may be smaller; its second
/// dimension runs over the rows, and is at most their number.
///
/// # Safety
/// As the crate; `words` has the length of `FssOps::expand_seed`.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn fss_expand_seed_bitsliced(params: SeedParams, words: *mut u64) {
    let cipher = RoundKeys::at(ONE_CIPHER);
    cipher.write(0, &params.key);
    block_sync();
    let seat = Seat::this();
    let half = seat.word();
    let mask = if half == 0 { params.mask[0] } else { params.mask[1] };
    let mut row = u64::from(idx::bid_y());
    // each place along y has a row
    loop {
        let stream = words.add((2 * row * u64::from(params.blocks)) as usize);
        for pair in Pairs::of_warp(params.blocks) {
            let counters = seat.words_of_each(pair, |block| params.counter(row as u32, block as u32));
            let [v0, v1, v2, v3] = seat.joined(cipher.encrypt(0, seat.planes(counters)));
            let write = |i: u32, value: u64| {
                let block = seat.owner(i);
                if seat.has(pair, block) {
                    *stream.add((2 * seat.key(pair, block)) as usize + half as usize) = value & mask;
                }
            };
            write(0, v0);
            write(1, v1);
            write(2, v2);
            write(3, v3);
        }
        row += u64::from(idx::gdim_y());
        if row >= u64::from(params.rows) {
            break;
        }
    }
}

kernel_table! {
    fss_expand_seed_bitsliced:
        block [super::THREADS, 1, 1], min_blocks 4, shared Bytes(super::CMP_BYTES), barriers 1;
}
