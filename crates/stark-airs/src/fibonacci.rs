//! Rows of sums of squares, as wide as one likes.

use alloc::{vec, vec::Vec};

use core_types::{
    air::{Air, BaseValue, Generator, NewRow, Row},
    field::M31,
};

use crate::{
    AirError, Statement, TraceColumns, Visitor, Witness, WitnessVisitor,
    columns::{checked_rows, column},
};

/// Each column is read once, and a recorded AIR numbers its reads by 16 bits.
const MOST_COLUMNS: u32 = 1 << 16;

/// Each column is the sum of the squares of the two to its left; the first two are free.
///
/// An AIR, and the statement about it alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WideFibonacci {
    log_rows: u32,
    columns: u32,
}

impl WideFibonacci {
    /// The AIR with `2^log_rows` rows and `columns` columns.
    ///
    /// # Errors
    ///
    /// Refuses a height outside `1..=29`, fewer than three columns, and more than 2^16, the maximum
    /// that a program reads.
    pub fn new(log_rows: u32, columns: u32) -> Result<Self, AirError> {
        if !(3..=MOST_COLUMNS).contains(&columns) {
            return Err(AirError::Columns { got: columns, least: 3, most: MOST_COLUMNS });
        }
        Ok(Self { log_rows: checked_rows(log_rows)?, columns })
    }

    /// The trace whose rows begin with `seeds`.
    ///
    /// # Errors
    ///
    /// Refuses seeds that are not one for each row.
    pub fn trace(&self, seeds: &[[M31; 2]]) -> Result<Vec<TraceColumns>, AirError> {
        let mut columns: TraceColumns = self.seeds(seeds)?.columns.into();
        for k in 2..self.columns as usize {
            let next = columns[k - 2].iter().zip(&columns[k - 1]).map(|(a, b)| a.square() + b.square()).collect();
            columns.push(next);
        }
        Ok(vec![columns])
    }

    /// Returns the first two columns of the trace, given by `seeds`, to generate the rest from.
    ///
    /// # Errors
    ///
    /// Refuses seeds that are not one for each row.
    pub fn seeds(&self, seeds: &[[M31; 2]]) -> Result<FibonacciSeeds, AirError> {
        let expected = 1 << self.log_rows;
        if seeds.len() != expected {
            return Err(AirError::Length { what: "seeds", expected, got: seeds.len() });
        }
        let columns = [0, 1].map(|k| column(self.log_rows, |row| seeds[row as usize][k]));
        Ok(FibonacciSeeds { air: *self, columns })
    }
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

impl Statement for WideFibonacci {
    fn visit<'s>(&'s self, visitor: &mut impl Visitor<'s>) {
        visitor.component(self, &[]);
    }
}

/// The first two columns of a trace of [`WideFibonacci`], from which the others follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FibonacciSeeds {
    air: WideFibonacci,
    columns: [Vec<M31>; 2],
}

impl Generator for FibonacciSeeds {
    fn log_rows(&self) -> u32 {
        self.air.log_rows
    }

    fn generate<R: NewRow>(&self, row: &mut R) {
        let (mut a, mut b) = (row.input(), row.input());
        row.write(a);
        row.write(b);
        for _ in 2..self.air.columns {
            (a, b) = (b, a.square() + b.square());
            row.write(b);
        }
    }
}

impl Witness for FibonacciSeeds {
    fn generators<'w>(&'w self, visitor: &mut impl WitnessVisitor<'w>) {
        visitor.component(self, &self.columns);
    }
}
