//! Fractions of look-ups.

use core_types::{
    field::{M31, QM31},
    params::air::{AirParams, Instruction, MaskAt, Opcode},
};

use super::program::Program;
use crate::{
    BackendError, BufferRef, Queue,
    ops::{Op, columns::planes, op},
};

op! {
    /// Runs a program on every row of a trace and writes lookup fractions.
    ///
    /// The outputs are values of the secure field: for each column of lookups, the numerator and
    /// then the denominator of its fraction. An output that no step writes stays unchanged.
    ///
    /// Positions are the rows of the trace: `log_size` is `log_rows`.
    pub struct AirFractions<'a, Q> as "air_fractions" {
        /// Sizes.
        params: plain &'a AirParams,
        /// The program.
        instructions: plain &'a [Instruction],
        /// The columns that it reads.
        masks: plain &'a [MaskAt],
        /// Its constants.
        constants: plain &'a [M31],
        /// The buffer that the columns are in.
        values: read M31,
        /// The challenges that it reads.
        challenges: read QM31,
        /// Four planes of `2^log_rows` words for each output.
        fractions: write M31,
    }
}

impl<Q: Queue> AirFractions<'_, Q> {
    /// Refuses parameters, programs and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`AirOps`](super::AirOps).
    pub fn check(&self) -> Result<(), BackendError> {
        let (words, challenges) = (self.values.len(), self.challenges.len());
        let Self { params, instructions, masks, constants, .. } = *self;
        let opcodes = Opcode::OF_FIELDS;
        Program { op: Self::NAME, params, instructions, masks, constants, challenges, words, opcodes }.check()?;
        if params.log_size != params.log_rows {
            return Err(BackendError::Unsupported { op: Self::NAME, why: "expected `log_size` equal to `log_rows`" });
        }
        self.expect([words, challenges, planes(params.outputs as usize, params.log_size)])
    }
}
