//! Components without constraints: their columns are committed to and sampled, and both verifiers accept the proof.

use core_types::{air::stored_position, field::M31};
use runtime::{Choice, Settings};
use stark::{PcsConfig, Proof, Protocol, StatementProver, TraceColumns, Visitor, verify};
use stwo::core::{
    air::Component,
    channel::{Blake2sChannel, Channel},
    pcs::CommitmentSchemeVerifier,
    proof::StarkProof,
    vcs_lifted::blake2_merkle::{Blake2sMerkleChannel, Blake2sMerkleHasher},
};
use stwo_air::FrameworkAir;
use stwo_constraint_framework::{EvalAtRow, FrameworkComponent, FrameworkEval, TraceLocationAllocator};

/// Two columns: the second is the square of the first, or both are free.
#[derive(Clone, Copy)]
struct Squares {
    log_rows: u32,
    constrained: bool,
}

impl FrameworkEval for Squares {
    fn log_size(&self) -> u32 {
        self.log_rows
    }

    fn max_constraint_log_degree_bound(&self) -> u32 {
        self.log_rows + 1
    }

    fn evaluate<E: EvalAtRow>(&self, mut eval: E) -> E {
        let [x, y] = [(); 2].map(|()| eval.next_trace_mask());
        if self.constrained {
            eval.add_constraint(y - x.clone() * x);
        }
        eval
    }
}

struct SquaresStatement {
    components: Vec<Squares>,
    airs: Vec<FrameworkAir>,
}

impl SquaresStatement {
    fn new(components: &[(u32, bool)]) -> Self {
        let components: Vec<_> =
            components.iter().map(|&(log_rows, constrained)| Squares { log_rows, constrained }).collect();
        let airs = components.iter().map(|eval| FrameworkAir::new(eval).unwrap()).collect();
        Self { components, airs }
    }

    fn trace(&self) -> Vec<TraceColumns> {
        let columns = |eval: &Squares| -> TraceColumns {
            let mut columns = vec![vec![M31::ZERO; 1 << eval.log_rows]; 2];
            for row in 0..1 << eval.log_rows {
                let (x, at) = (M31::from_u32(7 * row + 3), stored_position(row, eval.log_rows) as usize);
                columns[0][at] = x;
                columns[1][at] = if eval.constrained { x * x } else { x + M31::ONE };
            }
            columns
        };
        self.components.iter().map(columns).collect()
    }

    /// Runs stwo's verifier.
    fn is_accepted(&self, config: &PcsConfig, proof: &Proof) -> bool {
        let config = serde_json::from_value(serde_json::to_value(config).unwrap()).unwrap();
        let proof: StarkProof<Blake2sMerkleHasher> =
            serde_json::from_value(serde_json::to_value(proof).unwrap()).unwrap();
        let places = &mut TraceLocationAllocator::default();
        let components: Vec<_> =
            self.components.iter().map(|&eval| FrameworkComponent::new(places, eval, 0.into())).collect();
        let channel = &mut Blake2sChannel::default();
        stwo::core::pcs::PcsConfig::mix_into(&config, channel);
        let scheme = &mut CommitmentSchemeVerifier::<Blake2sMerkleChannel>::new(config);
        scheme.commit(proof.commitments[0], &[], channel);
        let heights: Vec<u32> = self.components.iter().map(|eval| eval.log_rows).collect();
        channel.mix_u32s(&heights);
        let sizes: Vec<u32> = heights.iter().flat_map(|&log_rows| [log_rows; 2]).collect();
        scheme.commit(proof.commitments[1], &sizes, channel);
        let components: Vec<&dyn Component> = components.iter().map(|component| component as &dyn Component).collect();
        stwo::core::verifier::verify(&components, channel, scheme, proof).is_ok()
    }
}

impl stark::Statement for SquaresStatement {
    fn visit<'s>(&'s self, visitor: &mut impl Visitor<'s>) {
        self.airs.iter().for_each(|air| visitor.component(air, &[]));
    }
}

#[test]
fn components_without_constraints_are_proven() {
    let config = PcsConfig::default();
    let settings = Settings::default();
    for components in
        [&[(5, false), (6, true)][..], &[(6, true), (4, false), (5, true)], &[(5, true), (7, false)], &[(5, false)]]
    {
        let statement = SquaresStatement::new(components);
        let trace = statement.trace();
        let proofs = [Choice::Cpu, Choice::Sim].map(|choice| {
            let q = runtime::open_with(&settings, None, Some(choice)).unwrap().0;
            let mut prover = StatementProver::new(&q, Protocol::V2_3, config, &statement).unwrap();
            let proof = prover.prove(&q, &trace).unwrap();
            verify(Protocol::V2_3, config, &statement, prover.preprocessed_root(&q).unwrap(), &proof).unwrap();
            proof
        });
        assert_eq!(proofs[0], proofs[1], "{components:?}");
        assert!(statement.is_accepted(&config, &proofs[0].proof), "{components:?}");
    }
}
