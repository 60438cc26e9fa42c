//! A proof in progress, and the order of its transcript.
//!
//! 1. The parameters, the root of the preprocessed columns and the root of the trace.
//! 2. Lookup challenges, the claimed sums and the root of the interaction columns.
//! 3. Challenge of the constraints, root of the composition, parameter of the out-of-domain point.
//! 4. The sampled values, challenge of the quotients.
//! 5. Root and challenge of each layer of FRI, the last layer, the nonce, the queries (stwo 2.3,
//!    `prover/mod.rs` and `prover/pcs/mod.rs`).

use core::fmt;

use backend_api::{Buffer as _, ops::air::SecurePowers};
use core_types::{
    air::Relation,
    field::{M31, QM31},
    params::air::SecurePowersParams,
};
use stark_verifier::{FriConfig, PcsConfig, Proof, Protocol};

use crate::{
    Generated, Interaction, Prover, ProverError, Stage, StarkOps, Submitted,
    plan::ranks::CollectiveWork,
    plan::shape::{INTERACTION, TRACE},
    storage::answers::Answers,
};

/// The number of challenge slots: the limit that a recorded AIR can address.
const MOST_SLOTS: usize = 1 << 16;

/// A proof in progress.
///
/// It serves statements that absorb data or draw challenges between commitments.
///
/// A fresh transcript holds the parameters. The caller then commits to one tree after the other,
/// the preprocessed columns first. In between, it absorbs data and draws challenges exactly as the
/// verifier's session does. Nothing waits for the device before [`finish`](Self::finish):
/// challenges stay there. The exception is coefficients on the host
/// ([`Residency::Host`](crate::Residency::Host)), which are waited for when columns are
/// interpolated.
pub struct ProofSession<'p, Q: StarkOps> {
    prover: &'p mut Prover<Q>,
    q: &'p Q,
    committed: usize,
    /// Whether its work may be replayed for other traces: host columns belong to one trace.
    is_for_graph: bool,
    /// The collective work of the proof, which all ranks do together.
    work: CollectiveWork<Q>,
}

impl<'p, Q: StarkOps> ProofSession<'p, Q> {
    pub(crate) fn new(prover: &'p mut Prover<Q>, q: &'p Q, is_for_graph: bool) -> Result<Self, ProverError> {
        let work = prover.group.begin();
        // Interaction columns are of one proof.
        prover.loaded.take_if(|tree| *tree != TRACE);
        prover.memory.transcript.reset(q)?;
        let words = match prover.protocol {
            Protocol::V2_3 => {
                let PcsConfig { pow_bits, fri_config, lifting_log_size } = prover.config;
                let FriConfig { log_blowup_factor, log_last_layer_degree_bound, n_queries, fold_step } = fri_config;
                // A valid number of queries fits a word.
                let first = [pow_bits, log_blowup_factor, n_queries as u32, log_last_layer_degree_bound];
                [first, [fold_step, lifting_log_size.unwrap_or(0), 0, 0]]
            }
            other => return Err(ProverError::Protocol(other)),
        };
        let mut session = Self { prover, q, committed: 0, is_for_graph, work };
        session.mix_felts(&words.map(|words| QM31::from_coordinates(words.map(M31::from_u32))))?;
        Ok(session)
    }

    /// Resumes after the trace commitment, for graph capture on a single device.
    pub(crate) fn resumed(prover: &'p mut Prover<Q>, q: &'p Q) -> Self {
        let work = prover.group.begin();
        Self { prover, q, committed: INTERACTION, is_for_graph: true, work }
    }

    /// Absorbs `words` into the transcript.
    ///
    /// # Errors
    /// Any error that the device reports.
    pub fn mix_u32s(&mut self, words: &[u32]) -> Result<(), ProverError> {
        let absorbed = self.q.upload(words)?;
        Ok(self.prover.memory.transcript.absorb_words(self.q, absorbed.view())?)
    }

    /// Absorbs elements of the secure field.
    ///
    /// # Errors
    /// Any error that the device reports.
    pub fn mix_felts(&mut self, elements: &[QM31]) -> Result<(), ProverError> {
        let absorbed = self.q.upload(elements)?;
        Ok(self.prover.memory.transcript.absorb_elements(self.q, absorbed.view(), None)?)
    }

