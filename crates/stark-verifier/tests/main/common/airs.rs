//! The AIRs of the vectors that do not ship, in this project's form.
//!
//! The tests of the prover share them.

use core_types::{
    air::{Air, BaseValue, LogUp, Relation, Row, Tree},
    field::M31,
};

use crate::statement::Statement;

/// The relation between two values in the first slots.
pub(crate) const PAIR: Relation = Relation::new(0, 2);

/// The relation between three values in the first slots.
const TRIPLE: Relation = Relation::new(0, 3);

/// Constraints on rows of any number.
#[derive(Clone, Copy)]
pub(crate) enum Constraints {
    WideFibonacci { columns: u32 },
    Neighbours,
    Cubes,
    Selected,
    StateMachine { in_pairs: bool },
    XorUse,
    XorTable,
}

/// An AIR of the vectors.
#[derive(Clone, Copy)]
pub(crate) struct VectorAir {
    pub(crate) log_rows: u32,
    pub(crate) constraints: Constraints,
}

impl Air for VectorAir {
    fn log_rows(&self) -> u32 {
        self.log_rows
    }

    fn eval<R: Row>(&self, row: &mut R) {
        let times = |n| R::E::from(R::F::from(M31::from_u32(n)));
        match self.constraints {
            Constraints::WideFibonacci { columns } => {
                let (mut a, mut b) = (row.column(), row.column());
                for _ in 2..columns {
                    let c = row.column();
                    row.constraint(c - a.square() - b.square());
                    (a, b) = (b, c);
                }
            }
            Constraints::Neighbours => {
                let [x_2, x_1, x0, x1, x2] = row.mask(Tree::TRACE, [-2, -1, 0, 1, 2]);
                let y = row.column();
                let [z_1, z0] = row.mask(Tree::TRACE, [-1, 0]);
                let v = row.column();
                let [u0, u1] = row.mask(Tree::TRACE, [0, 1]);
                let [s1] = row.mask(Tree::TRACE, [1]);
                let t = row.column();
                row.constraint(y - (x_2 * x2 + x_1 - x0 * M31::from_u32(3) + x1));
                row.constraint(v - z_1 * z0);
                row.constraint(t - (u0 * u1 + v - s1));
            }
            Constraints::Cubes => {
                let constant = row.preprocessed(0);
                let (x, y) = (row.column(), row.column());
                row.constraint(y - (x.square() * x + constant));
            }
            Constraints::Selected => {
                let (selector, offset) = (row.preprocessed(0), row.preprocessed(1));
                let (a, b, c) = (row.column(), row.column(), row.column());
                let product = a * b;
                row.constraint(c - offset - product - selector * (a + b - product));
            }
            Constraints::StateMachine { in_pairs } => {
                let (x, y) = (row.column(), row.column());
                let mut states = LogUp::new(if in_pairs { 2 } else { 1 });
                states.entry(row, PAIR, times(1), &[x, y]);
                states.entry(row, PAIR, -times(1), &[x + M31::ONE, y]);
                states.finish(row);
            }
            Constraints::XorUse => {
                let (a, b, c) = (row.column(), row.column(), row.column());
                let mut table = LogUp::new(2);
                table.entry(row, TRIPLE, times(1), &[a, b, c]);
                table.entry(row, TRIPLE, times(1), &[b, a, c]);
                table.entry(row, TRIPLE, times(2), &[a, c, b]);
                table.finish(row);
            }
            Constraints::XorTable => {
                let values = [0, 1, 2].map(|slot| row.preprocessed(slot));
                let multiplicity = row.column();
                let mut table = LogUp::new(1);
                table.entry(row, TRIPLE, -R::E::from(multiplicity), &values);
                table.finish(row);
            }
        }
    }
}

/// The AIRs of a statement, each with the places of its preprocessed columns.
pub(crate) fn airs(statement: &Statement) -> Vec<(VectorAir, Vec<usize>)> {
    let named = statement.preprocessed();
    let place = |name: &&str| named.iter().position(|(id, _)| id == name).expect("a column's name");
    let air = |log_rows, constraints, names: &[&str]| {
        (VectorAir { log_rows, constraints }, names.iter().map(place).collect::<Vec<_>>())
    };
    match *statement {
        Statement::WideFibonacci { ref log_rows, ref columns } => {
            let fibonacci = |(&log_rows, &columns)| air(log_rows, Constraints::WideFibonacci { columns }, &[]);
            log_rows.iter().zip(columns).map(fibonacci).collect()
        }
        Statement::Neighbours { log_rows } => vec![air(log_rows, Constraints::Neighbours, &[])],
        Statement::Cubes { log_rows } => vec![air(log_rows, Constraints::Cubes, &["constant"])],
        Statement::Selected { log_rows: [first, second], .. } => vec![
            air(first, Constraints::Selected, &["selector-1", "offset-1"]),
            air(second, Constraints::Selected, &[statement.second_selector(), "offset-2"]),
        ],
        Statement::StateMachine { log_rows, in_pairs } => {
            vec![air(log_rows, Constraints::StateMachine { in_pairs }, &[])]
        }
        Statement::Xor { log_rows, bits } => {
            vec![air(log_rows, Constraints::XorUse, &[]), air(2 * bits, Constraints::XorTable, &["a", "b", "c"])]
        }
        ref other => panic!("{other:?} ships"),
    }
}

/// The relations whose challenges a statement draws.
pub(crate) const fn relations(statement: &Statement) -> &'static [Relation] {
    match statement {
        Statement::StateMachine { .. } => &[PAIR],
        Statement::Xor { .. } => &[TRIPLE],
        _ => &[],
    }
}
