//! Lines of a table, fitted to a function.

use core::ops::Range;

use core_types::Ring;

use super::{TableFn, Zone};
use crate::{
    PfssError, SignedRange,
    functions::{Outputs, RING_BITS, Tail, fit::FittedPiece},
    suf::SufError,
};

/// A table in progress: zones are added from the least input on, and the last is a tail.
pub(super) struct Lines<'a> {
    /// Fraction bits of inputs.
    input_bits: u32,
    /// Fraction bits of results, at least `input_bits`.
    output_bits: u32,
    cell_bits: u32,
    inputs: SignedRange,
    function: &'a dyn Fn(f64) -> f64,
    zones: Vec<Zone>,
    /// The constant and the slope of each line.
    lines: Vec<[u64; 2]>,
    outputs: Outputs,
}

impl<'a> Lines<'a> {
    /// No lines yet, for `function` on fixed-point inputs in `inputs`.
    ///
    /// Results have the fraction bits of the inputs. Cells are so wide that the error of a line,
    /// which grows with the square of the width, is about a fifth of a unit of the result for
    /// functions like GeLU: `2^(f / 2 + 1)` inputs.
    pub(super) fn new(
        fraction_bits: u32,
        inputs: SignedRange,
        function: &'a dyn Fn(f64) -> f64,
    ) -> Result<Self, PfssError> {
        Ok(Self {
            input_bits: fraction_bits,
            output_bits: fraction_bits,
            cell_bits: fraction_bits / 2 + 1,
            inputs,
            function,
            zones: Vec::new(),
            lines: Vec::new(),
            outputs: Outputs { fitted: SignedRange::new(0, 0)?, slope: 0 },
        })
    }

    /// The same with `output_bits` fraction bits in results, no fewer than in inputs.
    pub(super) fn with_output_bits(self, output_bits: u32) -> Self {
        Self { output_bits, ..self }
    }

    /// The first cell of the number `value`, rounded up.
    pub(super) fn cell_of(&self, value: f64) -> i64 {
        (value * 2f64.powi((self.input_bits - self.cell_bits) as i32)).ceil() as i64 // s <= f
    }

    /// The number at the start of a cell.
    pub(super) fn value_at(&self, cell: i64) -> f64 {
        cell as f64 / 2f64.powi((self.input_bits - self.cell_bits) as i32)
    }

    /// Adds a fitted line for each of `cells`.
    pub(super) fn each(mut self, cells: Range<i64>) -> Result<Self, PfssError> {
        self.begin(cells.start, (cells.end - cells.start) as usize, true)?;
        for cell in cells {
            self.fit(cell, cell + 1)?;
        }
        Ok(self)
    }

    /// Adds one line, fitted to all of `cells`.
    pub(super) fn one(mut self, cells: Range<i64>) -> Result<Self, PfssError> {
        self.begin(cells.start, 1, false)?;
        self.fit(cells.start, cells.end)?;
        Ok(self)
    }

    /// Adds the exact line of a tail, for all inputs from the cell `start` on.
    pub(super) fn tail(mut self, start: i64, tail: Tail) -> Result<Self, PfssError> {
        self.begin(start, 1, false)?;
        let slope = match tail {
            Tail::Zero => 0,
            Tail::Identity => 1i64 << (self.cell_bits + self.output_bits - self.input_bits),
        };
        self.outputs.slope = slope; // the last tail is above all lines
        self.lines.push([0, slope.cast_unsigned()]);
        Ok(self)
    }

    /// The table of all lines, filled up to a power of two.
    pub(super) fn finish(self) -> TableFn {
        let size = self.lines.len().next_power_of_two().max(2);
        let table = |word: usize| {
            let mut table: Vec<u64> = self.lines.iter().map(|line| line[word]).collect();
            table.resize(size, 0);
            table
        };
        TableFn {
            tables: [table(0), table(1)],
            cell_bits: self.cell_bits,
            zones: self.zones,
            inputs: self.inputs,
            outputs: self.outputs,
        }
    }

    /// Begins a zone of `lines` lines, if the table has room for them.
    fn begin(&mut self, start: i64, lines: usize, is_split: bool) -> Result<(), PfssError> {
        let (first, max) = (self.lines.len(), TableFn::MAX_LINES);
        if first + lines > max {
            return Err(SufError::Cap { what: "lines of a table", max, got: first + lines }.into());
        }
        self.zones.push(Zone { start, first: first as u64, is_split });
        Ok(())
    }

    /// Adds the line fitted to the cells `start..end`, rounded by half a unit of the result.
    fn fit(&mut self, start: i64, end: i64) -> Result<(), PfssError> {
        let ring = Ring::new(RING_BITS).ok_or(SufError::RingWidth { got: RING_BITS })?;
        let [one, scale] = [self.input_bits, self.output_bits + self.cell_bits].map(|bits| 2f64.powi(bits as i32));
        let function = |x: f64| (self.function)(x / one) * scale;
        let [start, end] = [start, end].map(|cell| cell << self.cell_bits);
        let line = FittedPiece::line(start, end, function).rounding(self.cell_bits);
        self.outputs.fitted = self.outputs.fitted.hull(line.range()?);
        let coefficients = line.expand(ring);
        self.lines.push([coefficients[0], coefficients[1]]); // of degree 1
        Ok(())
    }
}
