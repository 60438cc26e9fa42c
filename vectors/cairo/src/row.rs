//! Constraints on one row, without their look-ups.

use stwo::core::fields::{m31::BaseField, qm31::SecureField};
use stwo_constraint_framework::{
    EvalAtRow, FrameworkEval, Relation, RelationEntry, preprocessed_columns::PreProcessedColumnId,
};

/// Returns the residuals of the constraints of `eval` on a row.
pub(crate) fn residuals(eval: &impl FrameworkEval, columns: &[BaseField], row: u32) -> Vec<SecureField> {
    eval.evaluate(Row { columns: columns.iter(), row, residuals: Vec::new() }).residuals
}

/// A preprocessed column by row: the number of the row, or else any word.
///
/// Only look-ups read those.
pub(crate) fn preprocessed(name: &str) -> impl Fn(u32) -> BaseField {
    let mix = |state: u32, word: u32| (state ^ word).wrapping_mul(0x9e37_79b1).rotate_left(15);
    let of_name = (!name.starts_with("seq_")).then(|| name.bytes().map(u32::from).fold(1, mix));
    move |row| BaseField::from(of_name.map_or(row, |state| mix(mix(state, row), row) >> 1))
}

struct Row<'a> {
    columns: core::slice::Iter<'a, BaseField>,
    row: u32,
    residuals: Vec<SecureField>,
}

impl EvalAtRow for Row<'_> {
    type F = BaseField;
    type EF = SecureField;

    fn next_interaction_mask<const N: usize>(&mut self, interaction: usize, offsets: [isize; N]) -> [BaseField; N] {
        assert_eq!((interaction, &offsets[..]), (1, &[0][..]), "columns of the trace are read on their row");
        [*self.columns.next().expect("as many columns as the component reads"); N]
    }

    fn get_preprocessed_column(&mut self, column: PreProcessedColumnId) -> BaseField {
        preprocessed(&column.id)(self.row)
    }

    fn add_constraint<G>(&mut self, constraint: G)
    where
        SecureField: core::ops::Mul<G, Output = SecureField> + From<G>,
    {
        self.residuals.push(constraint.into());
    }

    fn combine_ef(values: [BaseField; 4]) -> SecureField {
        SecureField::from_m31_array(values)
    }

    fn add_to_relation<R: Relation<BaseField, SecureField>>(
        &mut self,
        _: RelationEntry<'_, BaseField, SecureField, R>,
    ) {
    }

    fn finalize_logup_batched(&mut self, _: &Vec<usize>) {}

    fn finalize_logup(&mut self) {}

    fn finalize_logup_in_pairs(&mut self) {}
}
