//! Launches of the gathers at the queries.

use backend_api::{
    BackendError, BufferMut as _, BufferRef as _,
    ops::fri::{OpenColumns, OpenGroups},
};
use core_types::params::columns::ColumnAt;

use crate::{CudaQueue, CudaRef, launch::builder::Launch};

/// Configures one thread for each of `words` words.
///
/// There are at most the threads that the device holds at once: they stride over the grid.
fn cover(launch: Launch<'_>, words: usize) -> Launch<'_> {
    let blocks = (words as u64).div_ceil(launch.block()[0].into()).min(launch.at_once());
    launch.grid([blocks, 1, 1])
}

/// `columns` are `op`'s, in device memory.
pub(crate) fn columns(
    queue: &CudaQueue,
    op: &OpenColumns<'_, CudaQueue>,
    columns: CudaRef<'_, ColumnAt>,
) -> Result<(), BackendError> {
    let launch = cover(queue.kernel("open_columns")?, op.opened.len());
    let launch = launch.input("columns", columns).input("values", op.values).input("positions", op.positions);
    let launch = launch.output("opened", &op.opened).value("params", op.params);
    let launch = launch.value("count", &(columns.len() as u32)); // the op has checked that `u32` counts them
    // SAFETY: `OpenColumns::check` verified all lengths, and that columns lie within the words.
    unsafe { launch.launch() }
}

pub(crate) fn groups(queue: &CudaQueue, op: &OpenGroups<'_, CudaQueue>) -> Result<(), BackendError> {
    let launch = cover(queue.kernel("open_groups")?, 4 * op.opened.len());
    let launch = launch.input("values", op.values).input("positions", op.positions);
    let launch = launch.output("opened", &op.opened).value("params", op.params);
    // SAFETY: `OpenGroups::check` verified all lengths.
    unsafe { launch.launch() }
}
