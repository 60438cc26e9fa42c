//! An AIR written for stwo, as it is: proven on the backend that `TREFOIL_BACKEND` asks for, and verified.
//!
//! `cargo run --release -p stwo-air --example from_stwo`
#![allow(missing_docs, reason = "stwo's `relation` writes no documentation")]

use std::{error::Error, io::Write as _};

use core_types::air::{Relation, stored_position};
use runtime::Domain;
use stark::{M31, PcsConfig, Protocol, QM31, Statement, StatementProver, Visitor, verify};
use stwo_air::FrameworkAir;
use stwo_constraint_framework::{EvalAtRow, FrameworkEval, RelationEntry, relation};

relation!(States, 3);

/// Steps from `(k, a, b)` to `(k + 1, b, a + b)`, each used by one row and yielded by another.
struct FibonacciSteps {
    log_rows: u32,
    states: States,
}

impl FrameworkEval for FibonacciSteps {
    fn log_size(&self) -> u32 {
        self.log_rows
    }

    fn max_constraint_log_degree_bound(&self) -> u32 {
        self.log_rows + 1
    }

    fn evaluate<E: EvalAtRow>(&self, mut eval: E) -> E {
        let [k, a, b] = [(); 3].map(|()| eval.next_trace_mask());
        let one = E::F::from(1.into());
        let next = [k.clone() + one.clone(), b.clone(), a.clone() + b.clone()];
        eval.add_to_relation(RelationEntry::new(&self.states, one.clone().into(), &[k, a, b]));
        eval.add_to_relation(RelationEntry::new(&self.states, (-one).into(), &next));
        eval.finalize_logup_in_pairs();
        eval
    }
}

/// The statement: a number of steps leads from `(0, 1, 1)` to `last`.
struct Claim {
    air: FrameworkAir,
    last: [M31; 3],
}

impl Statement for Claim {
    fn visit<'s>(&'s self, visitor: &mut impl Visitor<'s>) {
        visitor.component(&self.air, &[]);
    }

    fn relations(&self) -> &'static [Relation] {
        const { &[Relation::new(0, 3)] }
    }

    fn public_words(&self) -> Vec<u32> {
        self.last.map(M31::word).to_vec()
    }

    /// The first state is used but never yielded, the last is yielded but never used.
    fn public_sum(&self, challenges: &[QM31]) -> Option<QM31> {
        let &[z, alpha, alpha_squared] = challenges else { return None };
        let fraction = |[k, a, b]: [M31; 3]| (alpha * a + alpha_squared * b + k - z).inverse();
        Some(fraction([M31::ZERO, M31::ONE, M31::ONE])? - fraction(self.last)?)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let (q, _) = runtime::open_for(Domain::Stark, None)?;
    let log_rows = 10;
    let mut columns = vec![vec![M31::ZERO; 1 << log_rows]; 3];
    let mut state = [M31::ZERO, M31::ONE, M31::ONE];
    for row in 0..1 << log_rows {
        let position = stored_position(row, log_rows) as usize;
        columns.iter_mut().zip(state).for_each(|(column, value)| column[position] = value);
        let [k, a, b] = state;
        state = [k + M31::ONE, b, a + b];
    }

    // In stwo the elements are drawn from the channel of a proof; here they become slots, and the AIR is recorded once.
    let build = |channel: &mut _| FibonacciSteps { log_rows, states: States::draw(channel) };
    let air = FrameworkAir::with_relations(&[Relation::new(0, 3)], build)?;
    let (claim, config) = (Claim { air, last: state }, PcsConfig::default());
    let mut prover = StatementProver::new(&q, Protocol::V2_3, config, &claim)?;
    let proof = prover.prove(&q, &[columns])?;
    verify(Protocol::V2_3, config, &claim, prover.preprocessed_root(&q)?, &proof)?;
    writeln!(std::io::stdout(), "after 1024 steps: {} and {}, proven and verified", state[1].word(), state[2].word())?;
    Ok(())
}
