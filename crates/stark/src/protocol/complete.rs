//! The protocol from the last tree of the trace to the openings.
//!
//! [`Prover::complete`] has every step, and every use of the transcript: compare it with
//! `stark_verifier` and with stwo 2.3, `prover/mod.rs`. How a step works on columns in device
//! memory, in blocks, on the host or on several ranks is left to the methods that it calls.

use backend_api::{Buffer as _, BufferRef as _};

use crate::{
    Prover, ProverError, Stage, StarkOps,
    storage::answers::{Answers, root},
    storage::memory::{FriLayerMemory, ProverMemory},
};

impl<Q: StarkOps> Prover<Q> {
    /// Submits the steps of a proof after its last tree of the trace.
    ///
    /// `begin` is called before each stage. The transcript holds the roots of all trees of the
    /// trace, and whatever the statement absorbed between them.
    pub(crate) fn complete(
        &mut self,
        q: &Q,
        mut begin: impl FnMut(Stage) -> Result<(), ProverError>,
    ) -> Result<(), ProverError> {
        // 1. A challenge alpha combines the constraints C_k to the composition polynomial:
        //    H = sum over k of alpha^(K-1-k) C_k / V.
        begin(Stage::Composition)?;
        let ProverMemory { transcript, answers: Answers { secure, places, .. }, .. } = &mut self.memory;
        transcript.draw(q, secure.slice_mut(places.composition_challenge.clone())?)?;
        self.evaluate_composition(q)?;
        self.interpolate_composition(q)?;

        // 2. Commitment to the two halves of H, whose coordinates are eight columns. The root
        //    yields the parameter of the out-of-domain point z.
        let tree = self.shape.trace_trees();
        self.hash(q, tree)?;
        let ProverMemory { transcript, trees, answers: Answers { secure, places, .. }, .. } = &mut self.memory;
        transcript.absorb_root(q, trees.root(tree)?, Some(secure.slice_mut(places.parameter.clone())?))?;

        // 3. Values of all columns at z and at its neighbours, and a challenge gamma.
        begin(Stage::Sampling)?;
        self.sample(q)?;
        let ProverMemory { transcript, quotient_challenge, answers, .. } = &mut self.memory;
        let sampled = answers.secure.slice(answers.places.sampled.clone())?;
        transcript.absorb_elements(q, sampled, Some(quotient_challenge.view_mut()))?;

        // 4. Gamma combines the quotients (f(p) - f(z)) / (p - z) of all samples to the first layer
        //    of FRI.
        begin(Stage::Quotients)?;
        self.make_quotients(q)?;

        // 5. FRI: commitment to each layer, a challenge, and the fold to the next layer. The last
        //    layer is absorbed as coefficients.
        begin(Stage::Fri)?;
        for index in 0..self.memory.layers.len() {
            self.hash_layer(q, index)?;
            let ProverMemory { transcript, layers, .. } = &mut self.memory;
            let FriLayerMemory { nodes, challenge, .. } = &mut layers[index];
            transcript.absorb_root(q, nodes.slice(root(nodes.len()))?, Some(challenge.view_mut()))?;
            self.fold_layer(q, index)?;
        }
        self.interpolate_last_layer(q)?;
        let ProverMemory { transcript, answers: Answers { secure, words, places, .. }, .. } = &mut self.memory;
        transcript.absorb_elements(q, secure.slice(places.last_coefficients.clone())?, None)?;

        // 6. Proof of work, then the positions of the queries.
        begin(Stage::Opening)?;
        transcript.grind(q, self.config.pow_bits, words.slice_mut(places.nonce.clone())?)?;
        transcript.absorb_words(q, words.slice(places.nonce.clone())?)?;
        transcript.draw_positions(q, self.shape.log_size, words.slice_mut(places.positions.clone())?)?;

        // 7. Openings of all trees and layers at the positions.
        for tree in 0..self.shape.trees.len() {
            self.open_values(q, tree)?;
            self.open_paths(q, tree)?;
        }
        for index in 0..self.memory.layers.len() {
            self.open_layer(q, index)?;
        }

        // The host compares the transcripts of all ranks, and reads all answers at once.
        self.gather_states(q)?;
        Ok(self.memory.answers.pack(q, self.memory.challenges.view())?)
    }

    /// Gathers the final state of every rank's transcript; nothing without other ranks.
    fn gather_states(&mut self, q: &Q) -> Result<(), ProverError> {
        let place = self.shape.place;
        if place.is_alone() {
            return Ok(());
        }
        let Answers { words, places, .. } = &mut self.memory.answers;
        let state = q.words(self.memory.transcript.state());
        let (len, first) = (state.len(), places.states.start);
        let of = |rank: usize| first + rank * len..first + (rank + 1) * len;
        q.copy(state, words.slice_mut(of(place.rank))?)?;
        Ok(self.group.all_gather(q, words, (0..place.ranks()).map(of))?)
    }
}
