//! Generators of traces, recorded.

use core_types::{
    air::Generator,
    circle::MAX_LOG_DOMAIN,
    params::air::{MaskAt, Opcode},
};

use crate::{
    MaskSource, Program, RecordError,
    arena::ExpressionArena,
    compile::compile,
    recorder::{GeneratedColumns, GeneratorOutput, NUMBERS},
};

/// A recorded generator of a trace.
///
/// It is recorded once to a program that every backend runs (`air_columns`). The program reads its
/// inputs by slot. They follow each other in memory, a column of `2^log_rows` words each in stored
/// order, and the numbers of the rows follow them if they are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedGenerator {
    log_rows: u32,
    inputs: u32,
    columns: u32,
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
        let arena = ExpressionArena::default();
        let mut row = GeneratedColumns::new(&arena);
        generator.generate(&mut row);
        Self::of_row(row, &arena, log_rows)
    }

    /// Compiles a recorded generator to a program. Not generic: one instance for all generators.
    fn of_row(row: GeneratedColumns<'_>, arena: &ExpressionArena, log_rows: u32) -> Result<Self, RecordError> {
        let GeneratedColumns { reads, outputs, inputs } = row;
        if let Some(error) = reads.error {
            return Err(error);
        }
        let columns = outputs.iter().filter(|output| matches!(output, GeneratorOutput::Column(_))).count() as u32;
        if columns == 0 {
            return Err(RecordError::NoColumn);
        }
        let nodes = outputs.iter().map(|output| match output {
            GeneratorOutput::Column(value) | GeneratorOutput::Counter(value) => value.id(arena),
        });
        let nodes: Vec<u32> = nodes.collect();
        arena.check()?;
        let mut program = compile(arena, &nodes, &reads)?;
        number_outputs(&mut program, &outputs, columns);
        let mut reads_numbers = false;
        for mask in &mut program.masks {
            if mask.source == NUMBERS {
                mask.source = MaskSource::Preprocessed { slot: inputs };
                reads_numbers = true;
            }
        }
        Ok(Self { log_rows, inputs, columns, reads_numbers, program })
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
        self.columns as usize
    }

    /// The program, whose first outputs are the columns. The others are numbers of counters.
    #[must_use]
    pub const fn program(&self) -> &Program {
        &self.program
    }

    /// The reads of the program's masks, in order.
    ///
    /// They refer to a buffer of the inputs followed by the row numbers.
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

/// Numbers the columns first, then the counters.
///
/// Before that, outputs are numbered as they are written.
fn number_outputs(program: &mut Program, outputs: &[GeneratorOutput<'_>], columns: u32) {
    let (mut column, mut counted) = (0, columns);
    let numbers = outputs.iter().map(|output| {
        let next = match output {
            GeneratorOutput::Column(_) => &mut column,
            GeneratorOutput::Counter(_) => &mut counted,
        };
        *next += 1;
        (*next - 1) as u16 // at most 2^16 outputs were compiled
    });
    let numbers: Vec<u16> = numbers.collect();
    for step in &mut program.instructions {
        if step.opcode == Opcode::Out as u16 {
            step.target = numbers[usize::from(step.target)];
        }
    }
}
