//! The layers of FRI: commitments, folds and the last layer.
//!
//! `f'(h) = (f(2h) + f(2h+1)) + a (f(2h) - f(2h+1)) / t`, where `t` is the y-coordinate at position
//! `2h` in the first fold, on the circle, and the x-coordinate in all others, on lines. Fold `j` of
//! a layer with challenge `alpha` takes `a = alpha^(2^j)`. The last layer is sent as coefficients
//! (Ben-Sasson et al., FRI, ICALP 2018; on the circle <https://eprint.iacr.org/2024/278>; stwo 2.3,
//! `core/fri.rs`).

use backend_api::{
    Buffer as _,
    ops::{
        fri::{FriFold, FriLastLayer},
        merkle::{MerkleSecureLeaves, MerkleTree},
    },
};
use core_types::params::{
    fri::{FriFoldParams, FriLastLayerParams},
    merkle::{MerkleSecureLeavesParams, MerkleTreeParams},
};
use stark_fft::CanonicDomain;

use crate::{
    Prover, ProverError, StarkOps,
    storage::answers::{Answers, level},
    storage::memory::{FriLayerMemory, ProverMemory},
};

impl<Q: StarkOps> Prover<Q> {
    /// Folds a layer with its challenge to the next.
    pub(crate) fn fold_layer(&mut self, q: &Q, index: usize) -> Result<(), ProverError> {
        let ProverMemory { layers, last_values, .. } = &mut self.memory;
        let (layers, rest) = layers.split_at_mut(index + 1);
        let FriLayerMemory { form, values, challenge, .. } = &layers[index];
        let params = FriFoldParams { log_size: form.log_size, folds: form.fold, on_circle: u32::from(index == 0) };
        let domain = CanonicDomain::new(params.log_domain())?;
        let folded = rest.first_mut().map_or(last_values, |next| &mut next.values);
        q.fri_fold(FriFold {
            params: &params,
            inverse_twiddles: self.twiddles.inverse(domain)?,
            challenge: challenge.view(),
            values: values.view(),
            folded: folded.view_mut(),
        })?;
        Ok(())
    }

    /// Computes the coefficients of the last layer, and whether any is above the bound.
    pub(crate) fn interpolate_last_layer(&mut self, q: &Q) -> Result<(), ProverError> {
        let memory = &mut self.memory;
        let Answers { secure, words, places, .. } = &mut memory.answers;
        let log_size = (memory.last_values.len() / 4).ilog2();
        let log_bound = self.config.fri_config.log_last_layer_degree_bound;
        q.fri_last_layer(FriLastLayer {
            params: &FriLastLayerParams { log_size, log_bound },
            inverse_twiddles: self.twiddles.inverse(CanonicDomain::new(log_size + 1)?)?,
            values: memory.last_values.view(),
            coefficients: secure.slice_mut(places.last_coefficients.clone())?,
            excess: words.slice_mut(places.excess.clone())?,
        })?;
        Ok(())
    }

    /// Builds the tree of a layer.
    ///
    /// If not all of its levels are stored, it is built from parts of the values one after the
    /// other.
    pub(crate) fn hash_layer(&mut self, q: &Q, index: usize) -> Result<(), ProverError> {
        let ProverMemory { layers, blocks, .. } = &mut self.memory;
        let FriLayerMemory { form, values, nodes, .. } = &mut layers[index];
        let (log_leaves, log_kept, log_part) = (form.log_leaves(), form.log_kept(), form.log_part);
        // A layer that is not hashed in parts takes two ops.
        let Some(blocks) = blocks.as_mut().filter(|_| form.is_hashed_in_parts()) else {
            q.merkle_secure_leaves(MerkleSecureLeaves {
                params: &MerkleSecureLeavesParams { log_size: form.log_size, log_packed: form.log_packed },
                values: values.view(),
                leaves: nodes.slice_mut(0..1 << log_leaves)?,
            })?;
            q.merkle_tree(MerkleTree { params: &MerkleTreeParams { log_leaves }, nodes: nodes.view_mut() })?;
            return Ok(());
        };
        // Each part is hashed in scratch memory, and only its lowest stored level is copied.
        let log_size = log_part + form.log_packed;
        let lowest_kept = level(log_part, form.truncated);
        let (parts, place) = (1 << (log_leaves - log_part), self.shape.place);
        // Of few parts, all ranks hash all.
        let is_shared = parts >= place.ranks();
        for part in if is_shared { place.share(parts) } else { 0..parts } {
            for plane in 0..4 {
                let first = (plane << form.log_size) + (part << log_size);
                let values = values.slice(first..first + (1 << log_size))?;
                q.copy(values, blocks.sums.slice_mut(plane << log_size..(plane + 1) << log_size)?)?;
            }
            q.merkle_secure_leaves(MerkleSecureLeaves {
                params: &MerkleSecureLeavesParams { log_size, log_packed: form.log_packed },
                values: blocks.sums.slice(0..form.part_words())?,
                leaves: blocks.nodes.slice_mut(0..1 << log_part)?,
            })?;
            let tree = blocks.nodes.slice_mut(0..(2 << log_part) - 1)?;
            q.merkle_tree(MerkleTree { params: &MerkleTreeParams { log_leaves: log_part }, nodes: tree })?;
            let len = lowest_kept.len();
            q.copy(blocks.nodes.slice(lowest_kept.clone())?, nodes.slice_mut(part * len..(part + 1) * len)?)?;
        }
        // The levels above are built on the parts of all ranks.
        if is_shared {
            let len = lowest_kept.len();
            self.group.all_gather(q, nodes, place.shares(parts).map(|parts| parts.start * len..parts.end * len))?;
        }
        let params = MerkleTreeParams { log_leaves: log_kept };
        q.merkle_tree(MerkleTree { params: &params, nodes: nodes.view_mut() })?;
        Ok(())
    }
}
