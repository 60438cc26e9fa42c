//! Assembly of the proof on the host, from the data that the device gathered.
//!
//! The witness of a Merkle opening has, level by level from the leaves, the digest of each known
//! node's sibling unless it is known too; the parents are known on the next level. The witness of a
//! FRI layer has the values that are not queried in each queried group of `2^fold` positions
//! (stwo 2.3, `core/vcs_lifted/verifier.rs` and `core/fri.rs`).

use core::ops::Range;

use backend_api::words_of;
use core_types::{
    blake2s::{BLOCK_WORDS, Digest as Words, node, one_block},
    circle::CirclePoint,
    field::{M31, QM31},
    params::channel::ChannelState,
};
use stark_verifier::{Decommitment, FriLayerProof, FriProof, LinePoly, Proof};

use crate::{
    Prover, ProverError, StarkOps,
    assembly::opened::OpenedColumns,
    assembly::out_of_domain,
    plan::layer::LayerForm,
    prover::digest,
    storage::answers::{Read, level as nodes_of},
};

/// Distinct positions in ascending order, each with the first query that drew it.
fn distinct(positions: &[u32]) -> Vec<(u32, usize)> {
    let mut distinct: Vec<(u32, usize)> = positions.iter().copied().zip(0..).collect();
    distinct.sort_unstable();
    distinct.dedup_by_key(|(position, _)| *position);
    distinct
}

/// Distinct parents of known nodes, in ascending order.
///
/// Each comes with a query whose path contains it.
fn parents(nodes: &[(u32, usize)]) -> Vec<(u32, usize)> {
    let mut parents: Vec<(u32, usize)> = nodes.iter().map(|&(node, query)| (node >> 1, query)).collect();
    parents.dedup_by_key(|(node, _)| *node);
    parents
}

