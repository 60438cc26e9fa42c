//! Nodes above leaves, several levels at a time.
//!
//! A block holds the digests of a level in shared memory until it has read them for the next.
//!
//! # Safety
//! `nodes` is a tree of this height, and it has the levels to be written; `levels` is at least 1.
//! Grid: a block for each `2^levels` nodes of `first_level`; block: 256 threads, one for each node
//! of the lowest of nine levels.

use core_types::{
    blake2s::{BLOCK_WORDS, Digest, one_block},
    params::merkle::MerkleTreeParams,
};

use super::digest;
use crate::dev::{
    idx::{bid_x, tid_x},
    memory::smem::{Layout, Region},
    sync::block_sync,
    unroll::unroll,
};

const THREADS: u32 = 256;

/// Distance of planes: half the number of threads plus half the number of banks.
///
/// Neighbours on the left and on the right then write to different banks.
const PLANE: u32 = THREADS / 2 + 16;

/// For a level and the next, for words 0 to 7: planes of left and of right digests.
const PLANES: Region<u32> = Layout::new().array(2 * 8 * 2 * PLANE);

/// Writes `levels` levels above `first_level`, at most nine.
///
/// It reads the nodes of `first_level` once.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn merkle_tree(
    params: MerkleTreeParams,
    nodes: *mut Digest,
    first_level: u32,
    levels: u32,
) {
    let (planes, thread) = (PLANES.slice(), tid_x());
    let mut level = first_level;
    let last = first_level + levels;
    loop {
        level += 1;
        let in_block = 1 << (last - level);
        let index = bid_x() as usize * in_block as usize + thread as usize;
        let (read, written) = (level % 2 * 16, (level + 1) % 2 * 16);
        if thread < in_block {
            let mut block = [0; BLOCK_WORDS];
            if level == first_level + 1 {
                block = digest::read_two(nodes.add(params.level(first_level) as usize + 2 * index));
            } else {
                unroll!(I in 0..8 => {
                    block[I as usize] = planes.addr((read + 2 * I) * PLANE + thread).load();
                    block[8 + I as usize] = planes.addr((read + 2 * I + 1) * PLANE + thread).load();
                });
            }
            let node = one_block(&block, 64);
            digest::write(nodes.add(params.level(level) as usize + index), node);
            unroll!(I in 0..8 => {
                planes.addr((written + 2 * I + thread % 2) * PLANE + thread / 2).store(node.0[I as usize]);
            });
        }
        if level == last {
            break;
        }
        block_sync();
    }
}

kernel_table! {
    merkle_tree: block [256, 1, 1], min_blocks 4, shared Bytes(PLANES.end().bytes()), barriers 1;
}
