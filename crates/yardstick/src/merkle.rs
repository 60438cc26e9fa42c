//! Speed lines of the `merkle` op set: leaves of columns, leaves of one secure column, nodes.
//!
//! One unit is a compression: a block of 64 bytes that goes into a digest.

use backend_api::{
    Buffer, Queue as _,
    ops::merkle::{MerkleLeaves, MerkleOps as _, MerkleSecureLeaves, MerkleTree},
};
use blake2::{Blake2s256, Digest as _};
use core_types::{
    blake2s::Digest,
    params::merkle::{MerkleLeavesParams, MerkleSecureLeavesParams, MerkleTreeParams},
};
use cpu_backend::SimdLevel;

use crate::{
    Contender, Extent, Goal, Line,
    host::{M31_BYTES, SECURE_BYTES, elements, places},
    line::RunSize,
};

/// Compressions per second.
///
/// One takes about twelve nanoseconds of instructions in sixteen lanes; the rest is memory.
const GOAL_RATE: f64 = 1.0 / 15e-9;

/// Log of the leaves on the processor.
const LOG_LEAVES: u32 = 19;

const DIGEST_BYTES: f64 = 32.0;

/// Every line of the op set on the processor.
pub(crate) fn contests() -> Vec<Line> {
    let levels = |line: Line| line.level("trefoil, AVX2", SimdLevel::Avx2).portable();
    let leaves = |columns| {
        let line = leaves(LOG_LEAVES, columns).in_nanoseconds();
        levels(line.peer(move || plain_leaves(columns)))
    };
    let tree = levels(tree(LOG_LEAVES).in_nanoseconds().peer(plain_tree));
    vec![leaves(100).goal(Goal::Rate(GOAL_RATE), "avx-512"), leaves(4), tree]
}

/// Every line of the op set on a device.
pub(crate) fn lines(extent: Extent) -> Vec<Line> {
    let (log_leaves, columns) = match extent {
        Extent::Full => (19, 100),
        Extent::Small => (8, 20),
    };
    vec![leaves(log_leaves, columns), secure_leaves(log_leaves, 0), secure_leaves(log_leaves, 2), tree(log_leaves + 1)]
}

/// Work in blocks of 64 bytes that are hashed; arithmetic is the limit.
fn size(compressions: f64, resident: f64) -> RunSize {
    RunSize::computing("compression", compressions, resident)
}

fn leaves(log_leaves: u32, columns: u32) -> Line {
    let count = f64::from(1u32 << log_leaves);
    let resident = (M31_BYTES * f64::from(columns) + DIGEST_BYTES) * count;
    let size = size(f64::from(columns.div_ceil(16)) * count, resident);
    Line::new(&format!("merkle.leaves/{columns}x2^{log_leaves}"), size, move |q| {
        let values = q.upload(&elements((columns as usize) << log_leaves))?;
        let mut leaves = q.zeros::<Digest>(1 << log_leaves)?;
        let (params, columns) = (MerkleLeavesParams { log_leaves }, places(log_leaves, columns));
        Ok(Box::new(move |q| {
            let (values, leaves) = (values.view(), leaves.view_mut());
            Ok(q.merkle_leaves(MerkleLeaves { params: &params, columns: &columns, values, leaves })?)
        }))
    })
}

fn secure_leaves(log_size: u32, log_packed: u32) -> Line {
    let (values, leaves) = (f64::from(1u32 << log_size), f64::from(1u32 << (log_size - log_packed)));
    let size = size(leaves, SECURE_BYTES * values + DIGEST_BYTES * leaves);
    let id = format!("merkle.secure_leaves/2^{log_size}, {} in a leaf", 1 << log_packed);
    Line::new(&id, size, move |q| {
        let values = q.upload(&elements(4 << log_size))?;
        let mut leaves = q.zeros::<Digest>(1 << (log_size - log_packed))?;
        let params = MerkleSecureLeavesParams { log_size, log_packed };
        Ok(Box::new(move |q| {
            let (values, leaves) = (values.view(), leaves.view_mut());
            Ok(q.merkle_secure_leaves(MerkleSecureLeaves { params: &params, values, leaves })?)
        }))
    })
}

fn tree(log_leaves: u32) -> Line {
    let leaves = f64::from(1u32 << log_leaves);
    let size = size(leaves - 1.0, 2.0 * DIGEST_BYTES * leaves);
    Line::new(&format!("merkle.tree/2^{log_leaves}"), size, move |q| {
        // Uploaded: zeros that were never written are one page of memory, which stays in the cache.
        let mut nodes = q.upload(&vec![Digest::default(); (2 << log_leaves) - 1])?;
        let params = MerkleTreeParams { log_leaves };
        Ok(Box::new(move |q| Ok(q.merkle_tree(MerkleTree { params: &params, nodes: nodes.view_mut() })?)))
    })
}

fn plain_leaves(columns: u32) -> Contender {
    let (values, len) = (elements((columns as usize) << LOG_LEAVES), 1 << LOG_LEAVES);
    let mut leaves = vec![[0; 32]; len];
    Contender::new("crate blake2, leaf by leaf", move || {
        for (i, leaf) in leaves.iter_mut().enumerate() {
            let mut hasher = Blake2s256::new();
            values.iter().skip(i).step_by(len).for_each(|value| hasher.update(value.word().to_le_bytes()));
            *leaf = hasher.finalize().into();
        }
    })
}

fn plain_tree() -> Contender {
    let len = (2usize << LOG_LEAVES) - 1;
    let mut nodes = vec![[0; 32]; len];
    Contender::new("crate blake2, node by node", move || {
        for i in 0..len / 2 {
            let mut hasher = Blake2s256::new();
            hasher.update(nodes[2 * i]);
            hasher.update(nodes[2 * i + 1]);
            nodes[(1 << LOG_LEAVES) + i] = hasher.finalize().into();
        }
    })
}
