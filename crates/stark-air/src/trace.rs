//! Traces on the host, in the order of their rows.
//!
//! They give rows of values, and are searched for a broken constraint.

use core::fmt;

use core_types::{
    air::{Air, Row, Tree},
    field::{M31, QM31},
};
use thiserror::Error;

use crate::{MaskRead, MaskSource, RecordError, Recorded};

/// The columns that an AIR reads, row `r` at index `r`, with its challenges.
#[derive(Clone, Copy, Debug)]
pub struct HostTrace<'t> {
    /// Columns by tree, and by index within the component. The preprocessed tree has none here.
    pub columns: &'t [Vec<Vec<M31>>],
    /// Preprocessed columns, by slot.
    pub preprocessed: &'t [Vec<M31>],
    /// Challenges, by slot.
    pub challenges: &'t [QM31],
    /// The sum of all fractions.
    pub claimed_sum: QM31,
}

/// Why a trace does not satisfy an AIR.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The AIR itself is refused.
    #[error(transparent)]
    Air(#[from] RecordError),
    /// The trace has another number of columns.
    #[error("expected {expected} columns in tree {}, got {got}", .tree.0)]
    Columns {
        /// The tree.
        tree: Tree,
        /// Columns, or slots, that the AIR reads.
        expected: usize,
        /// Columns of the trace.
        got: usize,
    },
    /// A column has another number of rows.
    #[error("expected {expected} rows in column {column} of tree {}, got {got}", .tree.0)]
    Rows {
        /// The tree.
        tree: Tree,
        /// The column, or the slot.
        column: usize,
        /// Rows that the AIR states.
        expected: usize,
        /// Rows of the column.
        got: usize,
    },
    /// The trace has fewer challenges than the AIR reads.
    #[error("expected {expected} challenges, got {got}")]
    Challenges {
        /// Slots that the AIR reads.
        expected: usize,
        /// Challenges of the trace.
        got: usize,
    },
    /// A constraint is broken.
    #[error(transparent)]
    Violated(Box<Violation>),
}

/// A constraint that a row breaks.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct Violation {
    /// The constraint, counted from zero.
    pub constraint: usize,
    /// The row.
    pub row: usize,
    /// What should be zero.
    pub value: QM31,
    /// The masks that the row read before the constraint was stated.
    pub masks: Vec<MaskValue>,
}

/// A mask with its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaskValue {
    /// What was read.
    pub mask: MaskRead,
    /// The value.
    pub value: M31,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "constraint {} is {:?} on row {}, which read", self.constraint, self.value, self.row)?;
        for (k, MaskValue { mask, value }) in self.masks.iter().enumerate() {
            f.write_str(if k == 0 { " " } else { ", " })?;
            match mask.source {
                MaskSource::Preprocessed { slot } => write!(f, "preprocessed slot {slot}: {value}")?,
                MaskSource::Column { tree, column } => {
                    write!(f, "tree {} column {column} at {:+}: {value}", tree.0, mask.offset)?;
                }
            }
        }
        Ok(())
    }
}

/// A row of a trace, one value at a time.
///
/// It is the plainest reading of an AIR; others are compared with it.
#[derive(Clone, Debug)]
pub struct ScalarRow<'t> {
    trace: HostTrace<'t>,
    log_rows: u32,
    row: usize,
    next: Vec<usize>,
    masks: Vec<MaskValue>,
    constraints: Vec<QM31>,
    /// Masks that were read before each constraint.
    read_before: Vec<usize>,
}

impl<'t> ScalarRow<'t> {
    /// Row `row` of a trace of `2^log_rows` rows.
    ///
    /// # Panics
    /// Where it is read, if the trace lacks a column, a row or a challenge; [`check_trace`] looks
    /// first.
    #[must_use]
    pub fn new(trace: HostTrace<'t>, log_rows: u32, row: usize) -> Self {
        let next = vec![0; trace.columns.len()];
        Self { trace, log_rows, row, next, masks: Vec::new(), constraints: Vec::new(), read_before: Vec::new() }
    }

