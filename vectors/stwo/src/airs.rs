//! The AIRs of the vectors that do not ship, written for stwo's constraint framework.
//!
//! Needs no prover: the tests of the verifier include this file too.

use stwo::core::fields::{FieldExpOps, m31::BaseField};
use stwo_constraint_framework::{
    EvalAtRow, ORIGINAL_TRACE_IDX, RelationEntry, preprocessed_columns::PreProcessedColumnId, relation,
};

relation!(Pair, 2);
relation!(Triple, 3);

/// A preprocessed column by its name.
pub fn preprocessed(id: &str) -> PreProcessedColumnId {
    PreProcessedColumnId { id: id.to_owned() }
}

/// Each column is the sum of the squares of the two to its left.
pub fn wide_fibonacci<E: EvalAtRow>(eval: &mut E, columns: u32) {
    let mut a = eval.next_trace_mask();
    let mut b = eval.next_trace_mask();
    for _ in 2..columns {
        let c = eval.next_trace_mask();
        eval.add_constraint(c.clone() - (a.square() + b.square()));
        (a, b) = (b, c);
    }
}

/// Columns read at rows around the current row.
///
/// They are read at five rows, at two rows either way, and at one row that is not the current row.
pub fn neighbours<E: EvalAtRow>(eval: &mut E) {
    let [x_2, x_1, x0, x1, x2] = eval.next_interaction_mask(ORIGINAL_TRACE_IDX, [-2, -1, 0, 1, 2]);
    let y = eval.next_trace_mask();
    let [z_1, z0] = eval.next_interaction_mask(ORIGINAL_TRACE_IDX, [-1, 0]);
    let v = eval.next_trace_mask();
    let [u0, u1] = eval.next_interaction_mask(ORIGINAL_TRACE_IDX, [0, 1]);
    let [s1] = eval.next_interaction_mask(ORIGINAL_TRACE_IDX, [1]);
    let t = eval.next_trace_mask();
    eval.add_constraint(y - (x_2 * x2 + x_1 - x0 * BaseField::from(3) + x1));
    eval.add_constraint(v.clone() - z_1 * z0);
    eval.add_constraint(t - (u0 * u1 + v - s1));
}

/// Cubes with a preprocessed summand.
pub fn cubes<E: EvalAtRow>(eval: &mut E) {
    let constant = eval.get_preprocessed_column(preprocessed("constant"));
    let x = eval.next_trace_mask();
    let y = eval.next_trace_mask();
    eval.add_constraint(y - (x.square() * x + constant));
}

/// A sum where a preprocessed column selects the row, a product elsewhere.
pub fn selected<E: EvalAtRow>(eval: &mut E, selector: &str, offset: &str) {
    let selector = eval.get_preprocessed_column(preprocessed(selector));
    let offset = eval.get_preprocessed_column(preprocessed(offset));
    let a = eval.next_trace_mask();
    let b = eval.next_trace_mask();
    let c = eval.next_trace_mask();
    let product = a.clone() * b.clone();
    eval.add_constraint(c - offset - product.clone() - selector * (a + b - product));
}

/// Steps `(x, y) -> (x + 1, y)` between states that are used and yielded.
pub fn state_machine<E: EvalAtRow>(eval: &mut E, states: &Pair, in_pairs: bool) {
    let x = eval.next_trace_mask();
    let y = eval.next_trace_mask();
    let one = E::F::from(BaseField::from(1));
    eval.add_to_relation(RelationEntry::new(states, E::EF::from(one.clone()), &[x.clone(), y.clone()]));
    eval.add_to_relation(RelationEntry::new(states, -E::EF::from(one.clone()), &[x + one, y]));
    if in_pairs {
        eval.finalize_logup_in_pairs();
    } else {
        eval.finalize_logup();
    }
}

/// Rows that look up `a xor b = c` three ways.
pub fn xor_use<E: EvalAtRow>(eval: &mut E, table: &Triple) {
    let a = eval.next_trace_mask();
    let b = eval.next_trace_mask();
    let c = eval.next_trace_mask();
    let times = |n: u32| E::EF::from(E::F::from(BaseField::from(n)));
    eval.add_to_relation(RelationEntry::new(table, times(1), &[a.clone(), b.clone(), c.clone()]));
    eval.add_to_relation(RelationEntry::new(table, times(1), &[b.clone(), a.clone(), c.clone()]));
    eval.add_to_relation(RelationEntry::new(table, times(2), &[a, c, b]));
    eval.finalize_logup_in_pairs();
}

/// The table of `a xor b = c`, each row as often as it is looked up.
pub fn xor_table<E: EvalAtRow>(eval: &mut E, table: &Triple) {
    let row = ["a", "b", "c"].map(|id| eval.get_preprocessed_column(preprocessed(id)));
    let multiplicity = eval.next_trace_mask();
    eval.add_to_relation(RelationEntry::new(table, -E::EF::from(multiplicity), &row));
    eval.finalize_logup();
}
