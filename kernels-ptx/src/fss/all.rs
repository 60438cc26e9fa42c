//! Comparison keys at every point.

use core_types::{
    Label,
    cmp::{CMP_ALL_BITS, CMP_TABLE_BITS, CmpTour, cmp_blocks, cmp_levels, cmp_table_unit},
    hash,
    params::fss::CmpAllParams,
    tree::Node,
};

use super::{
    aes::{ParamAes, Table},
    row,
};
use crate::dev::idx;

/// Nodes above the leaf blocks on the path to one of them, one for each level.
const KEPT: usize = (CMP_ALL_BITS - CMP_TABLE_BITS - 1) as usize;

/// The nodes of a path, in registers.
pub(super) struct Kept<T>([T; KEPT]);

impl<T: Copy> Kept<T> {
    /// No node yet: `value` fills the places.
    #[inline(always)]
    pub(super) fn new(value: T) -> Self {
        Self([value; KEPT])
    }

    /// Keeps the node of `level`, without an address that depends on the level.
    #[inline(always)]
    pub(super) fn keep(&mut self, level: u32, node: T) {
        let mut at = 0;
        for kept in &mut self.0 {
            *kept = if at == level { node } else { *kept };
            at += 1;
        }
    }

    /// The node that was kept at `level`.
    #[inline(always)]
    pub(super) fn at(&self, level: u32) -> T {
        let [mut node, ..] = self.0;
        let mut at = 0;
        for kept in self.0 {
            node = if at == level { kept } else { node };
            at += 1;
        }
        node
    }
}

/// Evaluates keys at every point.
///
/// A thread goes through the tree of one key from left to right, all threads in step, so that a
/// warp writes the same block of points of neighbouring keys at once.
///
/// The grid's first dimension runs over the keys and may be smaller than the range; the second cuts
/// the blocks of each key's points into equal parts, and is at most their number.
///
/// # Safety
/// As the crate; sections and units have the lengths of `FssOps::cmp_eval_all`.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn fss_cmp_eval_all(
    params: CmpAllParams,
    roots: *const Label,
    corrections: *const u128,
    leaves: *const u128,
    units: *mut u128,
) {
    let cipher = ParamAes { table: Table::fill(), key: &params.key };
    let (row, keys) = (row(params.count), u64::from(params.keys));
    let (bits, blocks) = (params.bits, cmp_blocks(params.bits) as u32);
    let from = idx::bid_y() * blocks / idx::gdim_y();
    let to = (idx::bid_y() + 1) * blocks / idx::gdim_y();
    for column in idx::grid_stride(keys) {
        let e = u64::from(params.first) + column;
        let mut unit = units.add((u64::from(from) * keys + column) as usize);
        if bits <= CMP_TABLE_BITS {
            *unit = cmp_table_unit(*leaves.add(e as usize), bits);
            continue;
        }
        let mut node = Node::root(*roots.add(e as usize), params.party);
        let mut kept = Kept::new(0);
        let mut tour = CmpTour::start(cmp_levels(bits), from);
        while tour.block() < to {
            let (level, c) = (tour.level(), tour.direction());
            let (section, at) = if tour.at_leaves() { (leaves, c) } else { (corrections, level) };
            let correction = *section.add((u64::from(at) * row + e) as usize);
            let hashed = hash(&cipher, node.input(c));
            if tour.at_leaves() {
                *unit = node.leaf_block(hashed, correction);
                unit = unit.add(keys as usize);
                tour.on();
                if !tour.at_leaves() {
                    node = Node::unpacked(kept.at(tour.level()));
                }
            } else {
                kept.keep(level, node.packed());
                node = node.corrected(hashed, c, correction);
                tour.down();
            }
        }
    }
}

kernel_table! {
    fss_cmp_eval_all:
        block [super::cmp::EVALUATED, 1, 1], min_blocks 3, shared Bytes(super::aes::TABLE_BYTES), barriers 1;
}
