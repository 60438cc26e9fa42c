//! The layers of FRI: commitments, folds and the last layer.

use backend_api::{
    Buffer as _,
    ops::{
        channel::{ChannelMixDigests, ChannelMixFelts},
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
    answers::{Answers, root},
};

impl<Q: StarkOps> Prover<Q> {
    /// Commits to each layer, draws its challenge and folds it to the next; then says the polynomial of the last one.
    pub(crate) fn commit_layers(&mut self, q: &Q) -> Result<(), ProverError> {
        let memory = &mut self.memory;
        for index in 0..memory.layers.len() {
            let (layers, rest) = memory.layers.split_at_mut(index + 1);
            let layer = &mut layers[index];
            let form = layer.form;
            let log_leaves = form.log_leaves();
            q.merkle_secure_leaves(MerkleSecureLeaves {
                params: &MerkleSecureLeavesParams { log_size: form.log_size, log_packed: form.log_packed },
                values: layer.values.view(),
                leaves: layer.nodes.slice_mut(0..1 << log_leaves)?,
            })?;
            q.merkle_tree(MerkleTree { params: &MerkleTreeParams { log_leaves }, nodes: layer.nodes.view_mut() })?;
            q.channel_mix_digests(ChannelMixDigests {
                said: layer.nodes.slice(root(layer.nodes.len()))?,
                channel: memory.channel.view_mut(),
                drawn: layer.challenge.view_mut(),
            })?;
            let params = FriFoldParams { log_size: form.log_size, folds: form.fold, on_circle: u32::from(index == 0) };
            let domain = CanonicDomain::new(params.log_domain())?;
            let folded = rest.first_mut().map_or(&mut memory.last_values, |next| &mut next.values);
            q.fri_fold(FriFold {
                params: &params,
                inverse_twiddles: self.twiddles.inverse(domain)?,
                challenge: layer.challenge.view(),
                values: layer.values.view(),
                folded: folded.view_mut(),
            })?;
        }
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
        let drawn = memory.drawn.slice_mut(0..0)?;
        q.channel_mix_felts(ChannelMixFelts {
            said: secure.slice(places.last_coefficients.clone())?,
            channel: memory.channel.view_mut(),
            drawn,
        })?;
        Ok(())
    }
}
