//! Columns of a trace.

use core_types::{
    field::M31,
    params::air::{AirColumnsParams, AirParams, Instruction, MaskAt, Opcode},
};

use super::program::Program;
use crate::{
    BackendError, BufferRef, Queue,
    ops::{Op, op},
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
        /// A column of `2^log_rows` words for each output that is one.
        columns: write M31,
        /// What was counted before. Sums are modulo 2^32.
        counters: write u32,
    }
}

impl<Q: Queue> AirColumns<'_, Q> {
    /// Refuses parameters, programs and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`AirOps`](super::AirOps).
    pub fn check(&self) -> Result<(), BackendError> {
        let words = self.inputs.len();
        let Self { params, outputs, instructions, masks, constants, .. } = *self;
        let opcodes = Opcode::ALL.len();
        Program { op: Self::NAME, params, instructions, masks, constants, challenges: 0, words, opcodes }.check()?;
        if params.log_size != params.log_rows {
            return Err(BackendError::Unsupported { op: Self::NAME, why: "expected `log_size` equal to `log_rows`" });
        }
        if instructions.iter().any(|step| step.opcode == Opcode::OutExt as u16) {
            return Err(BackendError::Unsupported { op: Self::NAME, why: "expected a program without `OutExt` steps" });
        }
        let AirColumnsParams { columns, counters } = *outputs;
        if columns > params.outputs {
            return Err(BackendError::Unsupported { op: Self::NAME, why: "more columns than outputs of the program" });
        }
        self.expect([words, (columns as usize).saturating_mul(1 << params.log_rows), counters as usize])
    }
}