    /// Absorbs the root of the preprocessed columns' tree.
    ///
    /// # Errors
    /// [`ProverError::Tree`] if it is not the first, and any error that the device reports.
    pub fn commit_preprocessed(&mut self) -> Result<(), ProverError> {
        self.expect_tree(0)?;
        self.mix_root()
    }

    /// Commits to the next tree of the trace and absorbs the root.
    ///
    /// `columns` are the columns of all components, one after the other, in stored order.
    ///
    /// # Errors
    /// [`ProverError::Tree`] if the preprocessed columns come first, [`ProverError::NoTree`] if no
    /// tree is left, [`ProverError::Columns`] or [`ProverError::Rows`] if the columns do not match
    /// the statement, [`ProverError::ClaimedSums`] if they are interaction columns of a statement
    /// with look-ups, which are [loaded](Self::load_interaction) with their claimed sums,
    /// [`ProverError::InGraph`] if the session belongs to a graph, and any error that the device
    /// reports.
    pub fn commit(&mut self, columns: &[&[M31]]) -> Result<(), ProverError> {
        let tree = self.committed;
        if tree == 0 {
            return Err(ProverError::Tree { expected: 0, got: 1 });
        }
        self.prover.expect_tree_of_trace(tree)?;
        self.expect_no_graph()?;
        if tree == INTERACTION {
            self.prover.expect_claimed_sums(0)?;
        }
        self.prover.loaded.take_if(|loaded| *loaded == tree);
        self.prover.upload(self.q, tree, columns)?;
        self.commit_rows(tree)
    }

    /// Commits to the columns that were loaded for this proof, as [`commit`](Self::commit) does.
    ///
    /// They are the [trace](Prover::load), or the [interaction columns](Self::load_interaction)
    /// that follow it. In the latter case it first absorbs [`Interaction::absorbed`].
    ///
    /// # Errors
    /// [`ProverError::Tree`] if the preprocessed columns come first, [`ProverError::NotLoaded`] if
    /// no columns of the next tree were loaded, and any error that the device reports.
    pub fn commit_loaded(&mut self) -> Result<(), ProverError> {
        let tree = self.committed;
        if tree == 0 {
            return Err(ProverError::Tree { expected: 0, got: TRACE });
        }
        self.prover.expect_loaded(tree)?;
        let memory = &mut self.prover.memory;
        if tree == INTERACTION && memory.absorbed_len > 0 {
            memory.transcript.absorb_elements(self.q, memory.absorbed.slice(0..memory.absorbed_len)?, None)?;
        }
        self.commit_rows(tree)
    }

    /// Uploads interaction columns from the host, their claimed sums, and elements to absorb.
    ///
    /// The host computes them from the [challenges](Self::challenges);
    /// [`commit_loaded`](Self::commit_loaded) commits to them.
    ///
    /// # Errors
    /// [`ProverError::Tree`] if the trace was not the last tree that was committed to,
    /// [`ProverError::NoTree`] if the statement has no interaction columns,
    /// [`ProverError::ClaimedSums`], [`ProverError::Columns`] or [`ProverError::Rows`] if claimed
    /// sums or columns do not match the statement, [`ProverError::InGraph`] if the session belongs
    /// to a graph, and any error that the device reports.
    pub fn load_interaction(&mut self, interaction: &Interaction) -> Result<(), ProverError> {
        self.expect_tree(INTERACTION)?;
        self.prover.expect_tree_of_trace(INTERACTION)?;
        self.expect_no_graph()?;
        self.load_between_graphs(interaction)
    }

    /// As [`load_interaction`](Self::load_interaction), outside of both graphs of a pair.
    pub(crate) fn load_between_graphs(&mut self, interaction: &Interaction) -> Result<(), ProverError> {
        self.prover.load_interaction(self.q, interaction)
    }

