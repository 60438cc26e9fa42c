//! Fractions of look-ups.

use core_types::{
    field::{M31, QM31},
    params::air::{AirParams, Instruction, MaskAt, Opcode},
};

use super::program::UncheckedProgram;
use crate::{
    BufferRef,
    ops::{lengths::pow2, op},
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
        /// Four planes for each output.
        fractions: write M31 [outputs, 4, pow2(log_rows)],
    }
    sizes(self) {
        let (words, challenges, opcodes) = (self.values.len(), self.challenges.len(), Opcode::OF_FIELDS);
        let Self { params, instructions, masks, constants, .. } = *self;
        UncheckedProgram { op: OP, params, instructions, masks, constants, challenges, words, opcodes }.check()?;
        let AirParams { log_rows, log_size, outputs, .. } = *params;
    }
    valid(self) {
        log_size == log_rows, "expected `log_size` equal to `log_rows`";
    }
}
