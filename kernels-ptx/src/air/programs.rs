//! Programs of AIRs at every position: their outputs added up, or written.
//!
//! A thread runs a whole program at a position. Columns are read once for each mask, by
//! neighbouring threads side by side where the offset is zero; the kernels are limited by the
//! steps: each costs its decoding besides its arithmetic.
//!
//! # Safety
//! Buffers have the lengths given by the parameters, and the program was checked. Block: 128
//! threads; grid: any. Shared memory, or `registers`, holds a word for each register of each thread
//! of the block, or of the grid.

use core::ptr::null;

use core_types::{
    field::{M31, P, QM31, widening_mul_add},
    params::air::{AirColumnsParams, AirParams, Instruction, MaskAt},
};

use super::interpreter::{InGlobal, InShared, Program, Registers, Sink};
use crate::dev::{
    atomic,
    idx::{bdim_x, gdim_x, global_id, grid_stride},
    unroll::unroll,
};

const THREADS: u32 = 128;

/// Registers of a thread whose block keeps them in shared memory.
const SHARED_REGISTERS: u32 = AirParams::SHARED_REGISTERS;

/// Outputs times powers, added up: coordinates of 64 bits that are reduced at the end.
struct Sum {
    powers: *const QM31,
    sums: [u64; 4],
}

impl Sum {
    /// Adds `factor`, below `P`, times each of the four words.
    #[inline(always)]
    fn add(&mut self, factor: u32, words: [M31; 4]) {
        unroll!(C in 0..4 => {
            let sum = self.sums[C as usize];
            self.sums[C as usize] = widening_mul_add(factor, words[C as usize].word(), (sum & u64::from(P)) + (sum >> 31));
        });
    }
}

impl Sink for Sum {
    #[inline(always)]
    unsafe fn base(&mut self, output: u32, value: M31) {
        self.add(value.word(), (*self.powers.add(output as usize)).coordinates());
    }

    #[inline(always)]
    unsafe fn secure(&mut self, output: u32, value: QM31) {
        self.add(1, (value * *self.powers.add(output as usize)).coordinates());
    }
}

/// Outputs of the base field: columns, and numbers of counters.
#[derive(Clone, Copy)]
struct Table {
    columns: *mut M31,
    counters: *mut u32,
    outputs: AirColumnsParams,
}

/// A row of a table.
struct WriteRow {
    table: Table,
    log_rows: u32,
    position: u32,
}

impl Sink for WriteRow {
    const INTEGERS: bool = true;

    #[inline(always)]
    unsafe fn base(&mut self, output: u32, value: M31) {
        let Table { columns, counters, outputs } = self.table;
        if output < outputs.columns {
            *columns.add((u64::from(output) << self.log_rows) as usize + self.position as usize) = value;
        } else if value.word() < outputs.counters {
            atomic::add(counters.add(value.word() as usize), 1);
        }
    }

    /// Checked programs have no such output.
    #[inline(always)]
    unsafe fn secure(&mut self, _: u32, _: QM31) {}
}

/// Outputs written, four planes each.
struct Write {
    fractions: *mut M31,
    log_size: u32,
    position: u32,
}

impl Sink for Write {
    #[inline(always)]
    unsafe fn base(&mut self, output: u32, value: M31) {
        self.secure(output, QM31::from(value));
    }

    #[inline(always)]
    unsafe fn secure(&mut self, output: u32, value: QM31) {
        let coordinates = value.coordinates();
        let first = self.fractions.add((u64::from(4 * output) << self.log_size) as usize + self.position as usize);
        unroll!(C in 0..4 => {
            *first.add((u64::from(C) << self.log_size) as usize) = coordinates[C as usize];
        });
    }
}

#[inline(always)]
unsafe fn evaluate<R: Registers>(
    program: Program,
    r: R,
    vanishing_inverses: *const M31,
    powers: *const QM31,
    sums: *mut M31,
) {
    let AirParams { log_rows, log_size, .. } = program.params;
    for position in grid_stride(1 << log_size) {
        let mut sink = Sum { powers, sums: [0; 4] };
        program.run(position as u32, r, &mut sink);
        let factor = *vanishing_inverses.add((position >> log_rows) as usize);
        unroll!(C in 0..4 => {
            let place = sums.add((u64::from(C) << log_size) as usize + position as usize);
            *place += M31::from_u64(sink.sums[C as usize]) * factor;
        });
    }
}

#[inline(always)]
unsafe fn write<R: Registers>(program: Program, r: R, fractions: *mut M31) {
    let log_size = program.params.log_size;
    for position in grid_stride(1 << log_size) {
        let position = position as u32;
        program.run(position, r, &mut Write { fractions, log_size, position });
    }
}

#[inline(always)]
unsafe fn write_rows<R: Registers>(program: Program, r: R, table: Table) {
    let log_rows = program.params.log_rows;
    for position in grid_stride(1 << log_rows) {
        let position = position as u32;
        program.run(position, r, &mut WriteRow { table, log_rows, position });
    }
}

/// The registers of this thread, at its place in the grid.
#[inline(always)]
unsafe fn in_global(registers: *mut M31) -> InGlobal {
    InGlobal { first: registers.add(global_id() as usize), threads: u64::from(gdim_x()) * u64::from(bdim_x()) }
}

/// Writes and declares the kernels whose registers are at `$home`.
///
/// A parameter `$registers` leads to registers in global memory.
macro_rules! kernels {
    ($evaluate:ident, $fractions:ident, $columns:ident: $home:expr, shared $shared:expr $(, $registers:ident)?) => {
        /// Adds the outputs times their powers, divided by the vanishing polynomial, to `sums`.
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $evaluate(
            instructions: *const Instruction,
            masks: *const MaskAt,
            constants: *const M31,
            vanishing_inverses: *const M31,
            values: *const M31,
            challenges: *const QM31,
            powers: *const QM31,
            $($registers: *mut M31,)?
            sums: *mut M31,
            params: AirParams,
            len: u32,
        ) {
            let program = Program { instructions, len, masks, constants, values, challenges, params };
            evaluate(program, $home, vanishing_inverses, powers, sums);
        }

        /// Writes the outputs to `fractions`.
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $fractions(
            instructions: *const Instruction,
            masks: *const MaskAt,
            constants: *const M31,
            values: *const M31,
            challenges: *const QM31,
            $($registers: *mut M31,)?
            fractions: *mut M31,
            params: AirParams,
            len: u32,
        ) {
            let program = Program { instructions, len, masks, constants, values, challenges, params };
            write(program, $home, fractions);
        }

        /// Writes the outputs that are columns to `columns`, and counts the others.
        ///
        /// Counters are added to by atomics.
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $columns(
            instructions: *const Instruction,
            masks: *const MaskAt,
            constants: *const M31,
            inputs: *const M31,
            $($registers: *mut M31,)?
            columns: *mut M31,
            counters: *mut u32,
            outputs: AirColumnsParams,
            params: AirParams,
            len: u32,
        ) {
            let program = Program { instructions, len, masks, constants, values: inputs, challenges: null(), params };
            write_rows(program, $home, Table { columns, counters, outputs });
        }

        kernel_table! {
            $evaluate, $fractions, $columns: block [THREADS, 1, 1], min_blocks 4, shared $shared, barriers 0;
        }
    };
}

kernels!(air_evaluate, air_fractions, air_columns: InShared::new(), shared UpTo(4 * SHARED_REGISTERS * THREADS));
kernels!(air_evaluate_wide, air_fractions_wide, air_columns_wide: in_global(registers), shared None, registers);
