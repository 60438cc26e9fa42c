//! Constraints, added up.

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
    /// Evaluates a constraint program and adds its quotient to the sums.
    ///
    /// The program runs at the first positions of the committed columns. Output `k` is multiplied
    /// by power `k`. The sum of these products, divided by the vanishing polynomial of the rows, is
    /// added to `sums`.
    ///
    /// The positions are the first `2^log_size` of a canonic domain; masks read
    /// [`neighbour(position, log_size, log_rows, offset)`](core_types::air::neighbour).
    pub struct AirEvaluate<'a, Q> as "air_evaluate" {
        /// Sizes.
        params: plain &'a AirParams,
        /// The program, whose outputs are its constraints.
        instructions: plain &'a [Instruction],
        /// The columns that it reads.
        masks: plain &'a [MaskAt],
        /// Its constants.
        constants: plain &'a [M31],
        /// Inverses of the vanishing polynomial at the positions `k 2^log_rows`.
        ///
        /// There are `2^(log_size - log_rows)` of them: the polynomial has the same value at the
        /// `2^log_rows` positions from each of these positions on.
        vanishing_inverses: plain &'a [M31],
        /// The buffer that the columns are in.
        values: read M31,
        /// The challenges that it reads.
        challenges: read QM31,
        /// A power for each output.
        powers: read QM31 [outputs],
        /// The sums, in four planes.
        sums: write M31 [4, pow2(log_size)],
    }
    sizes(self) {
        let (words, challenges, opcodes) = (self.values.len(), self.challenges.len(), Opcode::OF_FIELDS);
        let Self { params, instructions, masks, constants, .. } = *self;
        UncheckedProgram { op: OP, params, instructions, masks, constants, challenges, words, opcodes }.check()?;
        let AirParams { log_rows, log_size, outputs, .. } = *params;
    }
    valid(self) {
        self.vanishing_inverses.len() == 1 << (log_size - log_rows),
            "expected 2^(`log_size` - `log_rows`) inverses of the vanishing polynomial";
    }
}
