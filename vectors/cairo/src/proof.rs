//! Proofs of single components.

use cairo_air::relations::CommonLookupElements;
use core_types::{
    air::{Air as _, Relation, stored_position},
    field::M31,
};
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng as _};
use serde::{Serialize, de::DeserializeOwned};
use stark::{Component, PcsConfig, Protocol, Prover, ProverError, StarkOps, StatementProof};
use stwo::core::{
    air::Component as _,
    channel::{Blake2sChannel, Channel as _},
    fields::{m31::BaseField, qm31::SecureField},
    pcs::CommitmentSchemeVerifier,
    proof::StarkProof,
    vcs_lifted::blake2_merkle::{Blake2sMerkleChannel, Blake2sMerkleHasher},
    verifier::verify,
};
use stwo_air::FrameworkAir;
use stwo_constraint_framework::{
    FrameworkComponent, FrameworkEval, TraceLocationAllocator, preprocessed_columns::PreProcessedColumnId,
};

use crate::{row, rows};

/// The relation of all look-ups, as large as [`CommonLookupElements`].
const LOOK_UPS: Relation = Relation::new(0, 128);

/// A component and its constraints, recorded.
#[derive(Debug)]
pub struct Production<B> {
    build: B,
    air: FrameworkAir,
}

impl<E: FrameworkEval, B: Fn(CommonLookupElements) -> E> Production<B> {
    /// Records the component that `build` makes of look-up elements.
    ///
    /// # Panics
    /// If the component does what no recording can hold.
    pub fn record(build: B) -> Self {
        let of_channel = |channel: &mut _| build(CommonLookupElements::draw(channel));
        let air = FrameworkAir::with_relations(&[LOOK_UPS], of_channel).expect("every component can be recorded");
        Self { build, air }
    }

    /// The recorded constraints.
    pub const fn air(&self) -> &FrameworkAir {
        &self.air
    }

    /// The component with look-up elements and the sum of its look-ups.
    fn component(&self, elements: CommonLookupElements, sum: SecureField) -> FrameworkComponent<E> {
        let names = self.air.preprocessed().iter().map(|id| PreProcessedColumnId { id: id.clone() });
        let places = &mut TraceLocationAllocator::new_with_preprocessed_columns(&names.collect::<Vec<_>>());
        FrameworkComponent::new(places, (self.build)(elements), sum)
    }

    /// Columns that satisfy the constraints, if they are found.
    pub fn trace(&self, seed: u64) -> Option<Vec<Vec<M31>>> {
        let component = self.component(CommonLookupElements::dummy(), 0.into());
        let columns = component.trace_log_degree_bounds()[1].len();
        let (eval, random) = (&*component, &mut ChaCha8Rng::seed_from_u64(seed));
        let row = rows::first(eval, columns)?;
        let log_rows = self.air.log_rows();
        let mut trace = vec![vec![M31::ZERO; 1 << log_rows]; columns];
        for number in 0..1 << log_rows {
            let at = stored_position(number, log_rows) as usize;
            for (column, word) in trace.iter_mut().zip(rows::randomised(eval, &row, number, random)) {
                column[at] = M31::from_u32(word.0);
            }
        }
        Some(trace)
    }

    /// Proves the component on `q`.
    ///
    /// # Errors
    /// [`ProverError`], for a trace that does not satisfy the constraints among others.
    ///
    /// # Panics
    /// If the recorded component has more constraints than a prover takes.
    pub fn prove<Q: StarkOps>(
        &self,
        q: &Q,
        config: PcsConfig,
        trace: &[Vec<M31>],
    ) -> Result<StatementProof, ProverError> {
        let log_rows = self.air.log_rows();
        let column = |name: &String| {
            let (mut column, word) = (vec![M31::ZERO; 1 << log_rows], row::preprocessed(name));
            for number in 0..1 << log_rows {
                column[stored_position(number, log_rows) as usize] = M31::from_u32(word(number).0);
            }
            column
        };
        let preprocessed: Vec<_> = self.air.preprocessed().iter().map(column).collect();
        let [preprocessed, trace] =
            [&preprocessed[..], trace].map(|columns| columns.iter().map(|column| &column[..]).collect::<Vec<_>>());
        let places: Vec<usize> = (0..preprocessed.len()).collect();
        let components = vec![Component::new(&self.air, &places).expect("the AIR was recorded")];
        let mut prover = Prover::new(q, Protocol::V2_3, config, &preprocessed, components)?;
        let mut session = prover.begin(q)?;
        session.commit_preprocessed()?;
        session.mix_u32s(&[log_rows])?;
        session.commit(&trace)?;
        session.draw_relation(LOOK_UPS)?;
        session.commit_look_ups()?;
        let claimed_sums = session.claimed_sums()?;
        Ok(StatementProof { claimed_sums, proof: session.finish()? })
    }

    /// Whether stwo's verifier accepts a proof with the original component.
    pub fn is_accepted(&self, config: PcsConfig, proof: &StatementProof) -> bool {
        let config: stwo::core::pcs::PcsConfig = as_theirs(&config);
        let sum = proof.claimed_sums[0].coordinates().map(|word| BaseField::from(word.word()));
        let sum = SecureField::from_m31_array(sum);
        let proof: StarkProof<Blake2sMerkleHasher> = as_theirs(&proof.proof);
        let log_rows = self.air.log_rows();
        let columns = self.component(CommonLookupElements::dummy(), sum).trace_log_degree_bounds();
        let channel = &mut Blake2sChannel::default();
        config.mix_into(channel);
        let scheme = &mut CommitmentSchemeVerifier::<Blake2sMerkleChannel>::new(config);
        scheme.commit(proof.commitments[0], &vec![log_rows; self.air.preprocessed().len()], channel);
        channel.mix_u32s(&[log_rows]);
        scheme.commit(proof.commitments[1], &columns[1], channel);
        let elements = CommonLookupElements::draw(channel);
        channel.mix_felts(&[sum]);
        scheme.commit(proof.commitments[2], &columns[2], channel);
        let component = self.component(elements, sum);
        verify(&[&component], channel, scheme, proof).is_ok()
    }
}

/// The same in a type of stwo, whose JSON is ours.
fn as_theirs<T: DeserializeOwned>(ours: &impl Serialize) -> T {
    serde_json::from_value(serde_json::to_value(ours).expect("it can be written")).expect("both have the same JSON")
}
