//! Trees and their openings against the verifier of the published crate `stwo` 2.3.

use backend_api::ops::merkle::{MerkleLeaves, MerkleOps as _, MerklePaths, MerkleTree};
use core_types::{
    air::lifted,
    blake2s::Digest,
    field::M31,
    params::{
        columns::ColumnAt,
        merkle::{MerkleLeavesParams, MerklePathsParams, MerkleTreeParams},
    },
};
use stwo::core::{
    fields::m31::BaseField,
    vcs::blake2_hash::Blake2sHash,
    vcs_lifted::{
        blake2_merkle::Blake2sMerkleHasher,
        verifier::{MerkleDecommitmentLifted, MerkleVerifierLifted},
    },
};

fn theirs(digest: &Digest) -> Blake2sHash {
    let mut bytes = [0; 32];
    for (bytes, word) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(digest.0) {
        *bytes = word.to_le_bytes();
    }
    Blake2sHash(bytes)
}

#[test]
fn stwo_accepts_our_openings_and_no_changed_ones() {
    let q = runtime::cpu().unwrap();
    for (log_leaves, log_sizes) in [(1, vec![1]), (4, vec![1, 2, 2, 4]), (7, [[3; 20], [6; 20]].concat())] {
        let mut first = 0;
        let column = |&log_size: &u32| {
            let column = ColumnAt::new(first, log_size);
            first += 1 << log_size;
            column
        };
        let columns: Vec<ColumnAt> = log_sizes.iter().map(column).collect();
        let values: Vec<M31> = (0..first as u32).map(|i| M31::from_u32(i.wrapping_mul(0x9e37_79b9))).collect();
        let mut nodes = vec![Digest::default(); (2 << log_leaves) - 1];
        let leaves = &mut nodes[..1 << log_leaves];
        let params = MerkleLeavesParams { log_leaves };
        q.merkle_leaves(MerkleLeaves { params: &params, columns: &columns, values: &values, leaves }).unwrap();
        q.merkle_tree(MerkleTree { params: &MerkleTreeParams { log_leaves }, nodes: &mut nodes }).unwrap();

        let root = theirs(&nodes[nodes.len() - 1]);
        let verifier = MerkleVerifierLifted::<Blake2sMerkleHasher>::new(root, log_sizes, Some(log_leaves));
        let opened = |column: &ColumnAt, position: u32| {
            let at = column.first + u64::from(lifted(position, log_leaves, column.log_len));
            BaseField::from_u32_unchecked(values[at as usize].word())
        };
        for position in 0..1u32 << log_leaves {
            let mut paths = vec![Digest::default(); log_leaves as usize];
            let params = MerklePathsParams { log_leaves, log_from: log_leaves, first_level: 0, queries: 1, folded: 0 };
            let positions = [position];
            q.merkle_paths(MerklePaths { params: &params, nodes: &nodes, positions: &positions, paths: &mut paths })
                .unwrap();
            let row: Vec<_> = columns.iter().map(|column| vec![opened(column, position)]).collect();
            let witness = || MerkleDecommitmentLifted { hash_witness: paths.iter().map(theirs).collect() };
            assert_eq!(verifier.verify(&[position as usize], row.clone(), witness()), Ok(()));
            let other = [position as usize ^ 1];
            assert!(verifier.verify(&other, row, witness()).is_err());
        }
    }
}
