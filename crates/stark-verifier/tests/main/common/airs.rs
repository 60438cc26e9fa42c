//! The AIRs of the vectors that do not ship, in this project's form.

use core_types::{
    air::{Air, BaseValue, LogUp, Relation, Row, Tree},
    field::M31,
};

pub(crate) struct WideFibonacci {
    pub(crate) log_rows: u32,
    pub(crate) columns: u32,
}

impl Air for WideFibonacci {
    fn log_rows(&self) -> u32 {
        self.log_rows
    }

    fn eval<R: Row>(&self, row: &mut R) {
        let (mut a, mut b) = (row.column(), row.column());
        for _ in 2..self.columns {
            let c = row.column();
            row.constraint(c - a.square() - b.square());
            (a, b) = (b, c);
        }
    }
}

pub(crate) struct Neighbours {
    pub(crate) log_rows: u32,
}

impl Air for Neighbours {
    fn log_rows(&self) -> u32 {
        self.log_rows
    }

    fn eval<R: Row>(&self, row: &mut R) {
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
}

pub(crate) struct Cubes {
    pub(crate) log_rows: u32,
}

impl Air for Cubes {
    fn log_rows(&self) -> u32 {
        self.log_rows
    }

    fn eval<R: Row>(&self, row: &mut R) {
        let constant = row.preprocessed(0);
        let (x, y) = (row.column(), row.column());
        row.constraint(y - (x.square() * x + constant));
    }
}

pub(crate) struct Selected {
    pub(crate) log_rows: u32,
}

impl Air for Selected {
    fn log_rows(&self) -> u32 {
        self.log_rows
    }

    fn eval<R: Row>(&self, row: &mut R) {
        let (selector, offset) = (row.preprocessed(0), row.preprocessed(1));
        let (a, b, c) = (row.column(), row.column(), row.column());
        let product = a * b;
        row.constraint(c - offset - product - selector * (a + b - product));
    }
}

/// The relation between two values in the first slots.
pub(crate) const PAIR: Relation = Relation::new(0, 2);

/// The relation between three values in the first slots.
pub(crate) const TRIPLE: Relation = Relation::new(0, 3);

pub(crate) struct StateMachine {
    pub(crate) log_rows: u32,
    pub(crate) in_pairs: bool,
}

impl Air for StateMachine {
    fn log_rows(&self) -> u32 {
        self.log_rows
    }

    fn eval<R: Row>(&self, row: &mut R) {
        let (x, y) = (row.column(), row.column());
        let one = R::E::from(R::F::from(M31::ONE));
        let mut states = LogUp::new(if self.in_pairs { 2 } else { 1 });
        states.entry(row, PAIR, one, &[x, y]);
        states.entry(row, PAIR, -one, &[x + M31::ONE, y]);
        states.finish(row);
    }
}

pub(crate) struct XorUse {
    pub(crate) log_rows: u32,
}

impl Air for XorUse {
    fn log_rows(&self) -> u32 {
        self.log_rows
    }

    fn eval<R: Row>(&self, row: &mut R) {
        let (a, b, c) = (row.column(), row.column(), row.column());
        let times = |n| R::E::from(R::F::from(M31::from_u32(n)));
        let mut table = LogUp::new(2);
        table.entry(row, TRIPLE, times(1), &[a, b, c]);
        table.entry(row, TRIPLE, times(1), &[b, a, c]);
        table.entry(row, TRIPLE, times(2), &[a, c, b]);
        table.finish(row);
    }
}

pub(crate) struct XorTable {
    pub(crate) log_rows: u32,
}

impl Air for XorTable {
    fn log_rows(&self) -> u32 {
        self.log_rows
    }

    fn eval<R: Row>(&self, row: &mut R) {
        let values = [0, 1, 2].map(|slot| row.preprocessed(slot));
        let multiplicity = row.column();
        let mut table = LogUp::new(1);
        table.entry(row, TRIPLE, -R::E::from(multiplicity), &values);
        table.finish(row);
    }
}
