//! Columns of a trace.

use core_types::{
    field::M31,
    params::air::{AirColumnsParams, AirParams, Instruction, MaskAt, Opcode},
};

use super::program::UncheckedProgram;
use crate::{
    BufferRef,
    ops::{lengths::pow2, op},
};

op! {
    /// Runs a program on every row of a trace.
    ///
    /// Its outputs are values of the base field: the first of them are written to the columns of a
    /// table, in their order, and each of the others adds one to the counter whose number it is. A
    /// column that no step writes stays as it was, and a number that no counter has is not counted.
    ///
    /// Positions are the rows of the trace: `log_size` is `log_rows`. There are no challenges yet.
    pub struct AirColumns<'a, Q> as "air_columns" {
        /// Sizes.
        params: plain &'a AirParams,
        /// Columns and counters.
        outputs: plain &'a AirColumnsParams,
        /// The program.
        instructions: plain &'a [Instruction],
        /// The columns that it reads.
        masks: plain &'a [MaskAt],
        /// Its constants.
        constants: plain &'a [M31],
        /// The buffer that the columns that it reads are in.
        inputs: read M31,
        /// A column for each output that is one.
        columns: write M31 [columns, pow2(log_rows)],
        /// What was counted before. Sums are modulo 2^32.
        counters: write u32 [counters],
    }
    sizes(self) {
        let (words, opcodes) = (self.inputs.len(), Opcode::ALL.len());
        let Self { params, instructions, masks, constants, .. } = *self;
        UncheckedProgram { op: OP, params, instructions, masks, constants, challenges: 0, words, opcodes }.check()?;
        let AirParams { log_rows, log_size, outputs, .. } = *params;
        let AirColumnsParams { columns, counters } = *self.outputs;
    }
    valid(self) {
        log_size == log_rows, "expected `log_size` equal to `log_rows`";
        instructions.iter().all(|step| step.opcode != Opcode::OutExt as u16),
            "expected a program without `OutExt` steps";
        columns <= outputs, "more columns than outputs of the program";
    }
}
