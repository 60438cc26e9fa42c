//! Comparison keys at every point.

use core_types::{
    Label,
    cmp::{CmpTour, cmp_blocks, cmp_levels},
    params::fss::CmpAllParams,
};

use super::{
    ONE_CIPHER,
    cipher::{Plane, RoundKeys},
    nodes::Nodes,
    pairs::Pairs,
    seat::Seat,
};
use crate::{
    dev::{idx, sync::block_sync},
    fss::{all::Kept, row},
};

/// Evaluates keys of more than 7 bits at every point.
///
/// A warp goes through the trees of 64 keys from left to right.
///
/// The grid's first dimension runs over tiles of 256 keys and may be smaller than the range; the
/// second cuts the blocks of each key's points into equal parts, and is at most their number.
///
/// # Safety
/// As the crate; sections and units have the lengths of `FssOps::cmp_eval_all`.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn fss_cmp_eval_all_bitsliced(
    params: CmpAllParams,
    roots: *const Label,
    corrections: *const u128,
    leaves: *const u128,
    units: *mut u128,
) {
    let cipher = RoundKeys::at(ONE_CIPHER);
    cipher.write(0, &params.key);
    block_sync();
    let (seat, row) = (Seat::this(), row(params.count));
    let blocks = cmp_blocks(params.bits) as u32;
    let from = idx::bid_y() * blocks / idx::gdim_y();
    let to = (idx::bid_y() + 1) * blocks / idx::gdim_y();
    let first = params.first as usize;
    for pair in Pairs::of_warp(params.keys) {
        let labels = seat.planes(seat.words(roots.cast::<u128>().add(first), pair));
        let mut nodes = Nodes::roots(seat, labels, params.party);
        let mut kept = Kept::new(nodes.labels(seat));
        let mut unit = units.add((u64::from(from) * u64::from(params.keys) + pair.first) as usize);
        let mut tour = CmpTour::start(cmp_levels(params.bits), from);
        while tour.block() < to {
            let (level, direction) = (tour.level(), tour.direction());
            let (section, at) = if tour.at_leaves() { (leaves, direction) } else { (corrections, level) };
            let words = seat.words(section.add((u64::from(at) * row) as usize + first), pair);
            let c = Plane::spread(direction);
            let hashed = cipher.hash(0, nodes.input(seat, c, Plane::ZEROS));
            let correction = seat.planes(words);
            if tour.at_leaves() {
                seat.write(unit, pair, nodes.leaf_block(hashed, correction));
                unit = unit.add(params.keys as usize);
                tour.on();
                if !tour.at_leaves() {
                    nodes = Nodes::packed(seat, kept.at(tour.level()));
                }
            } else {
                kept.keep(level, nodes.labels(seat));
                nodes = nodes.corrected(seat, hashed, c, correction);
                tour.down();
            }
        }
    }
}

kernel_table! {
    fss_cmp_eval_all_bitsliced: block [super::THREADS, 1, 1], min_blocks 4, shared Bytes(super::CMP_BYTES), barriers 1;
}
