//! The interaction columns of look-ups, from their fractions. Shared with the tests of `stwo-air`.

use core_types::{
    air::{Air, Fraction, Row, Tree, stored_position},
    field::{M31, QM31},
};
use stark_air::{HostTrace, ScalarRow};

/// A row that collects fractions, one sum of them for each interaction column.
struct FractionRow<'t> {
    row: ScalarRow<'t>,
    fractions: Vec<QM31>,
}

/// Columns in the order of their rows.
pub(crate) fn by_row(stored: &[Vec<M31>]) -> Vec<Vec<M31>> {
    let row = |column: &Vec<M31>, row| column[stored_position(row, column.len().ilog2()) as usize];
    stored.iter().map(|column| (0..column.len() as u32).map(|at| row(column, at)).collect()).collect()
}

/// The interaction columns of a trace that has none yet, and its claimed sum.
pub(crate) fn interaction<A: Air>(air: &A, trace: HostTrace<'_>) -> (Vec<Vec<M31>>, QM31) {
    let rows = 1u32 << air.log_rows();
    let fractions = |row: u32| {
        let mut row = FractionRow { row: ScalarRow::new(trace, air.log_rows(), row as usize), fractions: Vec::new() };
        air.eval(&mut row);
        row.fractions
    };
    let fractions: Vec<Vec<QM31>> = (0..rows).map(fractions).collect();
    let claimed_sum = fractions.iter().flatten().fold(QM31::ZERO, |sum, &fraction| sum + fraction);
    let mean = claimed_sum.scale(M31::from_u32(rows).inverse().unwrap());
    let width = fractions[0].len();
    let (mut columns, mut running) = (vec![vec![]; 4 * width], QM31::ZERO);
    for row in &fractions {
        // Partial sums of a row's fractions; the last column adds up over the rows.
        let mut sum = QM31::ZERO;
        for (k, &fraction) in row.iter().enumerate() {
            sum += fraction;
            if k + 1 == width {
                running = running + sum - mean;
                sum = running;
            }
            let column = columns[4 * k..].iter_mut();
            column.zip(sum.coordinates()).for_each(|(column, word)| column.push(word));
        }
    }
    (columns, claimed_sum)
}

impl Row for FractionRow<'_> {
    type F = M31;
    type E = QM31;

    fn mask<const K: usize>(&mut self, tree: Tree, offsets: [i32; K]) -> [M31; K] {
        self.row.mask(tree, offsets)
    }

    fn preprocessed(&mut self, slot: u32) -> M31 {
        self.row.preprocessed(slot)
    }

    fn challenge(&mut self, slot: u32) -> QM31 {
        self.row.challenge(slot)
    }

    fn mean(&mut self) -> QM31 {
        panic!("the mean is not known yet")
    }

    fn constraint(&mut self, _: M31) {}

    fn constraint_ext(&mut self, _: QM31) {}

    fn partial_sum(&mut self, _: Option<QM31>, fraction: Fraction<QM31>) -> QM31 {
        self.running_sum(None, fraction);
        QM31::ZERO
    }

    fn running_sum(&mut self, _: Option<QM31>, fraction: Fraction<QM31>) {
        self.fractions.push(fraction.numerator * fraction.denominator.inverse().unwrap());
    }
}
