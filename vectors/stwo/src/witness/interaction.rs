//! The interaction columns of a statement's look-ups.
//!
//! They are computed from the look-ups as the components state them.

use std::{mem, ops::Mul};

use stwo::core::{
    Fraction,
    fields::{m31::BaseField, qm31::SecureField},
    utils::bit_reverse_coset_to_circle_domain_order,
};
use stwo::prover::backend::simd::{m31::N_LANES, qm31::PackedSecureField};
use stwo_constraint_framework::{
    EvalAtRow, FrameworkEval, LogupTraceGenerator, ORIGINAL_TRACE_IDX, preprocessed_columns::PreProcessedColumnId,
};

use crate::{
    components::{RelationElements, evals},
    statement::Statement,
    witness::rows::Rows,
    witness::trace::TraceColumn,
};

/// The interaction columns of a statement and the claimed sums.
///
/// There are none without look-ups.
pub fn interaction(
    statement: &Statement,
    elements: &RelationElements,
    rows: &Rows,
) -> (Vec<TraceColumn>, Vec<SecureField>) {
    let names: Vec<_> = statement.preprocessed().into_iter().map(|(name, _)| name).collect();
    let (mut columns, mut sums) = (Vec::new(), Vec::new());
    for (eval, trace) in evals(statement, elements).iter().zip(&rows.trace) {
        // Fractions by row and column, then by column and row.
        let by_row: Vec<_> = (0..1 << eval.log_size())
            .map(|row| {
                let (names, preprocessed) = (&names, &rows.preprocessed);
                let empty = Fractions { names, preprocessed, trace, row, next: 0, terms: vec![], columns: vec![] };
                eval.evaluate(empty).columns
            })
            .collect();
        if by_row[0].is_empty() {
            continue;
        }
        let mut generator = LogupTraceGenerator::new(eval.log_size());
        for k in 0..by_row[0].len() {
            let mut fractions: Vec<_> = by_row.iter().map(|row| row[k]).collect();
            bit_reverse_coset_to_circle_domain_order(&mut fractions);
            let mut column = generator.new_col();
            for (k, lanes) in fractions.as_chunks::<N_LANES>().0.iter().enumerate() {
                let numerator = PackedSecureField::from_array(lanes.map(|lane| lane.numerator));
                let denominator = PackedSecureField::from_array(lanes.map(|lane| lane.denominator));
                column.write_frac(k, numerator, denominator);
            }
            column.finalize_col();
        }
        let (of_component, sum) = generator.finalize_last();
        columns.extend(of_component);
        sums.push(sum);
    }
    (columns, sums)
}

/// A row that keeps its fractions.
struct Fractions<'r> {
    names: &'r [&'static str],
    preprocessed: &'r [Vec<BaseField>],
    trace: &'r [Vec<BaseField>],
    row: usize,
    next: usize,
    terms: Vec<Fraction<SecureField, SecureField>>,
    /// Sums of fractions, by column.
    columns: Vec<Fraction<SecureField, SecureField>>,
}

impl EvalAtRow for Fractions<'_> {
    type F = BaseField;
    type EF = SecureField;

    fn next_interaction_mask<const N: usize>(&mut self, interaction: usize, offsets: [isize; N]) -> [BaseField; N] {
        assert_eq!(interaction, ORIGINAL_TRACE_IDX);
        let column = &self.trace[self.next];
        self.next += 1;
        offsets.map(|offset| column[(self.row as isize + offset).rem_euclid(column.len() as isize) as usize])
    }

    fn get_preprocessed_column(&mut self, column: PreProcessedColumnId) -> BaseField {
        let place = self.names.iter().position(|name| *name == column.id).expect("a column's name");
        self.preprocessed[place][self.row]
    }

    fn add_constraint<G>(&mut self, _: G)
    where
        SecureField: Mul<G, Output = SecureField> + From<G>,
    {
    }

    fn combine_ef(values: [BaseField; 4]) -> SecureField {
        SecureField::from_m31_array(values)
    }

    fn write_logup_frac(&mut self, fraction: Fraction<SecureField, SecureField>) {
        self.terms.push(fraction);
    }

    fn finalize_logup(&mut self) {
        self.columns = mem::take(&mut self.terms);
    }

    fn finalize_logup_in_pairs(&mut self) {
        self.columns = self.terms.chunks(2).map(|pair| pair.iter().copied().sum()).collect();
    }
}
