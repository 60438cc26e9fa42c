//! Every vector level and thread count against one leaf and one node at a time.

use backend_api::ops::merkle::{MerkleLeaves, MerkleOps, MerkleSecureLeaves, MerkleTree};
use core_types::{
    air::lifted,
    blake2s::{BLOCK_WORDS, Digest, START, compress, node},
    params::{
        columns::ColumnAt,
        merkle::{MerkleLeavesParams, MerkleSecureLeavesParams, MerkleTreeParams},
    },
};

use super::elements;
use crate::levels::queues;

/// The digest of some words, block by block.
fn digest(words: &[u32]) -> Digest {
    let mut chain = START;
    let blocks = words.len().div_ceil(BLOCK_WORDS).max(1);
    for i in 0..blocks {
        let end = words.len().min((i + 1) * BLOCK_WORDS);
        let mut block = [0; BLOCK_WORDS];
        block[..end - i * BLOCK_WORDS].copy_from_slice(&words[i * BLOCK_WORDS..end]);
        chain = compress(chain, &block, 4 * end as u64, i + 1 == blocks);
    }
    Digest(chain)
}

/// Columns of these log sizes, one after the other from word 1 on.
fn columns(logs: &[u32]) -> (Vec<ColumnAt>, usize) {
    let mut first = 1;
    let column = |&log: &u32| {
        let column = ColumnAt::new(first, log);
        first += 1 << log;
        column
    };
    let columns = logs.iter().map(column).collect();
    (columns, first as usize)
}

#[test]
fn leaves_are_the_digests_of_their_rows() {
    let queues = queues();
    let heights = |log_leaves: u32, counts: &[(u32, usize)]| {
        let logs = counts.iter().flat_map(|&(below, count)| vec![log_leaves - below; count]);
        (log_leaves, logs.collect::<Vec<u32>>())
    };
    let mut shapes: Vec<_> = (0..=12).map(|log| (log, (0..=log).flat_map(|l| [l; 3]).collect())).collect();
    shapes.extend([0, 1, 4, 15, 16, 17, 33, 100].map(|count| heights(5, &[(0, count)])));
    shapes.extend([0, 1, 3, 7, 11, 12].map(|below| heights(12, &[(below, 19)])));
    shapes.extend([heights(12, &[(12, 17), (11, 1), (6, 30), (1, 15), (0, 3)]), heights(11, &[(9, 16), (0, 1)])]);
    for (log_leaves, logs) in shapes {
        let (columns, len) = columns(&logs);
        let values = elements(len, 1);
        let leaf = |leaf: u32| {
            let at = |column: &ColumnAt| {
                let at = lifted(leaf, log_leaves, column.log_len) & ((1 << column.log_len) - 1);
                values[(column.first + u64::from(at)) as usize].word()
            };
            digest(&columns.iter().map(at).collect::<Vec<u32>>())
        };
        let expected: Vec<Digest> = (0..1 << log_leaves).map(leaf).collect();
        for q in &queues {
            let mut leaves = vec![Digest::default(); 1 << log_leaves];
            let params = MerkleLeavesParams { log_leaves };
            q.merkle_leaves(MerkleLeaves { params: &params, columns: &columns, values: &values, leaves: &mut leaves })
                .unwrap();
            assert!(leaves == expected, "2^{log_leaves} leaves of {logs:?}, {q:?}");
        }
    }
}

#[test]
fn secure_leaves_are_the_digests_of_their_coordinates() {
    let queues = queues();
    for (log_packed, log_size) in (0..=13).map(|log| (0, log)).chain((2..=15).map(|log| (2, log))) {
        let params = MerkleSecureLeavesParams { log_size, log_packed };
        let values = elements(4 << log_size, 1);
        let leaf = |leaf: usize| {
            let rows = leaf << log_packed..(leaf + 1) << log_packed;
            digest(&rows.flat_map(|row| [0, 1, 2, 3].map(|i| values[(i << log_size) + row].word())).collect::<Vec<_>>())
        };
        let expected: Vec<Digest> = (0..1 << (log_size - log_packed)).map(leaf).collect();
        for q in &queues {
            let mut leaves = vec![Digest::default(); expected.len()];
            q.merkle_secure_leaves(MerkleSecureLeaves { params: &params, values: &values, leaves: &mut leaves })
                .unwrap();
            assert!(leaves == expected, "{params:?}, {q:?}");
        }
    }
}

#[test]
fn nodes_are_the_digests_of_their_children() {
    let queues = queues();
    for log_leaves in (0..=13).chain([19]) {
        let params = MerkleTreeParams { log_leaves };
        let mut expected: Vec<Digest> = (0..1 << log_leaves).map(|i| digest(&[i])).collect();
        let leaves = expected.clone();
        for i in 0..leaves.len() - 1 {
            expected.push(node(expected[2 * i], expected[2 * i + 1]));
        }
        for q in &queues {
            let mut nodes = leaves.clone();
            nodes.resize(expected.len(), Digest::default());
            q.merkle_tree(MerkleTree { params: &params, nodes: &mut nodes }).unwrap();
            assert!(nodes == expected, "2^{log_leaves} leaves, {q:?}");
        }
    }
}
