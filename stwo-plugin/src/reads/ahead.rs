//! Read-ahead of arenas.
//!
//! stwo reads the values and hashes that open a proof one by one, and on a GPU each of these reads
//! is a wait. The positions to open are foreseen, so the first read of an arena reads all that will
//! be read of it in one piece.

use std::collections::BTreeSet;

use backend_api::{
    Buffer as _, Element, Queue,
    ops::{
        fri::{FriOps as _, OpenColumns, OpenGroups},
        merkle::{MerkleOps as _, MerklePaths},
    },
};
use core_types::{
    air::lifted,
    blake2s::{Digest, node},
    field::{M31, QM31},
    params::{
        columns::ColumnAt,
        fri::{OpenColumnsParams, OpenGroupsParams},
        merkle::{MerklePathsParams, MerkleTreeParams},
    },
};

use super::{counts::ReadCounts, queries};
use crate::{
    device::{done, queue},
    memory::{
        arena::{ArenaContents, DeviceArena},
        known::KnownElements,
    },
};

/// Elements that can be read ahead.
pub trait ReadAhead: Element + Copy {
    /// Reads what opens an arena at positions among `2^log_from`, and returns it with its places.
    fn open(arena: &DeviceArena<Self>, log_from: u32, positions: &[u32]) -> Vec<(usize, Self)>;
}

/// Reads ahead the elements of an arena that will be needed, including `index`.
pub(crate) fn read_ahead<D: ReadAhead>(arena: &DeviceArena<D>, index: usize, known: &mut KnownElements<D>) {
    if known.queries > 0 && known.proof != queries::proof() {
        // A tree may be of several proofs, which open it elsewhere.
        *known = KnownElements { whole: known.whole.take(), ..KnownElements::default() };
    }
    known.proof = queries::proof();
    let mut count = queries::at_least();
    while count <= queries::MOST {
        if known.queries < count {
            let Some((log_from, positions)) = queries::positions(count) else { return };
            known.values.extend(D::open(arena, log_from, &positions));
            known.queries = count;
            ReadCounts::count_ahead();
            if known.values.contains_key(&index) {
                return queries::note_at_least(count);
            }
        }
        count *= 4;
    }
}

impl ReadAhead for M31 {
    fn open(arena: &DeviceArena<Self>, log_from: u32, positions: &[u32]) -> Vec<(usize, Self)> {
        match arena.form() {
            ArenaContents::Columns(columns) => open_columns(arena, columns, log_from, positions),
            ArenaContents::Planes(folds) => open_layer(arena, folds.get(), log_from, positions),
            ArenaContents::Nodes { .. } | ArenaContents::Other => Vec::new(),
        }
    }
}

impl ReadAhead for QM31 {
    fn open(_: &DeviceArena<Self>, _: u32, _: &[u32]) -> Vec<(usize, Self)> {
        Vec::new()
    }
}

fn open_columns(arena: &DeviceArena<M31>, columns: &[ColumnAt], log_from: u32, positions: &[u32]) -> Vec<(usize, M31)> {
    let q = queue();
    let log_leaves = columns.iter().map(|column| column.log_len).fold(log_from, u32::max);
    let params = OpenColumnsParams { log_from, log_leaves, queries: positions.len() as u32 };
    let on_device = done(q.upload(positions));
    let mut opened = done(q.alloc(columns.len() * positions.len()));
    done(q.open_columns(OpenColumns {
        params: &params,
        columns,
        values: arena.view(),
        positions: on_device.view(),
        opened: opened.view_mut(),
    }));
    let opened: Vec<M31> = done(q.download(&opened));
    let places = columns.iter().flat_map(|column| {
        positions.iter().map(|&position| column.first as usize + params.row(position, column.log_len) as usize)
    });
    places.zip(opened).collect()
}

