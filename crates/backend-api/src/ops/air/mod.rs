//! Traces, constraints and lookups of AIRs recorded as programs.
//!
//! Also arithmetic on columns of the secure field.
//!
//! A program is a list of [`Instruction`]s that runs once for every position, on registers of one
//! word that start out as zero. It has no branches. Columns of the secure field are four planes of
//! coordinates.

mod program;

use core_types::{
    field::{M31, QM31},
    params::air::{
        AirColumnsParams, AirParams, CounterColumnsParams, GatherColumnParams, Instruction, LogUpColumnsParams, MaskAt,
        Opcode, RowNumbersParams, SecureAddLiftedParams, SecurePowersParams,
    },
};

pub use super::sets::AirOps;
use crate::{
    BufferRef,
    ops::{columns::check_log, op, op::lengths::pow2},
};
use program::UncheckedProgram;

/// The table of the set, for [`op_sets!`](crate::op_sets!).
#[doc(hidden)]
#[macro_export]
macro_rules! air_ops {
    ($with:ident $($queue:ident)?) => {
        $with! {
            $([$queue])?
            /// Device steps of traces, constraints and look-ups.
            ///
            /// Every op returns [`BackendError::Length`] if a view does not have the length its
            /// parameters state, and [`BackendError::Unsupported`] for sizes out of range and for
            /// programs that refer to missing operands. Nothing is written then.
            air::AirOps: Queue {
                air_columns(AirColumns),
                air_evaluate(AirEvaluate),
                air_fractions(AirFractions),
                counter_columns(CounterColumns),
                gather_column(GatherColumn),
                logup_columns(LogUpColumns),
                row_numbers(RowNumbers),
                secure_add_lifted(SecureAddLifted),
                secure_powers(SecurePowers),
            }
        }
    };
}

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

op! {
    /// Writes counters to the columns of a table.
    ///
    /// Counter `k` of a column belongs to row `k`. It is written modulo P at the position of that
    /// row.
    pub struct CounterColumns<'a, Q> as "counter_columns" {
        /// Rows and columns.
        params: plain &'a CounterColumnsParams,
        /// The counters of each column.
        counters: read u32 [columns, pow2(log_rows)],
        /// The columns.
        columns: write M31 [columns, pow2(log_rows)],
    }
    sizes(self) {
        let CounterColumnsParams { log_rows, columns } = *self.params;
        check_log(OP, log_rows)?;
    }
    valid(self) {
        log_rows > 0, "expected a trace of at least 2 rows";
    }
}

op! {
    /// Gathers a column from a table of words.
    ///
    /// Each position receives the word whose number is its key, or zero if the table has no such
    /// word.
    pub struct GatherColumn<'a, Q> as "gather_column" {
        /// Rows and words.
        params: plain &'a GatherColumnParams,
        /// A column of numbers of words.
        keys: read M31 [pow2(log_rows)],
        /// The words, in their order.
        table: read M31 [words],
        /// The words of the keys, stored in the order of the keys.
        column: write M31 [pow2(log_rows)],
    }
    sizes(self) {
        let GatherColumnParams { log_rows, words } = *self.params;
        check_log(OP, log_rows)?;
    }
    valid(self) {
        log_rows > 0, "expected a trace of at least 2 rows";
    }
}

op! {
    /// Computes the interaction columns of a component from its fractions.
    ///
    /// Column `k` holds, on each row, the sum of fractions `0..=k` of the row. The last column is
    /// then replaced by its running sum over the rows, less its mean for each row: see
    /// [`running_sum`](core_types::air::Row::running_sum). Rows follow each other along the coset;
    /// positions are stored as in any trace. A denominator of zero gives a fraction of zero.
    pub struct LogUpColumns<'a, Q> as "logup_columns" {
        /// Sizes.
        params: plain &'a LogUpColumnsParams,
        /// The numerator and then the denominator of each column, in four planes each.
        fractions: read M31 [columns, 2, 4, pow2(log_rows)],
        /// The columns, in four planes each.
        columns: write M31 [columns, 4, pow2(log_rows)],
        /// The sum over all rows, and its mean.
        sums: write QM31 [2],
    }
    sizes(self) {
        let LogUpColumnsParams { log_rows, columns } = *self.params;
        check_log(OP, log_rows)?;
    }
    valid(self) {
        log_rows > 0 && columns > 0, "expected at least 2 rows and 1 column";
    }
}

op! {
    /// Writes the number of each row of a trace, from zero, where the row is stored.
    pub struct RowNumbers<'a, Q> as "row_numbers" {
        /// The number of rows.
        params: plain &'a RowNumbersParams,
        /// The numbers of the rows.
        column: write M31 [pow2(log_rows)],
    }
    sizes(self) {
        let RowNumbersParams { log_rows } = *self.params;
        check_log(OP, log_rows)?;
    }
    valid(self) {
        log_rows > 0, "expected a trace of at least 2 rows";
    }
}

op! {
    /// Adds a smaller column of the secure field to a larger one.
    ///
    /// The value at position `p` grows by the one at
    /// [`lifted(p, log_large, log_small)`](core_types::air::lifted) of the smaller column.
    pub struct SecureAddLifted<'a, Q> as "secure_add_lifted" {
        /// Sizes.
        params: plain &'a SecureAddLiftedParams,
        /// The smaller column, in four planes.
        small: read M31 [4, pow2(log_small)],
        /// The larger column, in four planes.
        large: write M31 [4, pow2(log_large)],
    }
    sizes(self) {
        let SecureAddLiftedParams { log_small, log_large } = *self.params;
        check_log(OP, log_large)?;
    }
    valid(self) {
        (1..=log_large).contains(&log_small), "expected `log_small` in 1..=`log_large`";
    }
}

op! {
    /// Writes the powers of a challenge, from the zeroth on, in either order.
    pub struct SecurePowers<'a, Q> as "secure_powers" {
        /// Number and order.
        params: plain &'a SecurePowersParams,
        /// The challenge.
        base: read QM31 [1],
        /// Its powers.
        powers: write QM31 [count],
    }
    sizes(self) {
        let SecurePowersParams { count, descending } = *self.params;
    }
    valid(self) {
        descending <= 1, "expected a `descending` flag of 0 or 1";
    }
}
