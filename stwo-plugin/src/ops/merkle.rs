//! Merkle trees.

use std::sync::Arc;

use backend_api::{
    Buffer as _, Queue,
    ops::merkle::{MerkleLeaves, MerkleOps as _, MerkleSecureLeaves, MerkleTree},
};
use core_types::{
    blake2s::Digest,
    field::M31,
    params::{
        columns::ColumnAt,
        merkle::{MerkleLeavesParams, MerkleSecureLeavesParams, MerkleTreeParams},
    },
};
use runtime::AnyBuf;
use stwo::{
    core::{
        fields::{m31::BaseField, qm31::SECURE_EXTENSION_DEGREE},
        vcs::blake2_hash::Blake2sHash,
        vcs_lifted::{blake2_merkle::Blake2sMerkleHasher, verifier::PACKED_LEAF_SIZE},
    },
    prover::{
        backend::Column as _,
        vcs_lifted::ops::{MerkleOpsLifted, PackLeavesOps},
    },
};

use crate::{
    DeviceColumn, TrefoilBackend,
    column::together,
    device::{done, queue},
    memory::{
        arena::{ArenaContents, DeviceArena, Slice},
        folds::Folds,
    },
    reads::queries,
};

/// Log of the values that are packed in a leaf.
const LOG_PACKED: u32 = PACKED_LEAF_SIZE.ilog2();

/// Builds all levels above the leaves at the beginning of `nodes`, and returns the leaves.
fn tree(mut nodes: AnyBuf<Digest>, log_leaves: u32, layer: Option<(Arc<Folds>, u32)>) -> DeviceColumn<Blake2sHash> {
    done(queue().merkle_tree(MerkleTree { params: &MerkleTreeParams { log_leaves }, nodes: nodes.view_mut() }));
    queries::forget();
    let arena = DeviceArena::new(nodes, ArenaContents::Nodes { log_leaves, layer });
    DeviceColumn::on_device(Slice::new(arena, 0, 1 << log_leaves))
}

fn nodes(log_leaves: u32) -> AnyBuf<Digest> {
    done(queue().alloc((2 << log_leaves) - 1))
}

/// The planes of a layer with these columns, and the log of the values in a leaf.
///
/// The columns are four planes, or sixteen columns of every fourth value of a plane.
fn layer(columns: &[Slice<M31>]) -> Option<(Slice<M31>, u32)> {
    let first = columns.first()?;
    let (per_leaf, len) = match columns.len() {
        SECURE_EXTENSION_DEGREE => (1, first.len),
        16 => (PACKED_LEAF_SIZE, first.len * PACKED_LEAF_SIZE),
        _ => return None,
    };
    let is_place = |(k, column): (usize, &Slice<M31>)| {
        let start = first.start + k % SECURE_EXTENSION_DEGREE * len + k / SECURE_EXTENSION_DEGREE;
        Arc::ptr_eq(&column.arena, &first.arena)
            && column.start == start
            && column.stride == per_leaf
            && column.len == first.len
    };
    let planes = Slice::new(first.arena.clone(), first.start, SECURE_EXTENSION_DEGREE * len);
    columns.iter().enumerate().all(is_place).then_some((planes, per_leaf.ilog2()))
}

impl MerkleOpsLifted<Blake2sMerkleHasher> for TrefoilBackend {
    fn build_leaves(columns: &[&DeviceColumn<BaseField>], lifting_log_size: u32) -> DeviceColumn<Blake2sHash> {
        // A tree of no columns is one leaf.
        let log_leaves = if columns.is_empty() { 0 } else { lifting_log_size };
        let columns: Vec<_> = columns.iter().map(|column| column.slice()).collect();
        let mut nodes = nodes(log_leaves);
        let leaves = done(nodes.slice_mut(0..1 << log_leaves));
        if let Some((planes, log_packed)) = layer(&columns)
            && columns[0].len == 1 << log_leaves
            && let ArenaContents::Planes(folds) = planes.arena.form()
        {
            done(queue().merkle_secure_leaves(MerkleSecureLeaves {
                params: &MerkleSecureLeavesParams { log_size: log_leaves + log_packed, log_packed },
                values: planes.view(),
                leaves,
            }));
            return tree(nodes, log_leaves, Some((folds.clone(), log_packed)));
        }
        let columns: Vec<_> = columns.into_iter().map(in_a_row).collect();
        let (arena, starts) = together(&columns);
        let places = starts.into_iter().zip(&columns).map(|(first, column)| ColumnAt::new(first, column.len.ilog2()));
        done(queue().merkle_leaves(MerkleLeaves {
            params: &MerkleLeavesParams { log_leaves },
            columns: &places.collect::<Vec<_>>(),
            values: arena.view(),
            leaves,
        }));
        tree(nodes, log_leaves, None)
    }

    /// All levels were built with the leaves.
    fn build_next_layer(prev_layer: &DeviceColumn<Blake2sHash>) -> DeviceColumn<Blake2sHash> {
        let level = prev_layer.slice();
        if let ArenaContents::Nodes { log_leaves, .. } = level.arena.form() {
            let params = MerkleTreeParams { log_leaves: *log_leaves };
            let at = (0..*log_leaves)
                .find(|&k| (params.level(k) as usize, 1 << (log_leaves - k)) == (level.start, level.len));
            if let Some(k) = at {
                let (start, len) = (params.level(k + 1) as usize, level.len / 2);
                return DeviceColumn::on_device(Slice::new(level.arena, start, len));
            }
        }
        let log_leaves = level.len.ilog2();
        let mut nodes = nodes(log_leaves);
        done(queue().copy(level.view(), done(nodes.slice_mut(0..level.len))));
        Self::build_next_layer(&tree(nodes, log_leaves, None))
    }
}

/// The column with its values one after the other.
fn in_a_row(column: Slice<M31>) -> Slice<M31> {
    if column.stride == 1 {
        return column;
    }
    Slice::all(DeviceArena::new(done(queue().upload(&column.to_host())), ArenaContents::Other))
}

impl PackLeavesOps for TrefoilBackend {
    /// The columns are views of the existing planes.
    fn pack_leaves_input(
        values: &[&DeviceColumn<BaseField>; SECURE_EXTENSION_DEGREE],
    ) -> [DeviceColumn<BaseField>; SECURE_EXTENSION_DEGREE * PACKED_LEAF_SIZE] {
        assert!(
            values[0].len() >= PACKED_LEAF_SIZE,
            "a packed leaf has {PACKED_LEAF_SIZE} values, not {}",
            values[0].len()
        );
        let planes = values.map(DeviceColumn::slice);
        core::array::from_fn(|k| {
            let plane = &planes[k % SECURE_EXTENSION_DEGREE];
            DeviceColumn::on_device(Slice {
                arena: plane.arena.clone(),
                start: plane.start + k / SECURE_EXTENSION_DEGREE,
                len: plane.len >> LOG_PACKED,
                stride: PACKED_LEAF_SIZE,
            })
        })
    }
}
