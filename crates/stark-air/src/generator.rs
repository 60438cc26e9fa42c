//! Generators of traces, recorded.

use core_types::{air::Generator, circle::MAX_LOG_DOMAIN, params::air::MaskAt};

use crate::{
    MaskSource, Program, RecordError,
    arena::Arena,
    compile::compile,
    recorder::{Columns, NUMBERS},
};

/// A generator of a trace, recorded once to a program that every backend runs (`air_columns`).
///
/// The program reads its inputs by slot. They follow each other in memory, a column of `2^log_rows` words each in stored order,
/// and the numbers of the rows follow them if they are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedGenerator {
    log_rows: u32,
    inputs: u32,
    reads_numbers: bool,
    program: Program,
}

impl RecordedGenerator {
    /// Records `generator`.
    ///
    /// # Errors
    /// A generator without rows or columns, and one that is larger than programs may be.
    pub fn new<G: Generator>(generator: &G) -> Result<Self, RecordError> {
        let log_rows = generator.log_rows();
        if !(1..=MAX_LOG_DOMAIN).contains(&log_rows) {
            return Err(RecordError::LogRows { got: log_rows });
        }
        let arena = Arena::default();
        let mut row = Columns::new(&arena);
        generator.generate(&mut row);
        let Columns { reads, values, inputs } = row;
        if values.is_empty() {
            return Err(RecordError::NoColumn);
        }
        let outputs: Vec<u32> = values.iter().map(|value| value.id(&arena)).collect();
        arena.check()?;
        let mut program = compile(&arena, &outputs, &reads)?;
        let mut reads_numbers = false;
        for mask in &mut program.masks {
            if mask.source == NUMBERS {
                mask.source = MaskSource::Preprocessed { slot: inputs };
                reads_numbers = true;
            }
        }
        Ok(Self { log_rows, inputs, reads_numbers, program })
    }

    /// Log of the number of rows.
    #[must_use]
    pub const fn log_rows(&self) -> u32 {
        self.log_rows
    }

    /// Columns of inputs.
    #[must_use]
    pub const fn inputs(&self) -> usize {
        self.inputs as usize
    }

    /// Whether the column after the inputs holds the numbers of the rows.
    #[must_use]
    pub const fn reads_numbers(&self) -> bool {
        self.reads_numbers
    }

    /// Columns that it makes.
    #[must_use]
    pub const fn columns(&self) -> usize {
        self.program.outputs as usize
    }

    /// The program whose output `k` is column `k`.
    #[must_use]
    pub const fn program(&self) -> &Program {
        &self.program
    }

    /// What each mask of the program reads, in a buffer of the inputs and the numbers of the rows.
    #[must_use]
    pub fn masks(&self) -> Vec<MaskAt> {
        let first = |source| match source {
            MaskSource::Preprocessed { slot: column } | MaskSource::Column { column, .. } => {
                u64::from(column) << self.log_rows
            }
        };
        let masks = self.program.masks.iter();
        masks.map(|mask| MaskAt { first: first(mask.source), offset: mask.offset, reserved: 0 }).collect()
    }
}
