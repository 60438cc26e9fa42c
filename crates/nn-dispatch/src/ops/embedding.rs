//! Rows of a table by index.

use nn_ops::{Indices, Layout};

use super::lengths::exact;
use crate::{
    dispatcher::BackendDispatcher,
    error::DispatchError,
    handle::Operand,
    saved::{Pass, Saved},
};

pub(crate) fn embedding(
    d: &BackendDispatcher,
    table: Operand<'_>,
    shape: [usize; 2],
    indices: &[u32],
    y: &mut [f32],
) -> Result<Saved, DispatchError> {
    const OP: &str = "embedding";
    let [rows, width] = shape;
    let (of_table, of_rows) = (Layout::contiguous(&shape)?, Layout::contiguous(&[indices.len(), width])?);
    exact(OP, "table", of_table.numel(), table.values().len())?;
    exact(OP, "y", of_rows.numel(), y.len())?;
    d.run(|target| {
        let placed = Indices::new(&target.queue, rows, indices)?;
        let table = target.stage(table, &d.counts)?;
        let mut room = target.room(y)?;
        placed.gather(&target.queue, table.at(of_table)?, room.at(of_rows)?)?;
        room.deliver(target)?;
        Ok(target.saved(Pass::Embedding { shape, indices: indices.to_vec(), placed }))
    })
}

pub(crate) fn embedding_backward(
    d: &BackendDispatcher,
    saved: &Saved,
    g: Operand<'_>,
    dtable: &mut [f32],
) -> Result<(), DispatchError> {
    const OP: &str = "embedding_backward";
    let Pass::Embedding { shape, indices, placed } = &saved.pass else {
        return Err(saved.refused(OP, "embedding"));
    };
    let [rows, width] = *shape;
    let (of_table, of_rows) = (Layout::contiguous(shape)?, Layout::contiguous(&[indices.len(), width])?);
    exact(OP, "g", of_rows.numel(), g.values().len())?;
    exact(OP, "dtable", of_table.numel(), dtable.len())?;
    d.run_backward(OP, saved, |target, is_own| {
        let moved = if is_own { None } else { Some(Indices::new(&target.queue, rows, indices)?) };
        let g = target.stage(g, &d.counts)?;
        let mut room = target.filled_room(dtable)?;
        moved.as_ref().unwrap_or(placed).scatter_add(&target.queue, g.at(of_rows)?, room.at(of_table)?)?;
        room.deliver(target)?;
        Ok(())
    })
}
