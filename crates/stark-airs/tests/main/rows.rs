//! Rows of values: the look-ups' fractions are collected from some, constraints are checked on others.

use core_types::{
    air::{BaseValue, ExtensionValue, Fraction, Row, Tree, stored_position},
    field::{M31, QM31},
};
use std::ops::{Add, Mul, Neg, Sub};

/// The columns of a component, and what its AIR reads besides.
pub(crate) struct Table<'t> {
    pub(crate) log_rows: u32,
    pub(crate) preprocessed: Vec<&'t [M31]>,
    pub(crate) trace: &'t [Vec<M31>],
    pub(crate) challenges: &'t [QM31],
}

impl Table<'_> {
    fn cell(&self, column: &[M31], row: i64) -> M31 {
        let row = row.rem_euclid(1 << self.log_rows) as u32;
        column[stored_position(row, self.log_rows) as usize]
    }
}

/// A row that collects fractions, one sum of them for each interaction column.
pub(crate) struct FractionRow<'t> {
    pub(crate) table: &'t Table<'t>,
    pub(crate) row: u32,
    pub(crate) next: usize,
    /// The fractions of each interaction column.
    pub(crate) fractions: Vec<QM31>,
}

impl Row for FractionRow<'_> {
    type F = M31;
    type E = QM31;

    fn mask<const K: usize>(&mut self, tree: Tree, offsets: [i32; K]) -> [M31; K] {
        assert_eq!(tree, Tree::TRACE);
        let column = &self.table.trace[self.next];
        self.next += 1;
        offsets.map(|offset| self.table.cell(column, i64::from(self.row) + i64::from(offset)))
    }

    fn preprocessed(&mut self, slot: u32) -> M31 {
        self.table.cell(self.table.preprocessed[slot as usize], i64::from(self.row))
    }

    fn challenge(&mut self, slot: u32) -> QM31 {
        self.table.challenges[slot as usize]
    }

    fn mean(&mut self) -> QM31 {
        panic!("the mean is not known yet")
    }

    fn constraint(&mut self, _: M31) {}

    fn constraint_ext(&mut self, _: QM31) {}

    fn partial_sum(&mut self, _: Option<QM31>, fraction: Fraction<QM31>) -> QM31 {
        self.fractions.push(fraction.numerator * fraction.denominator.inverse().unwrap());
        QM31::ZERO
    }

    fn running_sum(&mut self, _: Option<QM31>, fraction: Fraction<QM31>) {
        self.fractions.push(fraction.numerator * fraction.denominator.inverse().unwrap());
    }
}

/// A row whose constraints are checked.
pub(crate) struct CheckedRow<'t> {
    pub(crate) table: &'t Table<'t>,
    /// Interaction columns by row, each of the secure field.
    pub(crate) interaction: &'t [Vec<QM31>],
    pub(crate) mean: QM31,
    pub(crate) row: u32,
    /// Columns read in the trace, and coordinates of interaction columns.
    pub(crate) next: [usize; 2],
    pub(crate) constraints: usize,
    /// Constraints that do not vanish.
    pub(crate) broken: usize,
}

impl Row for CheckedRow<'_> {
    type F = M31;
    type E = QM31;

    fn mask<const K: usize>(&mut self, tree: Tree, offsets: [i32; K]) -> [M31; K] {
        let (table, row) = (self.table, i64::from(self.row));
        let next = &mut self.next[tree.0 as usize - 1];
        *next += 1;
        let k = *next - 1;
        if tree == Tree::TRACE {
            return offsets.map(|offset| table.cell(&table.trace[k], row + i64::from(offset)));
        }
        let column = &self.interaction[k / 4];
        offsets.map(|offset| {
            let row = (row + i64::from(offset)).rem_euclid(1 << table.log_rows);
            column[row as usize].coordinates()[k % 4]
        })
    }

    fn preprocessed(&mut self, slot: u32) -> M31 {
        self.table.cell(self.table.preprocessed[slot as usize], i64::from(self.row))
    }

    fn challenge(&mut self, slot: u32) -> QM31 {
        self.table.challenges[slot as usize]
    }

    fn mean(&mut self) -> QM31 {
        self.mean
    }

    fn constraint(&mut self, value: M31) {
        self.constraint_ext(QM31::from(value));
    }

    fn constraint_ext(&mut self, value: QM31) {
        self.constraints += 1;
        self.broken += usize::from(value != QM31::ZERO);
    }
}

/// The degree of a value in the columns.
#[derive(Clone, Copy)]
pub(crate) struct Degree(pub(crate) u32);

/// The highest degree of the constraints.
#[derive(Default)]
pub(crate) struct DegreeRow {
    pub(crate) highest: u32,
}

macro_rules! degrees {
    ($($operation:ident::$method:ident($rhs:ty) = $degree:expr;)*) => {$(
        impl $operation<$rhs> for Degree {
            type Output = Degree;
            fn $method(self, rhs: $rhs) -> Degree {
                let degree: fn(u32, u32) -> u32 = $degree;
                Degree(degree(self.0, Degree::from(rhs).0))
            }
        }
    )*};
}

degrees! {
    Add::add(Degree) = u32::max;
    Sub::sub(Degree) = u32::max;
    Mul::mul(Degree) = |a, b| a + b;
    Add::add(M31) = u32::max;
    Sub::sub(M31) = u32::max;
    Mul::mul(M31) = |a, b| a + b;
}

impl Neg for Degree {
    type Output = Self;
    fn neg(self) -> Self {
        self
    }
}

impl From<M31> for Degree {
    fn from(_: M31) -> Self {
        Self(0)
    }
}

impl From<QM31> for Degree {
    fn from(_: QM31) -> Self {
        Self(0)
    }
}

impl BaseValue for Degree {}

impl ExtensionValue<Degree> for Degree {
    fn from_coordinates(coordinates: [Degree; 4]) -> Self {
        coordinates.into_iter().fold(Self(0), Add::add)
    }
}

impl Row for DegreeRow {
    type F = Degree;
    type E = Degree;

    fn mask<const K: usize>(&mut self, _: Tree, _: [i32; K]) -> [Degree; K] {
        [Degree(1); K]
    }

    fn preprocessed(&mut self, _: u32) -> Degree {
        Degree(1)
    }

    fn challenge(&mut self, _: u32) -> Degree {
        Degree(0)
    }

    fn mean(&mut self) -> Degree {
        Degree(0)
    }

    fn constraint(&mut self, value: Degree) {
        self.highest = self.highest.max(value.0);
    }

    fn constraint_ext(&mut self, value: Degree) {
        self.constraint(value);
    }
}
