//! Gathers of the values opened at the queries: a few thousand words, on the calling thread.

use backend_api::ops::fri::{OpenColumns, OpenGroups};
use core_types::field::QM31;

use crate::CpuQueue;

/// Gathers words of columns; the op was checked.
pub(super) fn columns(op: OpenColumns<'_, CpuQueue>) {
    if op.positions.is_empty() {
        return;
    }
    for (column, opened) in op.columns.iter().zip(op.opened.chunks_exact_mut(op.positions.len())) {
        for (opened, &position) in opened.iter_mut().zip(op.positions) {
            *opened = op.values[column.first as usize + op.params.row(position, column.log_len) as usize];
        }
    }
}

/// Gathers groups of values of the secure field; the op was checked.
pub(super) fn groups(op: OpenGroups<'_, CpuQueue>) {
    let plane = 1 << op.params.log_size;
    for (opened, &position) in op.opened.chunks_exact_mut(1 << op.params.log_group).zip(op.positions) {
        let first = op.params.first(position) as usize;
        for (place, opened) in (first..).zip(opened) {
            *opened = QM31::from_coordinates([0, 1, 2, 3].map(|k| op.values[k * plane + place]));
        }
    }
}
