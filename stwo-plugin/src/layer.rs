//! Columns of the secure field in four planes, layers of FRI among them.

use std::sync::Arc;

use core_types::field::M31;
use runtime::AnyBuf;
use stwo::prover::secure_column::SecureColumnByCoords;

use crate::{
    DeviceColumn, TrefoilBackend,
    memory::{
        arena::{ArenaContents, DeviceArena, Slice},
        folds::Folds,
    },
};

/// The four planes of a column of the secure field, one after the other.
///
/// They are in their place if they follow each other, else copied.
pub(crate) fn planes(column: &SecureColumnByCoords<TrefoilBackend>) -> Slice<M31> {
    Slice::in_one_piece(&column.columns.each_ref().map(DeviceColumn::slice), ArenaContents::Planes(Arc::default()))
}

/// [`planes`] of a column that is not needed any more.
pub(crate) fn into_planes(column: SecureColumnByCoords<TrefoilBackend>) -> Slice<M31> {
    Slice::in_one_piece(&column.columns.map(DeviceColumn::into_slice), ArenaContents::Planes(Arc::default()))
}

/// The planes of a column in one buffer, to be changed.
///
/// It is the planes' own buffer if nothing else refers to it, else a copy.
pub(crate) fn into_buf(column: SecureColumnByCoords<TrefoilBackend>) -> AnyBuf<M31> {
    Slice::into_buf(column.columns.map(DeviceColumn::into_slice).into())
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
