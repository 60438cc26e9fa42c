//! Wide Fibonacci as its prover is timed.
//!
//! It uses stwo's default parameters and keeps coefficients, which is fastest.

use stwo::core::{
    fields::m31::BaseField, pcs::PcsConfig, poly::circle::CanonicCoset, vcs_lifted::blake2_merkle::Blake2sMerkleChannel,
};
use stwo::prover::{
    ComponentProver,
    backend::{
        BackendForChannel,
        simd::{SimdBackend, column::BaseColumn},
    },
    poly::{circle::CircleEvaluation, twiddles::TwiddleTree},
};
use stwo_constraint_framework::FrameworkComponent;

use crate::{
    components::VectorEval,
    prove::{ColumnEvaluations, Scheme, commit, prove_in, twiddles},
    statement::Statement,
    witness::trace::TraceColumn,
};

/// What all proofs of one size on one backend share.
pub struct FibonacciProver<B: BackendForChannel<Blake2sMerkleChannel>> {
    statement: Statement,
    twiddles: TwiddleTree<B>,
}

impl<B: BackendForChannel<Blake2sMerkleChannel>> FibonacciProver<B>
where
    FrameworkComponent<VectorEval>: ComponentProver<B>,
{
    /// Twiddles for `2^log_rows` rows.
    pub fn new(log_rows: u32, columns: u32) -> Self {
        let statement = Statement::WideFibonacci { log_rows: vec![log_rows], columns: vec![columns] };
        Self { statement, twiddles: twiddles(log_rows + 1 + PcsConfig::default().fri_config.log_blowup_factor) }
    }

    /// Makes a proof, and drops it.
    pub fn prove(&self, trace: ColumnEvaluations<B>) {
        let mut scheme = Scheme::new(PcsConfig::default(), &self.twiddles);
        scheme.set_store_polynomials_coefficients();
        let (proof, _) = prove_in(
            &self.statement,
            scheme,
            vec![],
            |scheme, channel| commit(scheme, trace, channel),
            |_| (vec![], vec![]),
        );
        proof.expect("the trace satisfies the constraints");
    }
}

/// A trace, and stwo's SIMD prover for it.
pub struct Fibonacci {
    columns: Vec<BaseColumn>,
    prover: FibonacciProver<SimdBackend>,
}

impl Fibonacci {
    /// A trace of `2^log_rows` rows and `columns` columns, and twiddles.
    pub fn new(log_rows: u32, columns: u32) -> Self {
        let mut rows = vec![vec![BaseField::from(1); 1 << log_rows], (0..1 << log_rows).map(BaseField::from).collect()];
        for k in 2..columns as usize {
            let next = rows[k - 2].iter().zip(&rows[k - 1]).map(|(a, b)| *a * *a + *b * *b).collect();
            rows.push(next);
        }
        let prover = FibonacciProver::new(log_rows, columns);
        Self { columns: rows.into_iter().map(BaseColumn::from_iter).collect(), prover }
    }

    /// The trace, which a proof uses up.
    pub fn trace(&self) -> Vec<TraceColumn> {
        let domain = CanonicCoset::new(self.columns[0].length.ilog2()).circle_domain();
        self.columns.iter().map(|column| CircleEvaluation::new(domain, column.clone())).collect()
    }

    /// Makes a proof, and drops it.
    pub fn prove(&self, trace: Vec<TraceColumn>) {
        self.prover.prove(trace);
    }
}
