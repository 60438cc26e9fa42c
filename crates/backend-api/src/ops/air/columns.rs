//! Columns of a trace.

use core_types::{
    field::M31,
    params::air::{AirParams, Instruction, MaskAt, Opcode},
};

use super::program::Program;
use crate::{
    BackendError, BufferRef, Queue,
    ops::{Op, op},
};

op! {
    /// Runs a program on every row of a trace and writes output `k`, a value of the base field, to column `k`. A column that no
    /// step writes stays as it was.
    ///
    /// Positions are those of the rows of the trace: `log_size` is `log_rows`. There are no challenges yet.
    pub struct AirColumns<'a, Q> as "air_columns" {
        /// Sizes.
        params: plain &'a AirParams,
        /// The program.
        instructions: plain &'a [Instruction],
        /// The columns that it reads.
        masks: plain &'a [MaskAt],
        /// Its constants.
        constants: plain &'a [M31],
        /// The buffer that the columns that it reads are in.
        inputs: read M31,
        /// A column of `2^log_rows` words for each output.
        columns: write M31,
    }
}

impl<Q: Queue> AirColumns<'_, Q> {
    /// Refuses parameters, programs and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`AirOps`](super::AirOps).
    pub fn check(&self) -> Result<(), BackendError> {
        let words = self.inputs.len();
        let Self { params, instructions, masks, constants, .. } = *self;
        Program { op: Self::NAME, params, instructions, masks, constants, challenges: 0, words }.check()?;
        if params.log_size != params.log_rows {
            return Err(BackendError::Unsupported { op: Self::NAME, why: "columns are of the rows of the trace" });
        }
        if instructions.iter().any(|step| step.opcode == Opcode::OutExt as u16) {
            return Err(BackendError::Unsupported { op: Self::NAME, why: "columns are of the base field" });
        }
        self.expect([words, (params.outputs as usize).saturating_mul(1 << params.log_rows)])
    }
}
