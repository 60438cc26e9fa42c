//! The components of a statement.
//!
//! Needs no prover: the tests of the verifier include this file too.

use stwo::core::{
    channel::{Blake2sChannel, Channel},
    fields::{FieldExpOps, m31::BaseField, qm31::SecureField},
};
use stwo_constraint_framework::{EvalAtRow, FrameworkComponent, FrameworkEval, Relation, TraceLocationAllocator};

use super::{
    airs::{self, Pair, Triple, preprocessed},
    blake2s::{self, IV, TABLES},
    shipped::{self, Sixteen},
    statement::{Statement, gate, outputs},
};

/// The challenges of a statement's look-ups.
#[derive(Clone)]
pub enum RelationElements {
    None,
    Pair(Pair),
    Triple(Triple),
    Sixteen(Box<Sixteen>),
    Blake2s(Box<blake2s::Blake2sElements>),
}

impl RelationElements {
    /// Draws the challenges of a statement that follow its trace.
    pub fn draw(statement: &Statement, channel: &mut impl Channel) -> Self {
        match statement {
            Statement::StateMachine { .. } | Statement::Steps { .. } | Statement::Plonk { .. } => {
                Self::Pair(Pair::draw(channel))
            }
            Statement::Xor { .. } => Self::Triple(Triple::draw(channel)),
            Statement::Poseidon2 { .. } => Self::Sixteen(Box::new(Sixteen::draw(channel))),
            Statement::Blake2s { .. } => Self::Blake2s(Box::new(blake2s::Blake2sElements::draw(channel))),
            _ => Self::None,
        }
    }

    /// Challenges that are none, for the shapes of a statement's components.
    pub fn dummy(statement: &Statement) -> Self {
        Self::draw(statement, &mut Blake2sChannel::default())
    }
}

/// A component of a statement, with its challenges.
pub struct VectorEval {
    log_rows: u32,
    constraints: Constraints,
    elements: RelationElements,
}

/// The statement on each row.
#[derive(Clone, Copy)]
enum Constraints {
    WideFibonacci { columns: u32 },
    Neighbours,
    Cubes,
    Selected { selector: &'static str, offset: &'static str },
    StateMachine { in_pairs: bool },
    XorUse,
    XorTable,
    Steps { axis: usize },
    Gates,
    Permutations,
    Compressions,
    Rounds,
    Xors { bits: [u32; 2] },
}

impl FrameworkEval for VectorEval {
    fn log_size(&self) -> u32 {
        self.log_rows
    }

    fn max_constraint_log_degree_bound(&self) -> u32 {
        self.log_rows + 1
    }

    fn evaluate<E: EvalAtRow>(&self, mut eval: E) -> E {
        let row = &mut eval;
        match (self.constraints, &self.elements) {
            (Constraints::WideFibonacci { columns }, _) => airs::wide_fibonacci(row, columns),
            (Constraints::Neighbours, _) => airs::neighbours(row),
            (Constraints::Cubes, _) => airs::cubes(row),
            (Constraints::Selected { selector, offset }, _) => airs::selected(row, selector, offset),
            (Constraints::StateMachine { in_pairs }, RelationElements::Pair(states)) => {
                airs::state_machine(row, states, in_pairs);
            }
            (Constraints::XorUse, RelationElements::Triple(table)) => airs::xor_use(row, table),
            (Constraints::XorTable, RelationElements::Triple(table)) => airs::xor_table(row, table),
            (Constraints::Steps { axis }, RelationElements::Pair(states)) => shipped::steps(row, axis, states),
            (Constraints::Gates, RelationElements::Pair(wires)) => shipped::gates(row, wires),
            (Constraints::Permutations, RelationElements::Sixteen(states)) => shipped::permutations(row, states),
            (Constraints::Compressions, RelationElements::Blake2s(elements)) => blake2s::compressions(row, elements),
            (Constraints::Rounds, RelationElements::Blake2s(elements)) => blake2s::rounds(row, elements),
            (Constraints::Xors { bits }, RelationElements::Blake2s(elements)) => {
                blake2s::xor_table(row, bits, elements)
            }
            _ => panic!("challenges of another statement"),
        }
        eval
    }
}

/// What the components of a statement state, in their order.
fn constraints(statement: &Statement) -> Vec<Constraints> {
    match statement {
        Statement::WideFibonacci { columns, .. } => {
            columns.iter().map(|&columns| Constraints::WideFibonacci { columns }).collect()
        }
        Statement::Neighbours { .. } => vec![Constraints::Neighbours],
        Statement::Cubes { .. } => vec![Constraints::Cubes],
        Statement::Selected { .. } => vec![
            Constraints::Selected { selector: "selector-1", offset: "offset-1" },
            Constraints::Selected { selector: statement.second_selector(), offset: "offset-2" },
        ],
        &Statement::StateMachine { in_pairs, .. } => vec![Constraints::StateMachine { in_pairs }],
        Statement::Xor { .. } => vec![Constraints::XorUse, Constraints::XorTable],
        Statement::Steps { .. } => vec![Constraints::Steps { axis: 0 }, Constraints::Steps { axis: 1 }],
        Statement::Plonk { .. } => vec![Constraints::Gates],
        Statement::Poseidon2 { .. } => vec![Constraints::Permutations],
        Statement::Blake2s { .. } => {
            let tables = TABLES.map(|(low, high)| Constraints::Xors { bits: [low, high] });
            [Constraints::Compressions, Constraints::Rounds, Constraints::Rounds].into_iter().chain(tables).collect()
        }
    }
}

/// The components of a statement, with their challenges.
pub fn evals(statement: &Statement, elements: &RelationElements) -> Vec<VectorEval> {
    let all = statement.heights().into_iter().zip(constraints(statement));
    all.map(|(log_rows, constraints)| VectorEval { log_rows, constraints, elements: elements.clone() }).collect()
}

/// The components of a statement, in their places.
///
/// Components without a claimed sum in `sums` have no look-ups: their sum is zero.
pub fn components(
    statement: &Statement,
    elements: &RelationElements,
    sums: &[SecureField],
) -> Vec<FrameworkComponent<VectorEval>> {
    let ids: Vec<_> = statement.preprocessed().iter().map(|(id, _)| preprocessed(id)).collect();
    let places = &mut TraceLocationAllocator::new_with_preprocessed_columns(&ids);
    let sums = sums.iter().copied().chain(std::iter::repeat(SecureField::default()));
    let evals = evals(statement, elements).into_iter().zip(sums);
    evals.map(|(eval, sum)| FrameworkComponent::new(places, eval, sum)).collect()
}

/// Returns the required total of a statement's claimed sums, if it has one.
pub fn public_sum(statement: &Statement, elements: &RelationElements) -> Option<SecureField> {
    fn fraction(relation: &impl Relation<BaseField, SecureField>, values: &[u32]) -> SecureField {
        let values: Vec<_> = values.iter().map(|&value| BaseField::from(value)).collect();
        relation.combine(&values).inverse()
    }
    match (statement, elements) {
        (Statement::Steps { .. }, RelationElements::Pair(states)) => {
            let words = statement.words();
            Some(fraction(states, &words[2..4]) - fraction(states, &words[4..]))
        }
        (Statement::Plonk { gates, inputs, outputs: values }, RelationElements::Pair(wires)) => {
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
        (Statement::Poseidon2 { first, last, .. }, RelationElements::Sixteen(states)) => {
            Some(fraction(&**states, first) - fraction(&**states, last))
        }
        (Statement::Blake2s { log_blocks, digest }, RelationElements::Blake2s(elements)) => {
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
