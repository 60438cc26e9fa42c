//! Statements of the vectors about AIRs that ship.
//!
//! Other tests of proofs share them.

use core_types::{
    air::Relation,
    blake2s::Digest,
    field::{M31, QM31},
};
use stark_airs::{
    Blake2s, Circuit, Plonk, Poseidon2Chain, PreprocessedColumn, StateMachine, Statement as _, TraceColumns, Visitor,
    WideFibonacci,
};

use crate::statement::{Statement, message_word};

/// A statement of `stark-airs`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Stated {
    WideFibonacci(Fibonaccis),
    StateMachine(StateMachine),
    Plonk(Plonk),
    Poseidon2(Poseidon2Chain),
    Blake2s(Blake2s),
}

/// Components of any heights and widths.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fibonaccis(pub(crate) Vec<WideFibonacci>);

/// Calls a method of the statement inside.
macro_rules! inside {
    ($stated:expr, $statement:ident => $call:expr) => {
        match $stated {
            Stated::WideFibonacci($statement) => $call,
            Stated::StateMachine($statement) => $call,
            Stated::Plonk($statement) => $call,
            Stated::Poseidon2($statement) => $call,
            Stated::Blake2s($statement) => $call,
        }
    };
}

impl stark_airs::Statement for Fibonaccis {
    fn visit<'s>(&'s self, visitor: &mut impl Visitor<'s>) {
        self.0.iter().for_each(|component| visitor.component(component, &[]));
    }
}

impl stark_airs::Statement for Stated {
    fn visit<'s>(&'s self, visitor: &mut impl Visitor<'s>) {
        inside!(self, statement => statement.visit(visitor));
    }

    fn preprocessed(&self) -> Vec<PreprocessedColumn> {
        inside!(self, statement => statement.preprocessed())
    }

    fn preprocessed_values(&self) -> Vec<Vec<M31>> {
        inside!(self, statement => statement.preprocessed_values())
    }

    fn relations(&self) -> &'static [Relation] {
        inside!(self, statement => statement.relations())
    }

    fn public_words(&self) -> Vec<u32> {
        inside!(self, statement => statement.public_words())
    }

    fn public_sum(&self, challenges: &[QM31]) -> Option<QM31> {
        inside!(self, statement => statement.public_sum(challenges))
    }
}

impl Stated {
    /// The statement of a vector, true or not, if its AIRs ship.
    pub(crate) fn of(statement: &Statement) -> Option<Self> {
        let elements = |words: &[u32]| words.iter().map(|&word| M31::from_u32(word)).collect::<Vec<_>>();
        Some(match *statement {
            Statement::WideFibonacci { ref log_rows, ref columns } => {
                let airs = log_rows.iter().zip(columns).map(|(&rows, &columns)| WideFibonacci::new(rows, columns));
                Self::WideFibonacci(Fibonaccis(airs.map(Result::unwrap).collect()))
            }
            Statement::Steps { log_rows, first } => {
                Self::StateMachine(StateMachine::new(log_rows, first.map(M31::from_u32)).unwrap())
            }
            Statement::Plonk { gates, ref inputs, outputs: ref values } => {
                let circuit = Circuit::sample(gates).unwrap();
                Self::Plonk(Plonk::new(circuit, elements(inputs), elements(values)).unwrap())
            }
            Statement::Poseidon2 { log_rows, first, last } => {
                let [first, last] = [first, last].map(|state| state.map(M31::from_u32));
                Self::Poseidon2(Poseidon2Chain::new(log_rows, first, last).unwrap())
            }
            Statement::Blake2s { log_blocks, digest } => {
                Self::Blake2s(Blake2s::new(log_blocks, Digest(digest)).unwrap())
            }
            _ => return None,
        })
    }

    /// The true statement about the same inputs, and its trace, if they follow from it.
    pub(crate) fn evaluated(&self) -> Option<(Self, Vec<TraceColumns>)> {
        Some(match self {
            Self::WideFibonacci(_) => return None,
            Self::StateMachine(machine) => (self.clone(), machine.trace()),
            Self::Plonk(plonk) => {
                let plonk = Plonk::evaluate(plonk.circuit().clone(), plonk.inputs().into()).unwrap();
                let trace = plonk.trace();
                (Self::Plonk(plonk), trace)
            }
            Self::Poseidon2(chain) => {
                let (chain, trace) = Poseidon2Chain::run(self.heights()[0], *chain.first()).unwrap();
                (Self::Poseidon2(chain), trace)
            }
            Self::Blake2s(_) => {
                let (hash, trace) = Blake2s::run(&blocks(self.heights()[0])).unwrap();
                (Self::Blake2s(hash), trace)
            }
        })
    }
}

/// The blocks of a vector's message.
pub(crate) fn blocks(log_blocks: u32) -> Vec<[u32; 16]> {
    let block = |k: u32| core::array::from_fn(|word| message_word(16 * k + word as u32));
    (0..1 << log_blocks).map(block).collect()
}