    /// Makes the trace on the device, component by component, and commits to it.
    ///
    /// It commits as [`commit`](Self::commit) does. Only the inputs of the generators and tables
    /// are uploaded.
    ///
    /// # Errors
    /// [`ProverError::Tree`] if the trace is not the next tree, [`ProverError::Generators`],
    /// [`ProverError::Generator`] or [`ProverError::Keys`] if generators, inputs or tables do not
    /// match the trace of the statement, [`ProverError::InGraph`] if the session belongs to a
    /// graph, and any error that the device reports.
    pub fn commit_generated(&mut self, components: &[Generated<'_>]) -> Result<(), ProverError> {
        self.expect_tree(TRACE)?;
        self.expect_no_graph()?;
        self.prover.loaded = None;
        self.prover.generate(self.q, components)?;
        self.commit_rows(TRACE)
    }

    /// Commits to the rows of a tree, which are stored in the place of its coefficients.
    ///
    /// The coefficients overwrite them.
    fn commit_rows(&mut self, tree: usize) -> Result<(), ProverError> {
        self.prover.loaded.take_if(|loaded| *loaded == tree);
        self.prover.commit(self.q, tree)?;
        self.mix_root()
    }

    /// Draws the challenges of a relation, `z` and the powers of `alpha`, to its slots.
    ///
    /// Slots are written whether or not a component reads them.
    ///
    /// # Errors
    /// [`ProverError::Slot`] if its last slot is beyond the slots that an AIR can read, and any
    /// error that the device reports.
    pub fn draw_relation(&mut self, relation: Relation) -> Result<(), ProverError> {
        let (q, memory) = (self.q, &mut self.prover.memory);
        // Even a relation between no values has `z`.
        let count = relation.slots().max(1);
        let (first, size) = (relation.first() as usize, count as usize);
        let end = first + size;
        if end > MOST_SLOTS {
            return Err(ProverError::Slot { most: MOST_SLOTS, got: end - 1 });
        }
        memory.fit_relation(q, end, size)?;
        memory.transcript.draw(q, memory.relation_challenges.view_mut())?;
        let params = SecurePowersParams { count, descending: 0 };
        let powers = memory.relation_powers.slice_mut(0..size)?;
        q.secure_powers(SecurePowers { params: &params, base: memory.relation_challenges.slice(1..2)?, powers })?;
        q.copy(memory.relation_challenges.slice(0..1)?, memory.challenges.slice_mut(first..first + 1)?)?;
        let powers = memory.relation_powers.slice(1..size)?;
        q.copy(powers, memory.challenges.slice_mut(first + 1..end)?)?;
        Ok(())
    }

    /// Computes and commits to the interaction columns of all look-ups.
    ///
    /// The columns and their claimed sums are computed from the committed trace and the drawn
    /// challenges. Before the commitment, the claimed sums are absorbed, one for each component,
    /// zero if it has no look-ups.
    ///
    /// # Errors
    /// [`ProverError::Tree`] if the trace was not the last tree that was committed to,
    /// [`ProverError::NoTree`] without look-ups, [`ProverError::Interaction`] if a component has
    /// other interaction columns than its look-up columns, and any error that the device reports.
    pub fn commit_look_ups(&mut self) -> Result<(), ProverError> {
        let tree = INTERACTION;
        self.expect_tree(tree)?;
        self.prover.expect_tree_of_trace(tree)?;
        self.prover.loaded.take_if(|loaded| *loaded == tree);
        for component in 0..self.prover.components.len() {
            self.prover.make_look_ups(self.q, component)?;
        }
        let memory = &mut self.prover.memory;
        if let Some(look_ups) = &memory.look_ups {
            let Answers { secure, places, .. } = &mut memory.answers;
            for (place, sums) in places.claimed_sums.clone().zip(&look_ups.sums) {
                self.q.copy(sums.slice(0..1)?, secure.slice_mut(place..place + 1)?)?;
            }
            memory.transcript.absorb_elements(self.q, secure.slice(places.claimed_sums.clone())?, None)?;
        }
        self.prover.commit(self.q, tree)?;
        self.mix_root()
    }

    /// Waits for the claimed sums of all components; without look-ups there are none.
    ///
    /// # Errors
    /// Any error that the device reports.
    pub fn claimed_sums(&self) -> Result<Vec<QM31>, ProverError> {
        let Answers { secure, places, .. } = &self.prover.memory.answers;
        Ok(self.q.read(secure.slice(places.claimed_sums.clone())?)?)
    }

    /// Waits for the challenges of the relations, by slot.
    ///
    /// A slot that this proof has not drawn holds its value from an earlier proof, or zero.
    ///
    /// # Errors
    /// Any error that the device reports.
    pub fn challenges(&self) -> Result<Vec<QM31>, ProverError> {
        Ok(self.q.download(&self.prover.memory.challenges)?)
    }

    /// Makes the proof: everything after the last tree of the trace.
    ///
    /// # Errors
    /// [`ProverError::Unfinished`] if a tree is missing, [`ProverError::Constraints`] if the trace
    /// breaks a constraint, [`ProverError::Point`], and any error that the device reports.
    pub fn finish(self) -> Result<Proof, ProverError> {
        self.submit()?.wait()?.proof()
    }

    /// Submits everything after the last tree of the trace.
    ///
    /// Does not wait, unless coefficients are on the host.
    ///
    /// # Errors
    /// [`ProverError::Unfinished`] if a tree is missing, and any error that the device reports.
    pub fn submit(self) -> Result<Submitted<'p, Q>, ProverError> {
        self.complete(|_| Ok(()))
    }

