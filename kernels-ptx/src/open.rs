//! Gathers of opened values at the queries: a thread for each word, a few thousand in all.
//!
//! # Safety
//! `positions` are `params.queries` words of any value; the other views have the lengths that the
//! parameters state. Grid: any; block: 256 threads.

use core_types::{
    field::{M31, QM31},
    params::{
        columns::ColumnAt,
        fri::{OpenColumnsParams, OpenGroupsParams},
    },
};

use crate::dev::idx::grid_stride;

/// Words of `count` columns that lie in `values`, column by column.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn open_columns(
    columns: *const ColumnAt,
    values: *const M31,
    positions: *const u32,
    opened: *mut M31,
    params: OpenColumnsParams,
    count: u32,
) {
    let queries = u64::from(params.queries.max(1)); // without queries nothing is launched, but a division by zero would trap
    for i in grid_stride(u64::from(count) * queries) {
        let (column, query) = (i / queries, i % queries);
        let column = *columns.add(column as usize);
        let row = params.row(*positions.add(query as usize), column.log_len);
        *opened.add(i as usize) = *values.add(column.first as usize + row as usize);
    }
}

/// Coordinates of groups of values, which are four planes.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn open_groups(
    values: *const M31,
    positions: *const u32,
    opened: *mut QM31,
    params: OpenGroupsParams,
) {
    let log_group = params.log_group;
    let opened: *mut M31 = opened.cast();
    for i in grid_stride((u64::from(params.queries) << log_group) * 4) {
        let (element, plane) = (i / 4, i % 4);
        let query = element >> log_group;
        let place = u64::from(params.first(*positions.add(query as usize))) + (element - (query << log_group));
        *opened.add(i as usize) = *values.add(((plane << params.log_size) + place) as usize);
    }
}

kernel_table! {
    open_columns, open_groups: block [256, 1, 1], min_blocks 4, shared None, barriers 0;
}
