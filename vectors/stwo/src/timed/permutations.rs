//! A chain of Poseidon2 permutations as its prover is timed.
//!
//! It uses stwo's default parameters and keeps coefficients, which is fastest.

use stwo::core::{
    fields::qm31::SecureField, pcs::PcsConfig, proof::StarkProof, vcs_lifted::blake2_merkle::Blake2sMerkleHasher,
};
use stwo::prover::{
    backend::simd::{SimdBackend, m31::LOG_N_LANES, qm31::PackedSecureField},
    poly::twiddles::TwiddleTree,
};
use stwo_constraint_framework::{LogupTraceGenerator, Relation};

use crate::{
    components::RelationElements,
    prove::{Scheme, commit, prove_in, twiddles},
    statement::Statement,
    witness::trace::{TraceColumn, column, permutations},
};

/// What all proofs of one chain share.
pub struct Permutations {
    statement: Statement,
    log_rows: u32,
    trace: Vec<TraceColumn>,
    /// The outputs of the permutations.
    ///
    /// They are given because stwo's own example retains them from trace generation.
    made: Vec<TraceColumn>,
    twiddles: TwiddleTree<SimdBackend>,
}

impl Permutations {
    /// The chain of `2^log_rows` permutations from `0, 1, ...`, its trace, and twiddles.
    pub fn new(log_rows: u32) -> Self {
        let twiddles = twiddles(log_rows + 1 + PcsConfig::default().fri_config.log_blowup_factor);
        let first = std::array::from_fn(|k| k as u32);
        let (columns, last) = permutations(log_rows, first);
        let made = columns.iter().zip(last).map(|(taken, last)| {
            let mut made = taken[1..].to_vec();
            made.push(last.into());
            column(made)
        });
        let made = made.collect();
        let statement = Statement::Poseidon2 { log_rows, first, last };
        Self { statement, log_rows, trace: columns.into_iter().map(column).collect(), made, twiddles }
    }

    /// The trace, which a proof uses up.
    pub fn trace(&self) -> Vec<TraceColumn> {
        self.trace.clone()
    }

    /// Makes a proof.
    pub fn prove(&self, trace: Vec<TraceColumn>) -> StarkProof<Blake2sMerkleHasher> {
        let mut scheme = Scheme::new(PcsConfig::default(), &self.twiddles);
        scheme.set_store_polynomials_coefficients();
        let (proof, _) = prove_in(
            &self.statement,
            scheme,
            vec![],
            |scheme, channel| commit(scheme, trace, channel),
            |elements| self.look_ups(elements),
        );
        proof.expect("the trace satisfies the constraints")
    }

    /// The interaction columns and the claimed sum.
    ///
    /// The columns pair the inputs and outputs of a permutation.
    fn look_ups(&self, elements: &RelationElements) -> (Vec<TraceColumn>, Vec<SecureField>) {
        let RelationElements::Sixteen(states) = elements else { panic!("challenges of another statement") };
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
        let (columns, sum) = generator.finalize_last();
        (columns, vec![sum])
    }
}