    /// [`submit`](Self::submit), calling `watch` as each stage begins.
    ///
    /// The device has completed the earlier stages by then.
    ///
    /// # Errors
    /// As [`submit`](Self::submit).
    pub fn submit_watched(self, mut watch: impl FnMut(Stage)) -> Result<Submitted<'p, Q>, ProverError> {
        let q = self.q;
        self.complete(|stage| {
            q.finish()?;
            watch(stage);
            Ok(())
        })
    }

    /// Submits the rest, if all trees of the trace are committed to.
    fn complete(self, begin: impl FnMut(Stage) -> Result<(), ProverError>) -> Result<Submitted<'p, Q>, ProverError> {
        let Self { prover, q, committed, work, .. } = self;
        let expected = prover.shape.trace_trees();
        if committed != expected {
            return Err(ProverError::Unfinished { expected, got: committed });
        }
        prover.complete(q, begin)?;
        work.complete();
        Ok(Submitted { prover, q })
    }

    fn expect_no_graph(&self) -> Result<(), ProverError> {
        if self.is_for_graph { Err(ProverError::InGraph) } else { Ok(()) }
    }

    pub(crate) fn expect_tree(&self, tree: usize) -> Result<(), ProverError> {
        let expected = self.committed;
        if tree == expected { Ok(()) } else { Err(ProverError::Tree { expected, got: tree }) }
    }

    /// Absorbs the root of the next tree, and counts the tree as committed.
    fn mix_root(&mut self) -> Result<(), ProverError> {
        let memory = &mut self.prover.memory;
        memory.transcript.absorb_root(self.q, memory.trees.root(self.committed)?, None)?;
        self.committed += 1;
        Ok(())
    }
}

impl<Q: StarkOps> Prover<Q> {
    /// Begins a proof: a fresh transcript that holds the parameters.
    ///
    /// # Errors
    /// Any error that the device reports.
    pub fn begin<'p>(&'p mut self, q: &'p Q) -> Result<ProofSession<'p, Q>, ProverError> {
        ProofSession::new(self, q, false)
    }

    /// Proves a statement that absorbs no data and draws no challenges between its commitments.
    ///
    /// `trace` contains the columns of all components, one after the other, in stored order.
    ///
    /// # Errors
    /// As for the methods of [`ProofSession`].
    pub fn prove(&mut self, q: &Q, trace: &[&[M31]]) -> Result<Proof, ProverError> {
        let mut session = self.begin(q)?;
        session.commit_preprocessed()?;
        session.commit(trace)?;
        session.finish()
    }
}

impl<Q: StarkOps> fmt::Debug for ProofSession<'_, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProofSession").field("committed", &self.committed).finish_non_exhaustive()
    }
}
