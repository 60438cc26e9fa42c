//! The statements about AIRs that ship, as one type.

use core_types::{
    air::Relation,
    field::{M31, QM31},
};
use stark_airs::{Blake2s, Plonk, Poseidon2Chain, PreprocessedColumn, StateMachine, Statement, Visitor, WideFibonacci};

/// A statement of any kind that proof files name.
///
/// [`KnownStatement::build`](crate::KnownStatement::build) returns it. Code that takes it is
/// compiled once, not once for each kind.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AnyStatement {
    /// A trace of sums of squares.
    WideFibonacci(WideFibonacci),
    /// Steps of a state with two coordinates.
    StateMachine(StateMachine),
    /// A run of a circuit.
    Plonk(Plonk),
    /// A chain of Poseidon2 permutations.
    Poseidon2(Poseidon2Chain),
    /// A message with a Blake2s digest.
    Blake2s(Blake2s),
}

/// Runs a call on the statement inside.
macro_rules! any_statement {
    ($any:expr, $statement:ident => $run:expr) => {
        match $any {
            AnyStatement::WideFibonacci($statement) => $run,
            AnyStatement::StateMachine($statement) => $run,
            AnyStatement::Plonk($statement) => $run,
            AnyStatement::Poseidon2($statement) => $run,
            AnyStatement::Blake2s($statement) => $run,
        }
    };
}

impl Statement for AnyStatement {
    fn visit<'s>(&'s self, visitor: &mut impl Visitor<'s>) {
        any_statement!(self, statement => statement.visit(visitor));
    }

    fn preprocessed(&self) -> Vec<PreprocessedColumn> {
        any_statement!(self, statement => statement.preprocessed())
    }

    fn preprocessed_values(&self) -> Vec<Vec<M31>> {
        any_statement!(self, statement => statement.preprocessed_values())
    }

    fn relations(&self) -> &'static [Relation] {
        any_statement!(self, statement => statement.relations())
    }

    fn public_words(&self) -> Vec<u32> {
        any_statement!(self, statement => statement.public_words())
    }

    fn public_sum(&self, challenges: &[QM31]) -> Option<QM31> {
        any_statement!(self, statement => statement.public_sum(challenges))
    }

    fn heights(&self) -> Vec<u32> {
        any_statement!(self, statement => statement.heights())
    }

    fn words(&self) -> Vec<u32> {
        any_statement!(self, statement => statement.words())
    }

    fn sums_add_up(&self, challenges: &[QM31], claimed_sums: &[QM31]) -> bool {
        any_statement!(self, statement => statement.sums_add_up(challenges, claimed_sums))
    }
}

#[cfg(test)]
mod tests {
    use core_types::blake2s::Digest;
    use stark_airs::Circuit;

    use super::*;
    use crate::KnownStatement;

    /// Compares every method of a statement that was built with the same statement's own.
    fn expect_same<S: Statement>(known: &KnownStatement, statement: &S) {
        let (built, name) = (known.build().unwrap(), known.name());
        let slots = statement.relations().iter().map(|relation| relation.first() + relation.slots()).max();
        let challenges: Vec<QM31> = (3..3 + slots.unwrap_or(0)).map(|word| QM31::from(M31::from_u32(word))).collect();
        assert_eq!(built.heights(), statement.heights(), "{name}");
        assert_eq!(built.preprocessed(), statement.preprocessed(), "{name}");
        assert_eq!(built.preprocessed_values(), statement.preprocessed_values(), "{name}");
        assert_eq!(built.relations(), statement.relations(), "{name}");
        assert_eq!(built.public_words(), statement.public_words(), "{name}");
        assert_eq!(built.words(), statement.words(), "{name}");
        assert_eq!(built.public_sum(&challenges), statement.public_sum(&challenges), "{name}");
    }

    #[test]
    fn built_statements_are_those_of_their_kind() {
        let words = |first: u32| core::array::from_fn(|at| M31::from_u32(first + at as u32));
        let known = KnownStatement::WideFibonacci { log_rows: 5, columns: 4 };
        expect_same(&known, &WideFibonacci::new(5, 4).unwrap());
        let known = KnownStatement::StateMachine { log_steps: [4, 6], first: [5, 7].map(M31::from_u32) };
        expect_same(&known, &StateMachine::new([4, 6], [5, 7].map(M31::from_u32)).unwrap());
        let (inputs, outputs) = ([2, 3].map(M31::from_u32), vec![M31::from_u32(9); 2]);
        let plonk = Plonk::new(Circuit::sample(16).unwrap(), inputs.to_vec(), outputs.clone()).unwrap();
        expect_same(&KnownStatement::Plonk { gates: 16, inputs, outputs }, &plonk);
        let known = KnownStatement::Poseidon2 { log_rows: 3, first: words(1), last: words(40) };
        expect_same(&known, &Poseidon2Chain::new(3, words(1), words(40)).unwrap());
        let digest = core::array::from_fn(|at| at as u32 + 11);
        let known = KnownStatement::Blake2s { log_blocks: 2, digest };
        expect_same(&known, &Blake2s::new(2, Digest(digest)).unwrap());
    }
}
