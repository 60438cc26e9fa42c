//! Statements about AIRs that ship, as the vectors have them.

use core_types::{
    air::{Air, Relation},
    blake2s::Digest,
    field::{M31, QM31},
};
use stark_airs::{Blake2s, Circuit, Gate, Op, Plonk, Poseidon2Chain, StateMachine, Visitor, WideFibonacci};
use stark_verifier::Component;

use super::stwo_side::statement::{Statement, gate, message_word, outputs};

/// A statement of `stark-airs`.
pub(crate) enum Shipped {
    WideFibonacci(WideFibonacci),
    StateMachine(StateMachine),
    Plonk(Plonk),
    Poseidon2(Poseidon2Chain),
    Blake2s(Blake2s),
}

/// Calls a method of the statement inside.
macro_rules! inside {
    ($shipped:expr, $statement:ident => $call:expr) => {
        match $shipped {
            Shipped::WideFibonacci($statement) => $call,
            Shipped::StateMachine($statement) => $call,
            Shipped::Plonk($statement) => $call,
            Shipped::Poseidon2($statement) => $call,
            Shipped::Blake2s($statement) => $call,
        }
    };
}

impl Shipped {
    /// The statement of a vector, if its AIR ships.
    pub(crate) fn of(statement: &Statement) -> Option<Self> {
        let elements = |words: &[u32]| words.iter().map(|&word| M31::from_u32(word)).collect::<Vec<_>>();
        match statement {
            Statement::WideFibonacci { log_rows, columns } => {
                let (&[log_rows], &[columns]) = (&**log_rows, &**columns) else { return None };
                Some(Self::WideFibonacci(WideFibonacci::new(log_rows, columns).unwrap()))
            }
            &Statement::Steps { log_rows, first } => {
                Some(Self::StateMachine(StateMachine::new(log_rows, first.map(M31::from_u32)).unwrap()))
            }
            Statement::Plonk { gates, inputs, outputs: values } => {
                let gate = |k| {
                    let (adds, inputs) = gate(k);
                    Gate { op: if adds { Op::Add } else { Op::Multiply }, inputs }
                };
                let circuit = Circuit::new(2, (0..*gates).map(gate).collect(), outputs(*gates).into()).unwrap();
                Some(Self::Plonk(Plonk::new(circuit, elements(inputs), elements(values)).unwrap()))
            }
            &Statement::Poseidon2 { log_rows, first, last } => {
                let [first, last] = [first, last].map(|state| state.map(M31::from_u32));
                Some(Self::Poseidon2(Poseidon2Chain::new(log_rows, first, last).unwrap()))
            }
            &Statement::Blake2s { log_blocks, digest } => {
                Some(Self::Blake2s(Blake2s::new(log_blocks, Digest(digest)).unwrap()))
            }
            _ => None,
        }
    }

    /// Hands over the components.
    pub(crate) fn visit<'s>(&'s self, visitor: &mut impl Visitor<'s>) {
        inside!(self, statement => stark_airs::Statement::visit(statement, visitor));
    }

    /// The components.
    pub(crate) fn components(&self) -> Vec<Component<'_>> {
        let mut components = Components(Vec::new());
        self.visit(&mut components);
        components.0
    }

    /// Returns whether the statement is true, determined without a proof.
    pub(crate) fn is_true(&self) -> bool {
        match self {
            Self::WideFibonacci(_) | Self::StateMachine(_) => true,
            Self::Plonk(plonk) => Plonk::evaluate(plonk.circuit().clone(), plonk.inputs().into()).as_ref() == Ok(plonk),
            Self::Poseidon2(chain) => {
                let log_rows = stark_airs::Statement::heights(chain)[0];
                Poseidon2Chain::run(log_rows, *chain.first()).is_ok_and(|(run, _)| run == *chain)
            }
            Self::Blake2s(hash) => {
                let blocks = 0..1 << stark_airs::Statement::heights(hash)[0];
                let word = |block: u32| move |k: usize| message_word(16 * block + k as u32);
                let blocks: Vec<[u32; 16]> = blocks.map(|block| core::array::from_fn(word(block))).collect();
                Blake2s::run(&blocks).is_ok_and(|(run, _)| run == *hash)
            }
        }
    }

    /// Names and heights of the preprocessed columns.
    pub(crate) fn preprocessed(&self) -> Vec<(&'static str, u32)> {
        let columns = inside!(self, statement => stark_airs::Statement::preprocessed(statement));
        columns.into_iter().map(|column| (column.name, column.log_rows)).collect()
    }

    /// What enters the transcript.
    pub(crate) fn words(&self) -> Vec<u32> {
        inside!(self, statement => stark_airs::Statement::words(statement))
    }

    /// The relations whose challenges are drawn.
    pub(crate) fn relations(&self) -> &'static [Relation] {
        inside!(self, statement => stark_airs::Statement::relations(statement))
    }

    /// Returns whether the claimed sums add up to the public sum.
    pub(crate) fn sums_add_up(&self, challenges: &[QM31], sums: &[QM31]) -> bool {
        inside!(self, statement => stark_airs::Statement::sums_add_up(statement, challenges, sums))
    }
}

struct Components<'s>(Vec<Component<'s>>);

impl<'s> Visitor<'s> for Components<'s> {
    fn component<A: Air + Sync + 'static>(&mut self, air: &'s A, preprocessed: &[usize]) {
        self.0.push(Component::new(air, preprocessed));
    }
}
