//! Wide Fibonacci as its prover is timed.
//!
//! It uses stwo's default parameters and keeps coefficients, which is fastest.

use stwo::core::{
    channel::Blake2sChannel,
    fields::{m31::BaseField, qm31::SecureField},
    pcs::PcsConfig,
    poly::circle::CanonicCoset,
    vcs_lifted::blake2_merkle::Blake2sMerkleChannel,
};
use stwo::prover::{
    CommitmentSchemeProver,
    backend::simd::{SimdBackend, column::BaseColumn},
    poly::{
        BitReversedOrder,
        circle::{CircleEvaluation, PolyOps},
        twiddles::TwiddleTree,
    },
    prove,
};
use stwo_constraint_framework::{FrameworkComponent, TraceLocationAllocator};

use crate::airs::WideFibonacci;

/// The columns of a trace.
pub type Trace = Vec<CircleEvaluation<SimdBackend, BaseField, BitReversedOrder>>;

/// What all proofs of one size share.
pub struct Fibonacci {
    log_rows: u32,
    columns: Vec<BaseColumn>,
    config: PcsConfig,
    twiddles: TwiddleTree<SimdBackend>,
}

impl Fibonacci {
    /// A trace of `2^log_rows` rows and `columns` columns, and twiddles.
    pub fn new(log_rows: u32, columns: u32) -> Self {
        let config = PcsConfig::default();
        let largest = CanonicCoset::new(log_rows + 1 + config.fri_config.log_blowup_factor).circle_domain();
        let twiddles = SimdBackend::precompute_twiddles(largest.half_coset);
        let mut rows = vec![vec![BaseField::from(1); 1 << log_rows], (0..1 << log_rows).map(BaseField::from).collect()];
        for k in 2..columns as usize {
            let next = rows[k - 2].iter().zip(&rows[k - 1]).map(|(a, b)| *a * *a + *b * *b).collect();
            rows.push(next);
        }
        Self { log_rows, columns: rows.into_iter().map(BaseColumn::from_iter).collect(), config, twiddles }
    }

    /// The trace, which a proof uses up.
    pub fn trace(&self) -> Trace {
        let domain = CanonicCoset::new(self.log_rows).circle_domain();
        self.columns.iter().map(|column| CircleEvaluation::new(domain, column.clone())).collect()
    }

    /// Makes a proof, and drops it.
    pub fn prove(&self, trace: Trace) {
        let channel = &mut Blake2sChannel::default();
        self.config.mix_into(channel);
        let mut scheme = CommitmentSchemeProver::<SimdBackend, Blake2sMerkleChannel>::new(self.config, &self.twiddles);
        scheme.set_store_polynomials_coefficients();
        scheme.tree_builder().commit(channel);
        let mut tree = scheme.tree_builder();
        tree.extend_evals(trace);
        tree.commit(channel);
        let component = FrameworkComponent::new(
            &mut TraceLocationAllocator::default(),
            WideFibonacci { log_rows: self.log_rows, columns: self.columns.len() as u32 },
            SecureField::default(),
        );
        prove(&[&component], channel, scheme).expect("the trace satisfies the constraints");
    }
}