fn open_layer(arena: &DeviceArena<M31>, folds: u32, log_from: u32, positions: &[u32]) -> Vec<(usize, M31)> {
    let log_size = (arena.len() / 4).ilog2();
    if folds > log_size || log_size > log_from {
        return Vec::new();
    }
    let q = queue();
    let params = OpenGroupsParams { log_size, log_from, log_group: folds, queries: positions.len() as u32 };
    let on_device = done(q.upload(positions));
    let mut opened = done(q.alloc(positions.len() << folds));
    done(q.open_groups(OpenGroups {
        params: &params,
        values: arena.view(),
        positions: on_device.view(),
        opened: opened.view_mut(),
    }));
    let opened: Vec<QM31> = done(q.download(&opened));
    let rows = positions.iter().flat_map(|&position| {
        let first = params.first(position);
        first..first + (1 << folds)
    });
    rows.zip(opened)
        .flat_map(|(row, value)| {
            value
                .coordinates()
                .into_iter()
                .enumerate()
                .map(move |(plane, word)| ((plane << log_size) + row as usize, word))
        })
        .collect()
}

impl ReadAhead for Digest {
    /// Reads the sibling hashes of the paths to the root.
    ///
    /// The hashes on the paths follow from them.
    fn open(arena: &DeviceArena<Self>, log_from: u32, positions: &[u32]) -> Vec<(usize, Self)> {
        let ArenaContents::Nodes { log_leaves, layer } = arena.form() else { return Vec::new() };
        let log_leaves = *log_leaves;
        let leaves: BTreeSet<u32> = match layer {
            None => positions.iter().flat_map(|&position| group(lifted(position, log_from, log_leaves), 1)).collect(),
            Some((folds, log_packed)) if log_leaves + log_packed <= log_from => {
                let log_group = folds.get().saturating_sub(*log_packed).max(1);
                let leaf = |&position: &u32| position >> (log_from - log_leaves);
                positions.iter().flat_map(|position| group(leaf(position), log_group)).collect()
            }
            Some(_) => return Vec::new(),
        };
        let leaves: Vec<u32> = leaves.into_iter().collect();
        nodes(arena, log_leaves, &leaves)
    }
}

/// The `2^log_group` leaves that a leaf is among.
fn group(leaf: u32, log_group: u32) -> core::ops::Range<u32> {
    let first = leaf >> log_group << log_group;
    first..first + (1 << log_group)
}

/// The nodes of the paths from leaves to the root and their siblings.
///
/// A leaf comes with its sibling.
fn nodes(arena: &DeviceArena<Digest>, log_leaves: u32, leaves: &[u32]) -> Vec<(usize, Digest)> {
    let q = queue();
    let queries = leaves.len() as u32;
    let on_device = done(q.upload(leaves));
    let mut paths = done(q.alloc(leaves.len() * log_leaves as usize));
    done(q.merkle_paths(MerklePaths {
        params: &MerklePathsParams { log_leaves, log_from: log_leaves, first_level: 0, queries, folded: 0 },
        nodes: arena.view(),
        positions: on_device.view(),
        paths: paths.view_mut(),
    }));
    let paths: Vec<Digest> = done(q.download(&paths));
    let params = MerkleTreeParams { log_leaves };
    let mut found = Vec::new();
    let mut level: Vec<(u32, Digest)> =
        leaves.iter().zip(paths.chunks_exact(log_leaves as usize)).map(|(&leaf, path)| (leaf ^ 1, path[0])).collect();
    for k in 0..log_leaves {
        level.extend(
            leaves
                .iter()
                .zip(paths.chunks_exact(log_leaves as usize))
                .map(|(&leaf, path)| (leaf >> k ^ 1, path[k as usize])),
        );
        level.sort_unstable_by_key(|(node, _)| *node);
        level.dedup_by_key(|(node, _)| *node);
        let first = params.level(k) as usize;
        found.extend(level.iter().map(|&(node, digest)| (first + node as usize, digest)));
        let above = level.chunk_by(|(a, _), (b, _)| a >> 1 == b >> 1).filter_map(|children| match *children {
            [(left, one), (_, other)] => Some((left >> 1, node(one, other))),
            _ => None,
        });
        level = above.collect();
    }
    found
}
