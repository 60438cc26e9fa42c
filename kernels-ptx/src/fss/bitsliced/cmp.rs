//! Comparison keys at points.

use core_types::{
    Label,
    bitsliced::{PLACES, prefix},
    cmp::cmp_levels,
    params::fss::CmpParams,
};

use super::{
    ONE_CIPHER,
    cipher::{Plane, RoundKeys},
    nodes::Nodes,
    pairs::Pairs,
    points::{Points, at},
    seat::Seat,
};
use crate::{
    dev::{
        idx,
        sync::block_sync,
        warp::{FULL, shfl_xor},
    },
    fss::{GROUP, row},
};

/// Evaluates keys of more than 7 bits at points: a warp takes 64 keys.
///
/// The grid's first dimension runs over tiles of 256 keys, the second over points; both may be smaller than the range.
///
/// # Safety
/// As the crate; sections and shares have the lengths of `FssOps::cmp_eval`. Without `offsets` so have `points`; else they
/// are the masked inputs of `FssOps::cmp_eval_window`, and the offsets those.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn fss_cmp_eval_bitsliced(
    params: CmpParams,
    roots: *const Label,
    corrections: *const u128,
    leaves: *const u128,
    points: *const u64,
    offsets: *const u64,
    shares: *mut u32,
) {
    let cipher = RoundKeys::at(ONE_CIPHER);
    cipher.write(0, &params.key);
    block_sync();
    let (seat, row) = (Seat::this(), row(params.count));
    let count = u64::from(params.count);
    let mut point = u64::from(idx::bid_y());
    while point < u64::from(params.points) {
        let (points, less) = at(point, points, offsets, count);
        for pair in Pairs::of_warp(params.count) {
            let mut nodes = Nodes::roots(seat, seat.planes(seat.words(roots.cast(), pair)), params.party);
            let mut points = Points::read(points, less, pair, params.bits);
            let (mut parity, mut last) = (Plane::ZEROS, Plane::ZEROS);
            let mut corrections = corrections;
            let mut levels = cmp_levels(params.bits);
            // the leaf blocks are one more step, so that the text holds the rounds of AES once
            let block = loop {
                let c = points.next(seat);
                // words come while the hashes are computed
                let words =
                    if levels > 0 { seat.words(corrections, pair) } else { seat.words_of_side(leaves, row, c, pair) };
                parity = parity ^ (nodes.control() & (c ^ last));
                last = c;
                let hashed = cipher.hash(0, nodes.input(seat, c, Plane::ZEROS));
                let correction = seat.planes(words);
                if levels == 0 {
                    break nodes.leaf_block(hashed, correction);
                }
                nodes = nodes.corrected(seat, hashed, c, correction);
                corrections = corrections.add(row as usize);
                levels -= 1;
            };
            let position: [Plane; 7] = {
                let [p6, p5, p4, p3, p2, p1, p0] = [0; 7].map(|_| points.next(seat));
                [p0, p1, p2, p3, p4, p5, p6]
            };
            // a left block adds its leaves up to y; a right block was counted whole and removes those after y
            let [b0, b1, b2, b3, b4, b5, b6, b7] = block;
            let [n0, n1, n2, n3, n4, n5, n6, n7] = prefix(position, seat.number());
            let counted = |leaf: Plane, reached: Plane| leaf & (reached ^ last);
            let low = counted(b0, n0) ^ counted(b1, n1) ^ counted(b2, n2) ^ counted(b3, n3);
            let high = counted(b4, n4) ^ counted(b5, n5) ^ counted(b6, n6) ^ counted(b7, n7);
            let share = parity ^ Plane(over_places((low ^ high).0));
            let [first, second] = seat.ordered(share, pair);
            let word = shares.add(((point * row + pair.first) / u64::from(GROUP)) as usize);
            if idx::lane() == 0 {
                *word = first;
            }
            if idx::lane() == PLACES && pair.has(1, 0) {
                *word.add(1) = second;
            }
        }
        point += u64::from(idx::gdim_y());
    }
}

/// The exclusive disjunction over the places of a group, in each of them.
#[inline(always)]
fn over_places(mut word: u32) -> u32 {
    let mut distance = PLACES / 2;
    while distance > 0 {
        word ^= shfl_xor(FULL, word, distance);
        distance /= 2;
    }
    word
}
