//! Where the challenges of a statement's relations lie.

use core_types::air::Relation;

/// The expected and the actual first slot of a relation that is misplaced.
///
/// A relation is misplaced if its slots do not follow the relation before it. The prover puts
/// challenges into slots by name, the verifier in order.
pub(crate) fn misplaced(relations: &[Relation]) -> Option<(u32, u32)> {
    let mut next = 0;
    for relation in relations {
        if relation.first() != next {
            return Some((next, relation.first()));
        }
        // Even a relation between no values has `z`.
        next = next.saturating_add(relation.slots().max(1));
    }
    None
}
