//! Authentication paths: a thread copies one word.
//!
//! # Safety
//! Views have the lengths of the op. Grid: any; block: 256 threads.

use core::hint::assert_unchecked;

use core_types::{
    air::lifted,
    blake2s::Digest,
    params::merkle::{MerklePathsParams, MerkleTreeParams},
};

use crate::dev::idx::grid_stride;

/// Copies the digests; there is at least one level. Threads of a digest are neighbours.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn merkle_paths(
    params: MerklePathsParams,
    nodes: *const Digest,
    positions: *const u32,
    paths: *mut Digest,
) {
    let MerklePathsParams { log_leaves, log_from, first_level, queries, folded } = params;
    let levels = u64::from(log_leaves - first_level);
    assert_unchecked(levels > 0); // else the division would bring a trap
    let (nodes, paths) = (nodes.cast::<u32>(), paths.cast::<u32>());
    for i in grid_stride(u64::from(queries) * levels * 8) {
        let (digest, word) = (i / 8, i % 8);
        let (query, level) = (digest / levels, first_level + (digest % levels) as u32);
        let position = *positions.add(query as usize) & ((1 << log_from) - 1);
        let leaf =
            if folded == 1 { position >> (log_from - log_leaves) } else { lifted(position, log_from, log_leaves) };
        let node = MerkleTreeParams { log_leaves }.level(level) + u64::from(leaf >> level ^ 1);
        *paths.add(i as usize) = *nodes.add((node * 8 + word) as usize);
    }
}

kernel_table! {
    merkle_paths: block [256, 1, 1], min_blocks 4, shared None, barriers 0;
}
