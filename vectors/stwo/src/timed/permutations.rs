//! A chain of Poseidon2 permutations as its prover is timed.
//!
//! It uses stwo's default parameters and keeps coefficients, which is fastest.

use stwo::core::{
    channel::{Blake2sChannel, Channel},
    fields::qm31::SecureField,
    pcs::PcsConfig,
    poly::circle::CanonicCoset,
    proof::StarkProof,
    vcs_lifted::blake2_merkle::{Blake2sMerkleChannel, Blake2sMerkleHasher},
};
use stwo::prover::{
    CommitmentSchemeProver,
    backend::simd::{SimdBackend, m31::LOG_N_LANES, qm31::PackedSecureField},
    poly::{circle::PolyOps, twiddles::TwiddleTree},
    prove,
};
use stwo_constraint_framework::{FrameworkComponent, LogupTraceGenerator, Relation, TraceLocationAllocator};

use crate::{
    shipped::{Poseidon2, Sixteen},
    statement::Statement,
    timed::fibonacci::Trace,
    witness::trace::{Column, column, permutations},
};

/// What all proofs of one chain share.
pub struct Permutations {
    statement: Statement,
    log_rows: u32,
    trace: Trace,
    /// The outputs of the permutations.
    ///
    /// They are given because stwo's own example retains them from trace generation.
    made: Vec<Column>,
    config: PcsConfig,
    twiddles: TwiddleTree<SimdBackend>,
}

impl Permutations {
    /// The chain of `2^log_rows` permutations from `0, 1, ...`, its trace, and twiddles.
    pub fn new(log_rows: u32) -> Self {
        let config = PcsConfig::default();
        let largest = CanonicCoset::new(log_rows + 1 + config.fri_config.log_blowup_factor).circle_domain();
        let twiddles = SimdBackend::precompute_twiddles(largest.half_coset);
        let first = std::array::from_fn(|k| k as u32);
        let (columns, last) = permutations(log_rows, first);
        let made = columns.iter().zip(last).map(|(taken, last)| {
            let mut made = taken[1..].to_vec();
            made.push(last.into());
            column(made)
        });
        let made = made.collect();
        let statement = Statement::Poseidon2 { log_rows, first, last };
        Self { statement, log_rows, trace: columns.into_iter().map(column).collect(), made, config, twiddles }
    }

    /// The trace, which a proof uses up.
    pub fn trace(&self) -> Trace {
        self.trace.clone()
    }

    /// Makes a proof.
    pub fn prove(&self, trace: Trace) -> StarkProof<Blake2sMerkleHasher> {
        let channel = &mut Blake2sChannel::default();
        self.config.mix_into(channel);
        let mut scheme = CommitmentSchemeProver::<SimdBackend, Blake2sMerkleChannel>::new(self.config, &self.twiddles);
        scheme.set_store_polynomials_coefficients();
        scheme.tree_builder().commit(channel);
        channel.mix_u32s(&self.statement.words());
        let mut tree = scheme.tree_builder();
        tree.extend_evals(trace);
        tree.commit(channel);
        let states = Sixteen::draw(channel);
        let (columns, sum) = self.look_ups(&states);
        channel.mix_felts(&[sum]);
        let mut tree = scheme.tree_builder();
        tree.extend_evals(columns);
        tree.commit(channel);
        let component = FrameworkComponent::new(
            &mut TraceLocationAllocator::default(),
            Poseidon2 { log_rows: self.log_rows, states },
            sum,
        );
        prove(&[&component], channel, scheme).expect("the trace satisfies the constraints")
    }

    /// The interaction columns and the claimed sum.
    ///
    /// The columns pair the inputs and outputs of a permutation.
    fn look_ups(&self, states: &Sixteen) -> (Trace, SecureField) {
        let _span = tracing::info_span!("Interaction columns").entered();
        let taken: [_; 16] = std::array::from_fn(|k| &self.trace[k].values.data);
        let made: [_; 16] = std::array::from_fn(|k| &self.made[k].values.data);
        let mut generator = LogupTraceGenerator::new(self.log_rows);
        let mut column = generator.new_col();
        for at in 0..1 << (self.log_rows - LOG_N_LANES) {
            let taken: PackedSecureField = states.combine(&taken.map(|words| words[at]));
            let made: PackedSecureField = states.combine(&made.map(|words| words[at]));
            column.write_frac(at, made - taken, taken * made);
        }
        column.finalize_col();
        generator.finalize_last()
    }
}
