//! Columns of the secure field in four planes, layers of FRI among them.

use std::sync::Arc;

use backend_api::{Buffer as _, Queue};
use core_types::field::M31;
use runtime::AnyBuf;
use stwo::prover::secure_column::SecureColumnByCoords;

use crate::{
    DeviceColumn, TrefoilBackend,
    device::{done, queue},
    memory::{
        arena::{ArenaContents, DeviceArena, Slice},
        folds::Folds,
    },
};

/// The four planes of a column of the secure field, one after the other.
///
/// They are in their place if they follow each other, else copied.
pub(crate) fn planes(column: &SecureColumnByCoords<TrefoilBackend>) -> Slice<M31> {
    joined(column.columns.each_ref().map(DeviceColumn::slice))
}

/// [`planes`] of a column that is not needed any more.
pub(crate) fn into_planes(column: SecureColumnByCoords<TrefoilBackend>) -> Slice<M31> {
    joined(column.columns.map(DeviceColumn::into_slice))
}

fn joined(columns: [Slice<M31>; 4]) -> Slice<M31> {
    let len = columns[0].len;
    if columns.windows(2).all(|pair| pair[0].is_followed_by(&pair[1])) {
        let [first, ..] = columns;
        return Slice { len: 4 * len, ..first };
    }
    let mut buf = done(queue().alloc(4 * len));
    for (plane, column) in columns.iter().enumerate() {
        done(queue().copy(column.view(), done(buf.slice_mut(plane * len..(plane + 1) * len))));
    }
    Slice::all(DeviceArena::new(buf, ArenaContents::Planes(Arc::default())))
}

/// The buffer of planes, to be changed.
///
/// It is the planes' own buffer if nothing else refers to it, else a copy.
pub(crate) fn into_buf(planes: Slice<M31>) -> AnyBuf<M31> {
    Slice::reclaim(vec![planes]).unwrap_or_else(|planes| {
        let view = planes[0].view();
        let mut buf = done(queue().alloc(planes[0].len));
        done(queue().copy(view, buf.view_mut()));
        buf
    })
}

/// The column with these planes.
pub(crate) fn column(planes: &Slice<M31>) -> SecureColumnByCoords<TrefoilBackend> {
    let len = planes.len / 4;
    let plane = |k| DeviceColumn::on_device(Slice::new(planes.arena.clone(), planes.start + k * len, len));
    SecureColumnByCoords { columns: [0, 1, 2, 3].map(plane) }
}

/// The column whose planes are all of a buffer.
pub(crate) fn column_of(buf: AnyBuf<M31>, folds: Folds) -> SecureColumnByCoords<TrefoilBackend> {
    column(&Slice::all(DeviceArena::new(buf, ArenaContents::Planes(Arc::new(folds)))))
}
