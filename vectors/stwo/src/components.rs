//! The components of a statement.
//!
//! Needs no prover: the tests of the verifier include this file too.

use stwo::core::{
    channel::{Blake2sChannel, Channel},
    fields::{FieldExpOps, m31::BaseField, qm31::SecureField},
};
use stwo_constraint_framework::{FrameworkComponent, FrameworkEval, Relation, TraceLocationAllocator};

use super::{
    airs::{Cubes, Neighbours, Pair, Selected, StateMachine, Triple, WideFibonacci, XorTable, XorUse, preprocessed},
    blake2s::{self, Compressions, IV, Rounds, TABLES},
    shipped::{Gates, Poseidon2, Sixteen, Steps},
    statement::{Statement, gate, outputs},
};

/// The challenges of a statement's look-ups.
pub enum Elements {
    None,
    Pair(Pair),
    Triple(Triple),
    Sixteen(Box<Sixteen>),
    Blake2s(Box<blake2s::Elements>),
}

impl Elements {
    /// Draws the challenges of a statement that follow its trace.
    pub fn draw(statement: &Statement, channel: &mut impl Channel) -> Self {
        match statement {
            Statement::StateMachine { .. } | Statement::Steps { .. } | Statement::Plonk { .. } => {
                Self::Pair(Pair::draw(channel))
            }
            Statement::Xor { .. } => Self::Triple(Triple::draw(channel)),
            Statement::Poseidon2 { .. } => Self::Sixteen(Box::new(Sixteen::draw(channel))),
            Statement::Blake2s { .. } => Self::Blake2s(Box::new(blake2s::Elements::draw(channel))),
            _ => Self::None,
        }
    }

    /// Challenges that are none, for the shapes of a statement's components.
    pub fn dummy(statement: &Statement) -> Self {
        Self::draw(statement, &mut Blake2sChannel::default())
    }
}

/// Takes components of any kind.
pub trait Collect {
    fn collect<E: FrameworkEval + Sync + 'static>(&mut self, component: FrameworkComponent<E>);
}

/// Passes the components of a statement with these claimed sums to `to`.
///
/// `sums` is empty if there are no look-ups.
pub fn components(statement: &Statement, elements: &Elements, sums: &[SecureField], to: &mut impl Collect) {
    let ids: Vec<_> = statement.preprocessed().iter().map(|(id, _)| preprocessed(id)).collect();
    let places = &mut TraceLocationAllocator::new_with_preprocessed_columns(&ids);
    let none = SecureField::default();
    match (statement, elements) {
        (Statement::WideFibonacci { log_rows, columns }, _) => {
            for (&log_rows, &columns) in log_rows.iter().zip(columns) {
                to.collect(FrameworkComponent::new(places, WideFibonacci { log_rows, columns }, none));
            }
        }
        (&Statement::Neighbours { log_rows }, _) => {
            to.collect(FrameworkComponent::new(places, Neighbours { log_rows }, none));
        }
        (&Statement::Cubes { log_rows }, _) => to.collect(FrameworkComponent::new(places, Cubes { log_rows }, none)),
        (&Statement::Selected { log_rows: [first, second], .. }, _) => {
            let one = Selected { log_rows: first, selector: "selector-1", offset: "offset-1" };
            let two = Selected { log_rows: second, selector: statement.second_selector(), offset: "offset-2" };
            to.collect(FrameworkComponent::new(places, one, none));
            to.collect(FrameworkComponent::new(places, two, none));
        }
        (&Statement::StateMachine { log_rows, in_pairs }, Elements::Pair(states)) => {
            let eval = StateMachine { log_rows, in_pairs, states: states.clone() };
            to.collect(FrameworkComponent::new(places, eval, sums[0]));
        }
        (&Statement::Xor { log_rows, bits }, Elements::Triple(table)) => {
            let uses = XorUse { log_rows, table: table.clone() };
            let yields = XorTable { log_rows: 2 * bits, table: table.clone() };
            to.collect(FrameworkComponent::new(places, uses, sums[0]));
            to.collect(FrameworkComponent::new(places, yields, sums[1]));
        }
        (&Statement::Steps { log_rows, .. }, Elements::Pair(states)) => {
            for (axis, log_rows) in log_rows.into_iter().enumerate() {
                let eval = Steps { log_rows, axis, states: states.clone() };
                to.collect(FrameworkComponent::new(places, eval, sums[axis]));
            }
        }
        (Statement::Plonk { .. }, Elements::Pair(wires)) => {
            let eval = Gates { log_rows: statement.heights()[0], wires: wires.clone() };
            to.collect(FrameworkComponent::new(places, eval, sums[0]));
        }
        (&Statement::Poseidon2 { log_rows, .. }, Elements::Sixteen(states)) => {
            let eval = Poseidon2 { log_rows, states: Sixteen::clone(states) };
            to.collect(FrameworkComponent::new(places, eval, sums[0]));
        }
        (&Statement::Blake2s { log_blocks, .. }, Elements::Blake2s(elements)) => {
            let elements = || blake2s::Elements::clone(elements);
            let eval = Compressions { log_rows: log_blocks, elements: elements() };
            to.collect(FrameworkComponent::new(places, eval, sums[0]));
            for (k, log_rounds) in [(1, 3), (2, 1)] {
                let eval = Rounds { log_rows: log_blocks + log_rounds, elements: elements() };
                to.collect(FrameworkComponent::new(places, eval, sums[k]));
            }
            for (k, (low, high)) in TABLES.into_iter().enumerate() {
                let eval = blake2s::XorTable { low, high, elements: elements() };
                to.collect(FrameworkComponent::new(places, eval, sums[3 + k]));
            }
        }
        _ => panic!("challenges of another statement"),
    }
}

/// Returns the required total of a statement's claimed sums, if it has one.
pub fn public_sum(statement: &Statement, elements: &Elements) -> Option<SecureField> {
    fn fraction(relation: &impl Relation<BaseField, SecureField>, values: &[u32]) -> SecureField {
        let values: Vec<_> = values.iter().map(|&value| BaseField::from(value)).collect();
        relation.combine(&values).inverse()
    }
    match (statement, elements) {
        (Statement::Steps { .. }, Elements::Pair(states)) => {
            let words = statement.words();
            Some(fraction(states, &words[2..4]) - fraction(states, &words[4..]))
        }
        (Statement::Plonk { gates, inputs, outputs: values }, Elements::Pair(wires)) => {
            let mut sum = SecureField::default();
            let read = (0..*gates).flat_map(|k| gate(k).1).chain(outputs(*gates));
            for wire in read.filter(|&wire| wire < 2) {
                sum += fraction(wires, &[wire, inputs[wire as usize]]);
            }
            for (wire, value) in outputs(*gates).into_iter().zip(*values) {
                sum -= fraction(wires, &[wire, value]);
            }
            Some(sum)
        }
        (Statement::Poseidon2 { first, last, .. }, Elements::Sixteen(states)) => {
            Some(fraction(&**states, first) - fraction(&**states, last))
        }
        (Statement::Blake2s { log_blocks, digest }, Elements::Blake2s(elements)) => {
            let mut start = IV;
            start[0] ^= 0x0101_0020;
            let link = |index: u32, chain: [u32; 8]| {
                let halves = chain.into_iter().flat_map(|word| [word & 0xffff, word >> 16]);
                fraction(&elements.links, &std::iter::once(index).chain(halves).collect::<Vec<_>>())
            };
            Some(link(0, start) - link(1 << log_blocks, *digest))
        }
        (Statement::Xor { .. }, _) => Some(SecureField::default()),
        _ => None,
    }
}