    /// The values of the constraints that were stated so far.
    #[must_use]
    pub fn constraints(&self) -> &[QM31] {
        &self.constraints
    }

    /// What was read so far.
    #[must_use]
    pub fn masks(&self) -> &[MaskValue] {
        &self.masks
    }

    fn read(&mut self, source: MaskSource, offset: i32, value: M31) -> M31 {
        self.masks.push(MaskValue { mask: MaskRead { source, offset }, value });
        value
    }
}

impl Row for ScalarRow<'_> {
    type F = M31;
    type E = QM31;

    fn mask<const K: usize>(&mut self, tree: Tree, offsets: [i32; K]) -> [M31; K] {
        let place = tree.0 as usize;
        let column = self.next[place];
        self.next[place] += 1;
        let rows = 1i64 << self.log_rows;
        offsets.map(|offset| {
            let row = (self.row as i64 + i64::from(offset)).rem_euclid(rows) as usize;
            let value = self.trace.columns[place][column][row];
            self.read(MaskSource::Column { tree, column: column as u32 }, offset, value)
        })
    }

    fn preprocessed(&mut self, slot: u32) -> M31 {
        let value = self.trace.preprocessed[slot as usize][self.row];
        self.read(MaskSource::Preprocessed { slot }, 0, value)
    }

    fn challenge(&mut self, slot: u32) -> QM31 {
        self.trace.challenges[slot as usize]
    }

    fn mean(&mut self) -> QM31 {
        let coordinates = self.trace.claimed_sum.coordinates();
        QM31::from_coordinates(coordinates.map(|word| word.div_power_of_two(self.log_rows)))
    }

    fn constraint(&mut self, value: M31) {
        self.constraint_ext(QM31::from(value));
    }

    fn constraint_ext(&mut self, value: QM31) {
        self.constraints.push(value);
        self.read_before.push(self.masks.len());
    }
}

/// Looks for a constraint of `air` that `trace` breaks.
///
/// # Errors
/// The first broken constraint of the first row that breaks any, an AIR that cannot be recorded, or
/// columns and challenges other than those it reads.
pub fn check_trace<A: Air>(air: &A, trace: &HostTrace<'_>) -> Result<(), TraceError> {
    let recorded = Recorded::new(air)?;
    let rows = 1usize << recorded.log_rows();
    check_columns(Tree::PREPROCESSED, trace.preprocessed, recorded.preprocessed_slots() as usize, rows)?;
    for (tree, columns) in (0..).map(Tree).zip(recorded.columns()).skip(1) {
        let got = trace.columns.get(tree.0 as usize).map_or(&[][..], Vec::as_slice);
        check_columns(tree, got, columns.len(), rows)?;
    }
    let (expected, got) = (recorded.challenges() as usize, trace.challenges.len());
    if got < expected {
        return Err(TraceError::Challenges { expected, got });
    }
    for at in 0..rows {
        let mut row = ScalarRow::new(*trace, recorded.log_rows(), at);
        air.eval(&mut row);
        let broken = row.constraints.iter().enumerate().find(|&(_, &value)| value != QM31::ZERO);
        if let Some((constraint, &value)) = broken {
            let masks = row.masks[..row.read_before[constraint]].to_vec();
            return Err(TraceError::Violated(Box::new(Violation { constraint, row: at, value, masks })));
        }
    }
    Ok(())
}

fn check_columns(tree: Tree, columns: &[Vec<M31>], expected: usize, rows: usize) -> Result<(), TraceError> {
    if columns.len() != expected {
        return Err(TraceError::Columns { tree, expected, got: columns.len() });
    }
    match columns.iter().position(|column| column.len() != rows) {
        Some(column) => Err(TraceError::Rows { tree, column, expected: rows, got: columns[column].len() }),
        None => Ok(()),
    }
}
