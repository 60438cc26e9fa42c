//! The proof, put together on the host from what the device gathered.

use backend_api::Buffer as _;
use core_types::{
    air::lifted,
    circle::CirclePoint,
    field::{M31, QM31},
};
use stark_verifier::{Decommitment, FriLayerProof, FriProof, LinePoly, Proof};

use crate::{
    Prover, ProverError, StarkOps,
    memory::{Layer, TreeMemory},
    out_of_domain,
    prover::digest,
    shape::TreeShape,
};

/// Distinct positions in ascending order, each with the first query that drew it.
fn distinct(positions: &[u32]) -> Vec<(u32, usize)> {
    let mut distinct: Vec<(u32, usize)> = positions.iter().copied().zip(0..).collect();
    distinct.sort_unstable();
    distinct.dedup_by_key(|(position, _)| *position);
    distinct
}

/// Distinct nodes that known leaves lead to, in ascending order, each with a query that leads to it.
fn parents(nodes: &[(u32, usize)]) -> Vec<(u32, usize)> {
    let mut parents: Vec<(u32, usize)> = nodes.iter().map(|&(node, query)| (node >> 1, query)).collect();
    parents.dedup_by_key(|(node, _)| *node);
    parents
}

/// The digests that the known `nodes` do not give themselves, level by level upwards; `beside(query, level)` is the one beside the
/// path of a query.
fn witness<T>(mut nodes: Vec<(u32, usize)>, levels: usize, beside: impl Fn(usize, usize) -> T) -> Vec<T> {
    let mut witness = Vec::new();
    for level in 0..levels {
        for siblings in nodes.chunk_by(|left, right| left.0 ^ 1 == right.0) {
            if let [(_, query)] = siblings[..] {
                witness.push(beside(query, level));
            }
        }
        nodes = parents(&nodes);
    }
    witness
}

impl<Q: StarkOps> Prover<Q> {
    /// Waits for the device, checks what it found, and puts the proof together.
    pub(crate) fn assemble(&self, q: &Q) -> Result<Proof, ProverError> {
        let memory = &self.memory;
        let sampled = q.download(&memory.sampled)?;
        let parameter = q.download(&memory.parameter)?[0];
        let point = CirclePoint::from_parameter(parameter).ok_or(ProverError::Point)?;
        let sampled_values = self.by_column(&sampled);
        let challenge = q.download(&memory.composition_challenge)?[0];
        let inputs = memory.inputs.iter().map(|inputs| q.download(inputs)).collect::<Result<Vec<_>, _>>()?;
        let holds = out_of_domain::holds(&self.shape, &self.components, &sampled_values, &inputs, challenge, point);
        if !holds || q.download(&memory.excess)? != [0] {
            return Err(ProverError::Constraints);
        }

        let positions = q.download(&memory.positions)?;
        let queries = distinct(&positions);
        let mut trees = Vec::with_capacity(memory.trees.len());
        for (shape, tree) in self.shape.trees.iter().zip(&memory.trees) {
            trees.push(self.open_tree(q, shape, tree, &queries)?);
        }
        let (queried_values, decommitments) = trees.into_iter().unzip();
        let commitments =
            (0..memory.trees.len()).map(|tree| self.root(q, tree)).collect::<Result<Vec<_>, ProverError>>()?;
        let layers = memory.layers.iter().map(|layer| self.open_layer(q, layer, &queries));
        let mut layers = layers.collect::<Result<Vec<_>, ProverError>>()?;
        let inner_layers = layers.split_off(1);
        let coeffs = q.download(&memory.last_coefficients)?;
        let log_size = self.config.fri_config.log_last_layer_degree_bound;
        let nonce = q.download(&memory.nonce)?;
        Ok(Proof {
            config: self.config,
            commitments,
            sampled_values,
            decommitments,
            queried_values,
            proof_of_work: u64::from(nonce[0]) | u64::from(nonce[1]) << 32,
            fri_proof: FriProof {
                first_layer: layers.remove(0),
                inner_layers,
                last_layer_poly: LinePoly { coeffs, log_size },
            },
        })
    }

    /// Sampled values by tree and column.
    fn by_column(&self, sampled: &[QM31]) -> Vec<Vec<Vec<QM31>>> {
        let mut rest = sampled.iter().copied();
        let trees = self.shape.trees.iter();
        trees
            .map(|tree| tree.columns.iter().map(|column| rest.by_ref().take(column.offsets.len()).collect()).collect())
            .collect()
    }

    fn open_tree(
        &self,
        q: &Q,
        shape: &TreeShape,
        tree: &TreeMemory<Q>,
        queries: &[(u32, usize)],
    ) -> Result<(Vec<Vec<M31>>, Decommitment), ProverError> {
        let (count, levels) = (self.memory.positions.len(), shape.height as usize);
        let opened = q.download(&tree.opened)?;
        let columns = opened.chunks(count).take(shape.columns.len());
        let columns = columns.map(|column| queries.iter().map(|&(_, query)| column[query]).collect()).collect();
        let paths = q.download(&tree.paths)?;
        // In a lower tree two queries may meet in one leaf, and need not come in its order.
        let leaf = |&(position, query): &(u32, usize)| (lifted(position, self.shape.log_size, shape.height), query);
        let mut leaves: Vec<(u32, usize)> = queries.iter().map(leaf).collect();
        leaves.sort_unstable();
        leaves.dedup_by_key(|(leaf, _)| *leaf);
        let hash_witness = witness(leaves, levels, |query, level| digest(paths[query * levels + level]));
        Ok((columns, Decommitment { hash_witness }))
    }

    fn open_layer(&self, q: &Q, layer: &Layer<Q>, queries: &[(u32, usize)]) -> Result<FriLayerProof, ProverError> {
        let groups = q.download(&layer.groups)?;
        let shift = self.shape.log_size - layer.log_size;
        let mut positions: Vec<(u32, usize)> =
            queries.iter().map(|&(position, query)| (position >> shift, query)).collect();
        positions.dedup_by_key(|(position, _)| *position);
        let mut fri_witness = Vec::new();
        let mut nodes = Vec::new();
        for queried in positions.chunk_by(|a, b| a.0 >> layer.fold == b.0 >> layer.fold) {
            let (first, query) = queried[0];
            let start = first >> layer.fold << layer.fold;
            let values = &groups[query << layer.fold..(query + 1) << layer.fold];
            let mut queried = queried.iter().peekable();
            for (position, &value) in (start..).zip(values) {
                if queried.next_if(|(queried, _)| *queried == position).is_none() {
                    fri_witness.push(value);
                }
            }
            nodes.push((first >> layer.fold, query));
        }
        let paths = q.download(&layer.paths)?;
        let levels = (layer.log_size - layer.fold) as usize;
        let hash_witness = witness(nodes, levels, |query, level| digest(paths[query * levels + level]));
        let root = q.read(layer.nodes.slice(layer.nodes.len() - 1..layer.nodes.len())?)?;
        Ok(FriLayerProof { fri_witness, decommitment: Decommitment { hash_witness }, commitment: digest(root[0]) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn witnesses_are_what_known_leaves_do_not_give() {
        // Leaves 0, 1 and 5 of eight: beside 5 its sibling 4; above, node 3 beside 2; node 0 lacks 1.
        let leaves = distinct(&[5, 0, 1, 5]);
        assert_eq!(leaves, [(0, 1), (1, 2), (5, 0)]);
        assert_eq!(witness(leaves, 3, |query, level| (query, level)), [(0, 0), (1, 1), (0, 1)]);
    }
}
