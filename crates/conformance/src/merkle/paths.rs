//! Authentication paths, checked against an indexed tree.

use backend_api::{
    Buffer as _, Queue,
    ops::merkle::{MerkleOps, MerklePaths},
};
use core_types::{blake2s::Digest, params::merkle::MerklePathsParams};

use crate::{Case, Conditioned, Failure, OpSpec, list::ListIterator as _, spec::BATCHES};

/// A digest by level and position, different for each.
fn node(level: u32, position: u32) -> Digest {
    Digest([level, position, 3, 4, 5, 6, 7, level ^ position << 8])
}

/// All nodes, the leaves first.
fn nodes(log_leaves: u32) -> Vec<Digest> {
    let level = |level| (0..1u32 << (log_leaves - level)).map(move |position| node(level, position));
    (0..=log_leaves).flat_map(level).list()
}

/// The leaf of a position, pairs of neighbours staying pairs in trees of columns.
fn leaf(params: &MerklePathsParams, position: u32) -> u32 {
    let position = (u64::from(position) % (1 << params.log_from)) as u32;
    if params.folded == 1 {
        return position >> (params.log_from - params.log_leaves);
    }
    let pair = u64::from(position / 2) << params.log_leaves >> params.log_from;
    2 * pair as u32 + position % 2
}

fn expect_paths(q: &Conditioned, params: MerklePathsParams) -> Result<(), Failure> {
    let MerklePathsParams { log_leaves, first_level, queries, .. } = params;
    let positions: Vec<u32> = (0..queries).map(|i| i.wrapping_mul(0x9e37_79b9).rotate_left(7)).list();
    let path = |&position: &u32| {
        let leaf = leaf(&params, position);
        (first_level..log_leaves).map(move |level| node(level, (leaf >> level) ^ 1))
    };
    let expected: Vec<Digest> = positions.iter().flat_map(path).list();
    let (uploaded, positions) = (q.upload(&nodes(log_leaves))?, q.upload(&positions)?);
    let mut paths = q.upload(&vec![Digest([0xdead_beef; 8]); expected.len()])?;
    q.merkle_paths(MerklePaths {
        params: &params,
        nodes: uploaded.view(),
        positions: positions.view(),
        paths: paths.view_mut(),
    })?;
    Failure::unless_equal(&expected, &q.download(&paths)?)
}

pub(super) fn paths() -> OpSpec {
    let mut cases = Vec::new();
    for log_leaves in [0u32, 1, 2, 5, 9] {
        cases.push(Case::new(format!("2^{log_leaves} leaves"), move |q| {
            for log_from in [log_leaves.saturating_sub(3), log_leaves, log_leaves + 1, log_leaves + 4, 30] {
                for folded in 0..=u32::from(log_from >= log_leaves) {
                    for first_level in [0, log_leaves / 2, log_leaves] {
                        let queries = 40;
                        expect_paths(q, MerklePathsParams { log_leaves, log_from, first_level, queries, folded })?;
                    }
                }
            }
            Ok(())
        }));
    }
    for queries in BATCHES {
        cases.push(Case::new(format!("{queries} queries"), move |q| {
            expect_paths(q, MerklePathsParams { log_leaves: 7, log_from: 9, first_level: 1, queries, folded: 0 })?;
            expect_paths(q, MerklePathsParams { log_leaves: 4, log_from: 9, first_level: 0, queries, folded: 1 })
        }));
    }
    cases.push(Case::new("levels, positions and trees out of range", |q| {
        let good = MerklePathsParams { log_leaves: 3, log_from: 3, first_level: 0, queries: 2, folded: 0 };
        for params in [
            MerklePathsParams { log_leaves: 31, ..good },
            MerklePathsParams { log_leaves: 4, ..good },
            MerklePathsParams { log_from: 31, ..good },
            MerklePathsParams { first_level: 4, ..good },
            MerklePathsParams { first_level: u32::MAX, ..good },
            MerklePathsParams { queries: 3, ..good },
            MerklePathsParams { queries: u32::MAX, ..good },
            MerklePathsParams { folded: 2, ..good },
            MerklePathsParams { folded: 1, log_from: 2, ..good },
        ] {
            let (nodes, positions, mut paths) = (q.zeros(15)?, q.zeros(2)?, q.zeros(6)?);
            let refused = q.merkle_paths(MerklePaths {
                params: &params,
                nodes: nodes.view(),
                positions: positions.view(),
                paths: paths.view_mut(),
            });
            Failure::unless_refused(&format!("{params:?}"), refused)?;
        }
        Ok(())
    }));
    OpSpec { op: "merkle.paths", cases }
}
