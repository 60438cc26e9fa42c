//! Speed lines of the `merkle` op set.
//!
//! One unit is a compression: a block of 64 bytes that goes into a digest.

use std::num::NonZeroUsize;

use backend_api::ops::merkle::{MerkleLeaves, MerkleOps as _, MerkleTree};
use blake2::{Blake2s256, Digest as _};
use core_types::{
    blake2s::Digest,
    field::M31,
    params::{
        columns::ColumnAt,
        merkle::{MerkleLeavesParams, MerkleTreeParams},
    },
};
use cpu_backend::{CpuConfig, CpuQueue, SimdLevel};

use super::{Contender, Contest, Goal, Show};

/// Compressions per second.
///
/// One takes about twelve nanoseconds of instructions in sixteen lanes; the rest is memory.
const GOAL_RATE: f64 = 1.0 / 15e-9;

/// Every contest of the op set, by name; each is built only when its turn comes.
#[must_use]
pub(crate) fn contests() -> Vec<(String, Box<dyn FnOnce() -> Contest>)> {
    let shapes = [("leaves/100x2^19", 19, 100), ("leaves/4x2^19", 19, 4)];
    let mut all: Vec<(String, Box<dyn FnOnce() -> Contest>)> = Vec::new();
    for (name, log_leaves, columns) in shapes {
        let id = format!("merkle.{name}");
        all.push((id.clone(), Box::new(move || leaves(id, TreeColumns { log_leaves, count: columns }))));
    }
    let id = "merkle.tree/2^19".to_owned();
    all.push((id.clone(), Box::new(move || tree(id, 19))));
    all
}

/// Columns of the tree's height.
#[derive(Clone, Copy)]
struct TreeColumns {
    log_leaves: u32,
    count: u32,
}

impl TreeColumns {
    fn values(self) -> Vec<M31> {
        (0..self.count << self.log_leaves).map(|i| M31::from_u32(i.wrapping_mul(0x9e37_79b9))).collect()
    }

    fn places(self) -> Vec<ColumnAt> {
        (0..self.count).map(|i| ColumnAt::new(u64::from(i) << self.log_leaves, self.log_leaves)).collect()
    }
}

fn leaves(id: String, columns: TreeColumns) -> Contest {
    let ours = |name, simd| {
        let (q, values, places) = (one_thread(simd), columns.values(), columns.places());
        let params = MerkleLeavesParams { log_leaves: columns.log_leaves };
        let mut leaves = vec![Digest::default(); 1 << columns.log_leaves];
        Contender::new(name, move || {
            q.merkle_leaves(MerkleLeaves { params: &params, columns: &places, values: &values, leaves: &mut leaves })
                .expect("lengths match");
        })
    };
    let (values, len) = (columns.values(), 1 << columns.log_leaves);
    let mut leaves = vec![[0; 32]; len];
    let peer = Contender::new("crate blake2, leaf by leaf", move || {
        for (i, leaf) in leaves.iter_mut().enumerate() {
            let mut hasher = Blake2s256::new();
            values.iter().skip(i).step_by(len).for_each(|value| hasher.update(value.word().to_le_bytes()));
            *leaf = hasher.finalize().into();
        }
    });
    Contest {
        id,
        unit: "compression",
        work: f64::from(columns.count.div_ceil(16)) * len as f64,
        show: Show::Nanoseconds,
        contenders: vec![
            ours("trefoil", SimdLevel::Avx512),
            peer,
            ours("trefoil, AVX2", SimdLevel::Avx2),
            ours("trefoil, portable path", SimdLevel::Portable),
        ],
        goals: if columns.count < 16 { Vec::new() } else { vec![(Goal::Rate(GOAL_RATE), "avx-512")] },
    }
}

fn tree(id: String, log_leaves: u32) -> Contest {
    let len = (2usize << log_leaves) - 1;
    let ours = |name, simd| {
        let (q, params, mut nodes) = (one_thread(simd), MerkleTreeParams { log_leaves }, vec![Digest::default(); len]);
        Contender::new(name, move || {
            q.merkle_tree(MerkleTree { params: &params, nodes: &mut nodes }).expect("lengths match");
        })
    };
    let mut nodes = vec![[0; 32]; len];
    let peer = Contender::new("crate blake2, node by node", move || {
        for i in 0..len / 2 {
            let mut hasher = Blake2s256::new();
            hasher.update(nodes[2 * i]);
            hasher.update(nodes[2 * i + 1]);
            nodes[(1 << log_leaves) + i] = hasher.finalize().into();
        }
    });
    Contest {
        id,
        unit: "compression",
        work: (len / 2) as f64,
        show: Show::Nanoseconds,
        contenders: vec![
            ours("trefoil", SimdLevel::Avx512),
            peer,
            ours("trefoil, AVX2", SimdLevel::Avx2),
            ours("trefoil, portable path", SimdLevel::Portable),
        ],
        goals: Vec::new(),
    }
}

fn one_thread(simd: SimdLevel) -> CpuQueue {
    let config = CpuConfig { threads: Some(NonZeroUsize::MIN), simd, ..CpuConfig::default() };
    CpuQueue::open(config).expect("one thread needs no pool")
}
