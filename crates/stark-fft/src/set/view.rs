//! Views of whole sets, in a set's own buffer or the caller's.

use core::{fmt, marker::PhantomData};

use backend_api::{BufferMut, BufferRef, Mut, Queue, Ref};
use core_types::field::M31;

use crate::{ColumnsMut, ColumnsRef, FftError, Representation, SetShape};

/// A view of columns of several sizes in one buffer on a device, the biggest first.
pub struct ColumnSetRef<'a, Q: Queue + 'a, R> {
    view: Ref<'a, Q, M31>,
    shape: &'a SetShape,
    representation: PhantomData<R>,
}

impl<'a, Q: Queue + 'a, R: Representation> ColumnSetRef<'a, Q, R> {
    /// The columns of `shape` that a view of a buffer holds, one after the other.
    ///
    /// # Errors
    /// [`FftError::SetLength`] unless the length of the view matches the shape.
    pub fn new(shape: &'a SetShape, view: Ref<'a, Q, M31>) -> Result<Self, FftError> {
        check_len(shape, view.len())?;
        Ok(Self::of(shape, view))
    }

    /// The columns of `shape` in a view that has its elements.
    pub(super) fn of(shape: &'a SetShape, view: Ref<'a, Q, M31>) -> Self {
        Self { view, shape, representation: PhantomData }
    }

    /// The sizes of the columns.
    #[must_use]
    pub fn shape(&self) -> &'a SetShape {
        self.shape
    }

    /// The columns of group `i`, which are of one size.
    #[must_use]
    pub fn group(&self, i: usize) -> Option<ColumnsRef<'a, Q, R>> {
        let group = self.shape.groups().get(i)?;
        let view = self.view.slice(group.elements()).ok()?;
        Some(ColumnsRef { view, domain: group.domain(), count: group.count(), representation: PhantomData })
    }

    /// The columns of each group, the biggest size first.
    pub fn groups(&self) -> impl Iterator<Item = ColumnsRef<'a, Q, R>> {
        (0..self.shape.groups().len()).filter_map(|i| self.group(i))
    }
}

impl<'a, Q: Queue + 'a, R> Clone for ColumnSetRef<'a, Q, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<'a, Q: Queue + 'a, R> Copy for ColumnSetRef<'a, Q, R> {}

impl<'a, Q: Queue + 'a, R> fmt::Debug for ColumnSetRef<'a, Q, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ColumnSetRef").field("shape", &format_args!("{}", self.shape)).finish_non_exhaustive()
    }
}

/// An exclusive view of columns of several sizes in one buffer, the biggest first.
///
/// The buffer is on a device. A plan that transforms them in place takes the view, and they are of
/// the other representation then, as with [`ColumnsMut`].
pub struct ColumnSetMut<'a, Q: Queue + 'a, R> {
    view: Mut<'a, Q, M31>,
    shape: &'a SetShape,
    representation: PhantomData<R>,
}

impl<'a, Q: Queue + 'a, R: Representation> ColumnSetMut<'a, Q, R> {
    /// The columns of `shape` that a view of a buffer holds, one after the other, or is to hold.
    ///
    /// # Errors
    /// As [`ColumnSetRef::new`].
    pub fn new(shape: &'a SetShape, view: Mut<'a, Q, M31>) -> Result<Self, FftError> {
        check_len(shape, view.len())?;
        Ok(Self::of(shape, view))
    }

    /// The columns of `shape` in a view that has its elements.
    pub(super) fn of(shape: &'a SetShape, view: Mut<'a, Q, M31>) -> Self {
        Self { view, shape, representation: PhantomData }
    }

    /// The sizes of the columns.
    #[must_use]
    pub fn shape(&self) -> &'a SetShape {
        self.shape
    }

    /// The columns of each group, which are of one size.
    ///
    /// # Errors
    /// None that [`new`](Self::new) has not reported.
    pub fn into_groups(self) -> Result<Vec<ColumnsMut<'a, Q, R>>, FftError> {
        let mut groups = Vec::with_capacity(self.shape.groups().len());
        let mut rest = self.view;
        for group in self.shape.groups() {
            let (view, later) = rest.split_at(group.len())?;
            groups.push(ColumnsMut { view, domain: group.domain(), count: group.count(), representation: PhantomData });
            rest = later;
        }
        Ok(groups)
    }
}

impl<'a, Q: Queue + 'a, R> fmt::Debug for ColumnSetMut<'a, Q, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ColumnSetMut").field("shape", &format_args!("{}", self.shape)).finish_non_exhaustive()
    }
}

fn check_len(shape: &SetShape, got: usize) -> Result<(), FftError> {
    if got == shape.len() {
        return Ok(());
    }
    Err(FftError::SetLength { expected: shape.len(), got })
}
