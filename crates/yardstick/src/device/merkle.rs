//! Device speed of commitment trees: leaves of columns, leaves of one secure column, nodes.

use backend_api::{
    Buffer as _, Queue,
    ops::merkle::{MerkleLeaves, MerkleOps, MerkleSecureLeaves, MerkleTree},
};
use core_types::{
    blake2s::Digest,
    field::M31,
    params::{
        columns::ColumnAt,
        merkle::{MerkleLeavesParams, MerkleSecureLeavesParams, MerkleTreeParams},
    },
};

use super::{DeviceLine, Extent, RunSize, words};

const M31_BYTES: f64 = 4.0;
const DIGEST_BYTES: f64 = 32.0;

pub(super) fn lines(extent: Extent) -> Vec<DeviceLine> {
    let (log_leaves, columns) = match extent {
        Extent::Full => (19, 100),
        Extent::Small => (8, 20),
    };
    vec![leaves(log_leaves, columns), secure_leaves(log_leaves, 0), secure_leaves(log_leaves, 2), tree(log_leaves + 1)]
}

fn elements(len: usize) -> Vec<M31> {
    words(len, 1).into_iter().map(|word| M31::from_u32(word as u32)).collect()
}

/// Work in blocks of 64 bytes that are hashed; arithmetic is the limit.
fn size(compressions: f64, resident: f64) -> RunSize {
    RunSize { unit: "compression", work: compressions, bytes: 0.0, resident }
}

fn leaves(log_leaves: u32, columns: u32) -> DeviceLine {
    let count = f64::from(1u32 << log_leaves);
    let resident = (M31_BYTES * f64::from(columns) + DIGEST_BYTES) * count;
    let size = size(f64::from(columns.div_ceil(16)) * count, resident);
    DeviceLine::new(format!("merkle.leaves/{columns}x2^{log_leaves}"), size, move |q| {
        let values = q.upload(&elements((columns as usize) << log_leaves))?;
        let mut leaves = q.zeros::<Digest>(1 << log_leaves)?;
        let places: Vec<_> = (0..columns).map(|i| ColumnAt::new(u64::from(i) << log_leaves, log_leaves)).collect();
        let params = MerkleLeavesParams { log_leaves };
        Ok(Box::new(move |q| {
            Ok(q.merkle_leaves(MerkleLeaves {
                params: &params,
                columns: &places,
                values: values.view(),
                leaves: leaves.view_mut(),
            })?)
        }))
    })
}

fn secure_leaves(log_size: u32, log_packed: u32) -> DeviceLine {
    let (values, leaves) = (f64::from(1u32 << log_size), f64::from(1u32 << (log_size - log_packed)));
    let size = size(leaves, 4.0 * M31_BYTES * values + DIGEST_BYTES * leaves);
    let id = format!("merkle.secure_leaves/2^{log_size}, {} in a leaf", 1 << log_packed);
    DeviceLine::new(id, size, move |q| {
        let values = q.upload(&elements(4 << log_size))?;
        let mut leaves = q.zeros::<Digest>(1 << (log_size - log_packed))?;
        let params = MerkleSecureLeavesParams { log_size, log_packed };
        Ok(Box::new(move |q| {
            let (values, leaves) = (values.view(), leaves.view_mut());
            Ok(q.merkle_secure_leaves(MerkleSecureLeaves { params: &params, values, leaves })?)
        }))
    })
}

fn tree(log_leaves: u32) -> DeviceLine {
    let leaves = f64::from(1u32 << log_leaves);
    let size = size(leaves - 1.0, 2.0 * DIGEST_BYTES * leaves);
    DeviceLine::new(format!("merkle.tree/2^{log_leaves}"), size, move |q| {
        let mut nodes = q.zeros::<Digest>((2 << log_leaves) - 1)?;
        let params = MerkleTreeParams { log_leaves };
        Ok(Box::new(move |q| Ok(q.merkle_tree(MerkleTree { params: &params, nodes: nodes.view_mut() })?)))
    })
}
