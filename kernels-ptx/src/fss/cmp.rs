//! Comparison keys.

use core_types::{
    Label,
    cmp::{cmp_eval_window, cmp_leaves, cmp_levels, leaf_corrections, table_shares},
    hash,
    params::fss::{CmpGenParams, CmpWindowParams},
    tree::{Node, correction_word},
};

use super::{
    GROUP,
    aes::{ParamAes, Table},
    part,
    quad::{Exchange, KEYS, Lane},
    row,
};
use crate::dev::{
    idx,
    warp::{FULL, ballot},
};

/// Threads of a block that evaluates keys, and keys that it evaluates at a time.
pub(super) const EVALUATED: u32 = 256;

/// Evaluates keys at clustered points.
///
/// A thread takes one key and its points one after the other, a warp the 32 keys of one word of
/// bits, all in step.
///
/// The grid's first dimension runs over tiles of 256 keys and may be smaller than the range; the
/// second cuts the points into equal parts.
///
/// # Safety
/// As the crate; sections, masked inputs, offsets and shares have the lengths of
/// `FssOps::cmp_eval_window`.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn fss_cmp_eval_window(
    params: CmpWindowParams,
    roots: *const Label,
    corrections: *const u128,
    leaves: *const u128,
    x_hat: *const u64,
    offsets: *const u64,
    shares: *mut u32,
) {
    let cipher = ParamAes { table: Table::fill(), key: &params.key };
    let row = row(params.count);
    let tiles = params.count.div_ceil(EVALUATED);
    let mut tile = idx::bid_x();
    while tile < tiles {
        let e = u64::from(tile) * u64::from(EVALUATED) + u64::from(idx::tid_x());
        let exists = e < u64::from(params.count);
        // a lane without a key repeats the last key's work, so that the warp stays together
        let key = if exists { e } else { u64::from(params.count - 1) };
        let x = *x_hat.add(key as usize);
        cmp_eval_window(
            &cipher,
            (params.bits, params.party, params.window),
            *roots.add(key as usize),
            |level| *corrections.add((u64::from(level) * row + key) as usize),
            |side| *leaves.add((u64::from(side) * row + key) as usize),
            part(params.points),
            |point| x.wrapping_sub(*offsets.add(point as usize)),
            |point, share| {
                let word = ballot(FULL, exists && share != 0);
                if idx::lane() == 0 && exists {
                    *shares.add(((u64::from(point) * row + e) / u64::from(GROUP)) as usize) = word;
                }
            },
        );
        tile += idx::gdim_x();
    }
}

/// Makes keys: four threads take one key, a block the 32 keys to which rows are padded.
///
/// The grid's first dimension runs over tiles of 32 keys and may be smaller than the range.
///
/// # Safety
/// As the crate; sections have the lengths of `FssOps::cmp_gen`.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn fss_cmp_gen(
    params: CmpGenParams,
    alphas: *const u64,
    roots: *const Label,
    corrections: *mut u128,
    leaves: *mut u128,
) {
    let cipher = ParamAes { table: Table::fill(), key: &params.key };
    let lane = Lane::this();
    let row = row(params.count);
    let tiles = params.count.div_ceil(KEYS);
    let (bits, levels) = (params.bits, cmp_levels(params.bits));
    let mut tile = idx::bid_x();
    while tile < tiles {
        let e = u64::from(tile) * u64::from(KEYS) + u64::from(lane.key);
        let alpha = if e < u64::from(params.count) { *alphas.add(e as usize) } else { 0 };
        if cmp_leaves(bits) == 1 {
            let shares = table_shares(*roots.add(e as usize), bits, alpha);
            if lane.direction == 0 {
                let share = if lane.party == 0 { shares[0] } else { shares[1] };
                *leaves.add((u64::from(lane.party) * row + e) as usize) = share;
            }
        } else {
            let mut node = Node::root(*roots.add((u64::from(lane.party) * row + e) as usize), lane.party);
            let mut level = 0;
            // the leaf blocks are one more step, so that the text holds the rounds of AES once
            loop {
                let hashed = hash(&cipher, node.input(lane.direction));
                let xors = lane.sides(hashed ^ hashed.of_other_party());
                if level == levels {
                    let words = leaf_corrections(xors.left, xors.right, alpha);
                    if lane.party == 0 {
                        let word = if lane.direction == 0 { words[0] } else { words[1] };
                        *leaves.add((u64::from(lane.direction) * row + e) as usize) = word;
                    }
                    break;
                }
                let a = (alpha >> (bits - 1 - level)) as u32 & 1;
                let word = correction_word(xors.left, xors.right, a);
                if lane.index == 0 {
                    *corrections.add((u64::from(level) * row + e) as usize) = word;
                }
                node = node.corrected(lane.sides(hashed).at(a), a, word);
                level += 1;
            }
        }
        tile += idx::gdim_x();
    }
}

kernel_table! {
    fss_cmp_eval_window: block [EVALUATED, 1, 1], min_blocks 4, shared Bytes(super::aes::TABLE_BYTES), barriers 1;
    fss_cmp_gen: block [super::quad::THREADS, 1, 1], min_blocks 6, shared Bytes(super::aes::TABLE_BYTES), barriers 1;
}
