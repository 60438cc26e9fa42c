//! Nodes above leaves, and published roots.

use backend_api::{
    Buffer as _, Queue,
    ops::merkle::{MerkleLeaves, MerkleOps, MerkleTree},
};
use core_types::{
    blake2s::Digest,
    field::M31,
    params::{
        columns::ColumnAt,
        merkle::{MerkleLeavesParams, MerkleTreeParams},
    },
};

use super::model::{digest, hash, with_nodes};
use crate::{Case, Conditioned, Failure, OpSpec, list::ListIterator as _};

fn expect_nodes(q: &Conditioned, log_leaves: u32) -> Result<(), Failure> {
    let leaves: Vec<Digest> = (0..1 << log_leaves).map(|leaf| hash([leaf])).list();
    let expected = with_nodes(leaves.clone());
    let mut nodes = leaves;
    nodes.resize(expected.len(), Digest([0xdead_beef; 8]));
    let mut nodes = q.upload(&nodes)?;
    q.merkle_tree(MerkleTree { params: &MerkleTreeParams { log_leaves }, nodes: nodes.view_mut() })?;
    Failure::unless_equal(&expected, &q.download(&nodes)?)
}

/// The root of the tree of some columns is one that was published.
fn expect_root(q: &Conditioned, root: &str, log_leaves: u32, columns: &[&[u32]]) -> Result<(), Failure> {
    let mut first = 0;
    let places = columns.iter().map(|column| {
        let place = ColumnAt::new(first, column.len().ilog2());
        first += column.len() as u64;
        place
    });
    let places: Vec<ColumnAt> = places.list();
    let values: Vec<M31> = columns.concat().into_iter().map(M31::from_u32).list();
    let (values, mut nodes) = (q.upload(&values)?, q.zeros::<Digest>((2 << log_leaves) - 1)?);
    q.merkle_leaves(MerkleLeaves {
        params: &MerkleLeavesParams { log_leaves },
        columns: &places,
        values: values.view(),
        leaves: nodes.slice_mut(0..1 << log_leaves)?,
    })?;
    q.merkle_tree(MerkleTree { params: &MerkleTreeParams { log_leaves }, nodes: nodes.view_mut() })?;
    let nodes = q.download(&nodes)?;
    Failure::unless_equal(&[digest(root)], &nodes[nodes.len() - 1..])
}

pub(super) fn tree() -> OpSpec {
    let mut cases = Vec::new();
    for log_leaves in (0..=13).chain([17, 19]) {
        let case = Case::new(format!("2^{log_leaves} leaves"), move |q| expect_nodes(q, log_leaves));
        cases.push(case.on_elements(1 << log_leaves));
    }
    cases.push(Case::new("published root of two columns", |q| {
        let columns: [&[u32]; 2] = [&[0, 1, 2, 3], &[10, 11, 12, 13, 14, 15, 16, 17]];
        expect_root(q, "46b069794c73a1c9a67ec1cc609b434c81cb79e5c097ea6c262f8e37f41ab7d9", 3, &columns)
    }));
    cases.push(Case::new("published root of no columns", |q| {
        expect_root(q, "69217a3079908094e11121d042354a7c1f55b6482ca1a51e1b250dfd1ed0eef9", 0, &[])
    }));
    cases.push(Case::new("trees that are too high", |q| {
        [31, 63, u32::MAX].into_iter().try_for_each(|log_leaves| {
            let mut nodes = q.zeros(1)?;
            let params = MerkleTreeParams { log_leaves };
            let refused = q.merkle_tree(MerkleTree { params: &params, nodes: nodes.view_mut() });
            Failure::unless_refused(&format!("2^{log_leaves} leaves"), refused)
        })
    }));
    OpSpec { op: "merkle.tree", cases }
}
