//! Columns of AIRs: row numbers, counters, table words and sums; powers of a challenge.
//!
//! A sum adds columns of two heights.
//!
//! # Safety
//! Buffers have the lengths given by the parameters. Block: 256 threads; grid: any.

use core_types::{
    air::{lifted, stored_row},
    field::{M31, QM31},
    params::air::{
        CounterColumnsParams, GatherColumnParams, RowNumbersParams, SecureAddLiftedParams, SecurePowersParams,
    },
};

use crate::dev::idx::grid_stride;

/// Adds a smaller column, lifted, to a larger one. One pass over both, limited by memory.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn air_add_lifted(small: *const M31, large: *mut M31, params: SecureAddLiftedParams) {
    let SecureAddLiftedParams { log_small, log_large } = params;
    for i in grid_stride(4 << log_large) {
        let position = i as u32 & ((1 << log_large) - 1);
        let below = (i >> log_large << log_small) + u64::from(lifted(position, log_large, log_small));
        *large.add(i as usize) += *small.add(below as usize);
    }
}

/// Writes counters where their rows are stored.
///
/// One pass over both, limited by memory; neighbours read counters of rows far apart.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn air_counter_columns(
    counters: *const u32,
    columns: *mut M31,
    params: CounterColumnsParams,
) {
    let CounterColumnsParams { log_rows, columns: count } = params;
    for i in grid_stride(u64::from(count) << log_rows) {
        let position = i as u32 & ((1 << log_rows) - 1);
        let row = (i >> log_rows << log_rows) + u64::from(stored_row(position, log_rows));
        *columns.add(i as usize) = M31::from_u32(*counters.add(row as usize));
    }
}

/// Writes the words of a table that keys name.
///
/// One pass over keys and column; words are read wherever they are, so that a table larger than the
/// cache costs a sector of memory for each of them.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn air_gather_column(
    keys: *const M31,
    table: *const M31,
    column: *mut M31,
    params: GatherColumnParams,
) {
    let GatherColumnParams { log_rows, words } = params;
    for position in grid_stride(1 << log_rows) {
        let key = (*keys.add(position as usize)).word();
        let word = if key < words { *table.add(key as usize) } else { M31::ZERO };
        *column.add(position as usize) = word;
    }
}

/// Writes the number of each row where it is stored.
///
/// One pass over the column, limited by memory.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn air_row_numbers(column: *mut M31, params: RowNumbersParams) {
    for position in grid_stride(1 << params.log_rows) {
        *column.add(position as usize) = M31::from_u32(stored_row(position as u32, params.log_rows));
    }
}

/// Writes the powers of a challenge, each computed by itself.
///
/// A thread multiplies twice for each bit of its exponent.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn air_powers(base: *const QM31, powers: *mut QM31, params: SecurePowersParams) {
    let SecurePowersParams { count, descending } = params;
    for i in grid_stride(count.into()) {
        let mut exponent = if descending == 1 { count - 1 - i as u32 } else { i as u32 };
        let (mut factor, mut power) = (*base, QM31::ONE);
        while exponent > 0 {
            if exponent & 1 == 1 {
                power *= factor;
            }
            factor *= factor;
            exponent >>= 1;
        }
        *powers.add(i as usize) = power;
    }
}

kernel_table! {
    air_add_lifted, air_counter_columns, air_gather_column, air_row_numbers: block [256, 1, 1], min_blocks 4, shared None, barriers 0;
    air_powers: block [256, 1, 1], min_blocks 6, shared None, barriers 0;
}