/// Returns the authentication-path digests not implied by the known `nodes`.
///
/// They come level by level upwards. The callback returns the sibling digest on the path of a query
/// at a level.
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
    /// Checks the values computed by the device and assembles the proof.
    pub(crate) fn assemble(&self, read: &Read) -> Result<Proof, ProverError> {
        let places = &self.memory.answers.places;
        let (secure, words) = (|place: &Range<usize>| &read.secure[place.clone()], &read.words);
        // All ranks must end with the same transcript.
        let states = words[places.states.clone()].chunks_exact(words_of::<ChannelState>());
        if let Some(rank) = states.clone().zip(states.skip(1)).position(|(before, state)| before != state) {
            return Err(ProverError::Disagreement { rank: rank + 1 });
        }
        // The constraints hold at the out-of-domain point, and the last layer is of low degree.
        let point = CirclePoint::from_parameter(secure(&places.parameter)[0]).ok_or(ProverError::Point)?;
        let sampled_values = self.by_column(secure(&places.sampled));
        let challenge = secure(&places.composition_challenge)[0];
        let inputs: Vec<&[QM31]> = places.inputs.iter().map(secure).collect();
        let holds = out_of_domain::holds(&self.shape, &self.components, &sampled_values, &inputs, challenge, point);
        if !holds || words[places.excess.clone()] != [0] {
            return Err(ProverError::Constraints);
        }

        // Openings of the trees at the distinct queries, then of the layers of FRI.
        let queries = distinct(&words[places.positions.clone()]);
        let trees = (0..self.shape.trees.len()).map(|tree| self.open_tree(read, tree, &queries));
        let (queried_values, decommitments) = trees.unzip();
        let root = |place: &Range<usize>| digest(read.digests[place.start]);
        let first_layer = self.layer_proof(read, 0, &queries);
        let inner_layers = (1..self.memory.layers.len()).map(|layer| self.layer_proof(read, layer, &queries)).collect();
        // The last layer and the nonce complete the proof.
        let coeffs = secure(&places.last_coefficients).to_vec();
        let log_size = self.config.fri_config.log_last_layer_degree_bound;
        let nonce = &words[places.nonce.clone()];
        Ok(Proof {
            config: self.config,
            commitments: places.tree_roots.iter().map(root).collect(),
            sampled_values,
            decommitments,
            queried_values,
            proof_of_work: u64::from(nonce[0]) | u64::from(nonce[1]) << 32,
            fri_proof: FriProof { first_layer, inner_layers, last_layer_poly: LinePoly { coeffs, log_size } },
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

    /// The values of a tree's columns at the queries, and what proves them.
    fn open_tree(&self, read: &Read, tree: usize, queries: &[(u32, usize)]) -> (Vec<Vec<M31>>, Decommitment) {
        let (places, shape) = (&self.memory.answers.places, &self.shape.trees[tree]);
        let (count, log_parts) = (places.positions.len(), self.shape.log_parts(shape));
        let (kept, truncated) = (self.shape.log_kept(shape) as usize, shape.truncated as usize);
        let (elements, groups) = (places.opened[tree].clone(), places.opened_groups[tree].clone());
        // Values of each column at the queries.
        let opened = OpenedColumns::new(&self.shape, shape, &read.elements[elements], &read.secure[groups]);
        let values = |column| queries.iter().map(|&(position, query)| opened.value(column, position, query)).collect();
        let columns = (0..shape.columns.len()).map(values).collect();
        let (paths, top) =
            (&read.digests[places.tree_paths[tree].clone()], &read.digests[places.tree_tops[tree].clone()]);
        // In a lower tree two queries may meet in one leaf, and need not come in its order.
        let leaf = |&(position, query): &(u32, usize)| (opened.leaf(position), query);
        let mut leaves: Vec<(u32, usize)> = queries.iter().map(leaf).collect();
        leaves.sort_unstable();
        leaves.dedup_by_key(|(leaf, _)| *leaf);
        // Levels that are not stored are rehashed; the top of a shared tree is stored apart.
        let hash_witness = witness(leaves, shape.height as usize, |query, level| {
            let position = read.words[places.positions.clone()][query];
            let Some(level) = level.checked_sub(truncated) else {
                return digest(opened.beside(position, query, level as u32));
            };
            let part = opened.leaf(position) as usize >> (truncated + kept);
            let node = match level.checked_sub(kept) {
                None => paths[(part * count + query) * kept + level],
                Some(above) => top[nodes_of(log_parts, above as u32).start + (part >> above ^ 1)],
            };
            digest(node)
        });
        (columns, Decommitment { hash_witness })
    }

    /// What proves a layer of FRI at the queries.
    fn layer_proof(&self, read: &Read, layer: usize, queries: &[(u32, usize)]) -> FriLayerProof {
        let (places, form) = (&self.memory.answers.places, self.memory.layers[layer].form);
        let groups = &read.secure[places.groups[layer].clone()];
        let (shift, log_gathered) = (self.shape.log_size - form.log_size, form.log_gathered());
        // Distinct positions of this layer: each fold halves the domain.
        let mut positions: Vec<(u32, usize)> =
            queries.iter().map(|&(position, query)| (position >> shift, query)).collect();
        positions.dedup_by_key(|(position, _)| *position);
        // Values of each queried group that are not queried.
        let mut fri_witness = Vec::new();
        let mut nodes = Vec::new();
        for queried in positions.chunk_by(|a, b| a.0 >> form.fold == b.0 >> form.fold) {
            let (first, query) = queried[0];
            let start = first >> form.fold << form.fold;
            let gathered = (query << log_gathered) + (start as usize & ((1 << log_gathered) - 1));
            let values = &groups[gathered..gathered + (1 << form.fold)];
            let mut queried = queried.iter().peekable();
            for (position, &value) in (start..).zip(values) {
                if queried.next_if(|(queried, _)| *queried == position).is_none() {
                    fri_witness.push(value);
                }
            }
            nodes.push((first >> form.fold, query));
        }
        // Authentication paths, rehashed below the lowest stored level.
        let (paths, kept) = (&read.digests[places.layer_paths[layer].clone()], form.kept_levels());
        let truncated = form.levels() - kept;
        let hash_witness = witness(nodes, form.levels(), |query, level| {
            let Some(kept_level) = level.checked_sub(truncated) else {
                let gathered = &groups[query << log_gathered..(query + 1) << log_gathered];
                let position = read.words[places.positions.clone()][query] >> shift;
                return digest(beside(form, gathered, position, form.group_level() + level as u32));
            };
            digest(paths[query * kept + kept_level])
        });
        let root = read.digests[places.layer_roots[layer].start];
        FriLayerProof { fri_witness, decommitment: Decommitment { hash_witness }, commitment: digest(root) }
    }
}

/// Returns the sibling digest on the path of `position` at a level that is not stored.
///
/// The digest is rehashed from the values of a layer gathered around `position`.
fn beside(form: LayerForm, gathered: &[QM31], position: u32, level: u32) -> Words {
    let log_values = form.log_packed + level;
    let sibling = (position >> log_values ^ 1) as usize & ((gathered.len() >> log_values) - 1);
    let below = &gathered[sibling << log_values..(sibling + 1) << log_values];
    let mut nodes: Vec<Words> = below.chunks(1 << form.log_packed).map(leaf).collect();
    while nodes.len() > 1 {
        nodes = nodes.as_chunks().0.iter().map(|&[left, right]| node(left, right)).collect();
    }
    nodes[0]
}

/// A leaf of one value or of four.
fn leaf(values: &[QM31]) -> Words {
    let mut block = [0; BLOCK_WORDS];
    for (place, word) in block.iter_mut().zip(values.iter().flat_map(|value| value.coordinates())) {
        *place = word.word();
    }
    one_block(&block, 16 * values.len() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn witnesses_are_what_known_leaves_do_not_give() {
        // Leaves 0, 1 and 5 of eight: 5 lacks its sibling 4; above, node 3 lacks its sibling 2; node 0 lacks 1.
        let leaves = distinct(&[5, 0, 1, 5]);
        assert_eq!(leaves, [(0, 1), (1, 2), (5, 0)]);
        assert_eq!(witness(leaves, 3, |query, level| (query, level)), [(0, 0), (1, 1), (0, 1)]);
    }
}
