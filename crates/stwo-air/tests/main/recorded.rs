//! The AIRs of the vectors, recorded as whoever wrote them would.

use core_types::air::Relation;
use stwo_air::FrameworkAir;

use crate::{
    components::{RelationElements, evals},
    statement::Statement,
};

/// Recorded AIRs, each with the preprocessed columns that its slots are.
pub(crate) type Airs = Vec<(FrameworkAir, Vec<usize>)>;

/// The relations of a statement, in the order in which their elements are drawn.
pub(crate) fn relations(statement: &Statement) -> Vec<Relation> {
    let sizes: &[u32] = match statement {
        Statement::StateMachine { .. } | Statement::Steps { .. } | Statement::Plonk { .. } => &[2],
        Statement::Xor { .. } => &[3],
        Statement::Poseidon2 { .. } => &[16],
        Statement::Blake2s { .. } => &[4, 33, 33, 17],
        _ => &[],
    };
    let mut first = 0;
    let next = |&size: &u32| {
        first += size;
        Relation::new(first - size, size)
    };
    sizes.iter().map(next).collect()
}

/// The components of a statement.
pub(crate) fn airs(statement: &Statement) -> Airs {
    let names: Vec<&str> = statement.preprocessed().into_iter().map(|(name, _)| name).collect();
    let relations = relations(statement);
    let recorded = |k: usize| {
        if relations.is_empty() {
            FrameworkAir::new(&evals(statement, &RelationElements::None)[k])
        } else {
            FrameworkAir::with_relations(&relations, |channel| {
                evals(statement, &RelationElements::draw(statement, channel)).swap_remove(k)
            })
        }
    };
    let placed = |k| {
        let air = recorded(k).unwrap();
        let places = air.places(&names).unwrap();
        (air, places)
    };
    (0..statement.heights().len()).map(placed).collect()
}
