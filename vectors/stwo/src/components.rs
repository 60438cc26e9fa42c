//! The components of a statement. Needs no prover: the tests of the verifier include this file too.

use stwo::core::{channel::Channel, fields::qm31::SecureField};
use stwo_constraint_framework::{FrameworkComponent, FrameworkEval, TraceLocationAllocator};

use super::{
    airs::{Cubes, Neighbours, Pair, Selected, StateMachine, Triple, WideFibonacci, XorTable, XorUse, preprocessed},
    statement::Statement,
};

/// The challenges of a statement's look-ups.
pub enum Elements {
    None,
    Pair(Pair),
    Triple(Triple),
}

impl Elements {
    /// Draws what a statement draws after its trace.
    pub fn draw(statement: &Statement, channel: &mut impl Channel) -> Self {
        match statement {
            Statement::StateMachine { .. } => Self::Pair(Pair::draw(channel)),
            Statement::Xor { .. } => Self::Triple(Triple::draw(channel)),
            _ => Self::None,
        }
    }
}

/// Takes components of any kind.
pub trait Collect {
    fn collect<E: FrameworkEval + Sync + 'static>(&mut self, component: FrameworkComponent<E>);
}

/// Hands over the components of a statement with these claimed sums, none where there are no look-ups.
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
        _ => panic!("challenges of another statement"),
    }
}
