//! The interaction columns of a statement's look-ups.

use stwo::core::fields::{m31::BaseField, qm31::SecureField};
use stwo::prover::backend::simd::{
    m31::{LOG_N_LANES, PackedBaseField},
    qm31::PackedSecureField,
};
use stwo_constraint_framework::{LogupTraceGenerator, Relation};

use crate::{
    components::Elements,
    statement::Statement,
    trace::{Column, column},
};

/// Fractions of one interaction column: for each vector of rows a numerator and a denominator.
type Fractions = Vec<(PackedSecureField, PackedSecureField)>;

/// Interaction columns of all components, and their claimed sums.
#[derive(Default)]
pub struct Interaction {
    pub columns: Vec<Column>,
    pub sums: Vec<SecureField>,
}

impl Interaction {
    /// Adds a component with these fractions by column.
    fn component(&mut self, log_rows: u32, columns: Vec<Fractions>) {
        let mut generator = LogupTraceGenerator::new(log_rows);
        for fractions in columns {
            let mut column = generator.new_col();
            for (k, (numerator, denominator)) in fractions.into_iter().enumerate() {
                column.write_frac(k, numerator, denominator);
            }
            column.finalize_col();
        }
        let (columns, sum) = generator.finalize_last();
        self.columns.extend(columns);
        self.sums.push(sum);
    }
}

/// Vectors of `2^log_rows` rows.
fn vectors(log_rows: u32) -> std::ops::Range<usize> {
    0..1 << (log_rows - LOG_N_LANES)
}

fn times(n: u32) -> PackedSecureField {
    PackedSecureField::broadcast(SecureField::from(BaseField::from(n)))
}

/// `1 / p + 1 / q`.
fn both(p: PackedSecureField, q: PackedSecureField) -> (PackedSecureField, PackedSecureField) {
    (p + q, p * q)
}

/// `1 / p - 1 / q`.
fn difference(p: PackedSecureField, q: PackedSecureField) -> (PackedSecureField, PackedSecureField) {
    (q - p, p * q)
}

/// The interaction columns of a statement, none where there are no look-ups.
pub fn interaction(statement: &Statement, elements: &Elements, fixed: &[Column], trace: &[Vec<Column>]) -> Interaction {
    let mut all = Interaction::default();
    let cell = |component: usize, column: usize, k: usize| trace[component][column].values.data[k];
    let one = PackedBaseField::broadcast(BaseField::from(1));
    match (statement, elements) {
        (&Statement::StateMachine { log_rows, in_pairs }, Elements::Pair(states)) => {
            let (mut uses, mut yields, mut pairs) = (Vec::new(), Vec::new(), Vec::new());
            for k in vectors(log_rows) {
                let [x, y] = [0, 1].map(|i| cell(0, i, k));
                let (from, to): (PackedSecureField, PackedSecureField) =
                    (states.combine(&[x, y]), states.combine(&[x + one, y]));
                uses.push((times(1), from));
                yields.push((-times(1), to));
                pairs.push(difference(from, to));
            }
            all.component(log_rows, if in_pairs { vec![pairs] } else { vec![uses, yields] });
        }
        (&Statement::Xor { log_rows, bits }, Elements::Triple(table)) => {
            let (mut first, mut second) = (Vec::new(), Vec::new());
            for k in vectors(log_rows) {
                let [a, b, c] = [0, 1, 2].map(|i| cell(0, i, k));
                let [p, q, r] = [[a, b, c], [b, a, c], [a, c, b]].map(|values| table.combine(&values));
                first.push(both(p, q));
                second.push((times(2), r));
            }
            all.component(log_rows, vec![first, second]);
            let yields = vectors(2 * bits).map(|k| {
                let row = [0, 1, 2].map(|i| fixed[i].values.data[k]);
                (-PackedSecureField::from(cell(1, 0, k)), table.combine(&row))
            });
            all.component(2 * bits, vec![yields.collect()]);
        }
        (Statement::Steps { log_rows, .. }, Elements::Pair(states)) => {
            for (component, &log_rows) in log_rows.iter().enumerate() {
                let fractions = vectors(log_rows).map(|k| {
                    let from = [0, 1].map(|i| cell(component, i, k));
                    let mut to = from;
                    to[component] += one;
                    difference(states.combine(&from), states.combine(&to))
                });
                all.component(log_rows, vec![fractions.collect()]);
            }
        }
        (Statement::Plonk { .. }, Elements::Pair(wires)) => {
            let (mut read, mut driven) = (Vec::new(), Vec::new());
            for k in vectors(statement.heights()[0]) {
                let [p, q, r] = [0, 1, 2].map(|i| wires.combine(&[fixed[i].values.data[k], cell(0, 1 + i, k)]));
                read.push(both(p, q));
                driven.push((-PackedSecureField::from(cell(0, 0, k)), r));
            }
            all.component(statement.heights()[0], vec![read, driven]);
        }
        (Statement::Poseidon2 { log_rows, last, .. }, Elements::Sixteen(states)) => {
            // What a permutation makes is what the next one takes.
            let made: Vec<Column> = (0..16)
                .map(|i| {
                    let mut rows = crate::trace::rows(statement, 0).trace[0][i].split_off(1);
                    rows.push(BaseField::from(last[i]));
                    column(rows)
                })
                .collect();
            let fractions = vectors(*log_rows).map(|k| {
                let taken: [_; 16] = std::array::from_fn(|i| cell(0, i, k));
                let made: [_; 16] = std::array::from_fn(|i| made[i].values.data[k]);
                difference(states.combine(&taken), states.combine(&made))
            });
            all.component(*log_rows, vec![fractions.collect()]);
        }
        _ => {}
    }
    all
}
