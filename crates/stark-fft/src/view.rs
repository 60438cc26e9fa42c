//! Views of columns of one size, within a batch, a set or a buffer of the caller's.

use core::{fmt, marker::PhantomData, ops::Range};

use backend_api::{BufferMut, BufferRef, Mut, Queue, Ref};
use core_types::field::M31;

use crate::{CanonicDomain, FftError, HostColumns, Representation, domain::column_count};

/// A view of columns of equal length on a device, one after the other.
pub struct ColumnsRef<'a, Q: Queue + 'a, R> {
    pub(crate) view: Ref<'a, Q, M31>,
    pub(crate) domain: CanonicDomain,
    pub(crate) count: usize,
    pub(crate) representation: PhantomData<R>,
}

impl<'a, Q: Queue + 'a, R: Representation> ColumnsRef<'a, Q, R> {
    /// The columns that a view of a buffer holds, one after the other.
    ///
    /// # Errors
    /// [`FftError::PartialColumn`] if they are not whole, [`FftError::TooManyColumns`] beyond
    /// 2^32 - 1.
    pub fn new(domain: CanonicDomain, view: Ref<'a, Q, M31>) -> Result<Self, FftError> {
        let count = whole_columns(domain, view.len())? as usize;
        Ok(Self { view, domain, count, representation: PhantomData })
    }

    /// The domain of the columns.
    #[must_use]
    pub fn domain(&self) -> CanonicDomain {
        self.domain
    }

    /// Number of columns.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// All elements, with a stride of `domain().len()` between columns.
    #[must_use]
    pub fn view(&self) -> Ref<'a, Q, M31> {
        self.view
    }

    /// The columns `range`.
    ///
    /// # Errors
    /// [`FftError::Backend`] with the elements if the range exceeds the number of columns.
    pub fn slice(&self, range: Range<usize>) -> Result<Self, FftError> {
        let at = |column: usize| column.saturating_mul(self.domain.len());
        let view = self.view.slice(at(range.start)..at(range.end))?;
        Ok(Self { view, count: range.len(), ..*self })
    }

    /// Waits and copies the columns to the host.
    ///
    /// # Errors
    /// [`FftError::Backend`] if the device failed or computed a word outside the field.
    pub fn read(&self, q: &Q) -> Result<HostColumns<R>, FftError> {
        HostColumns::new(self.domain, q.read(q.shorten(self.view))?)
    }
}

impl<'a, Q: Queue + 'a, R> Clone for ColumnsRef<'a, Q, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<'a, Q: Queue + 'a, R> Copy for ColumnsRef<'a, Q, R> {}

impl<'a, Q: Queue + 'a, R> fmt::Debug for ColumnsRef<'a, Q, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ColumnsRef").field("domain", &self.domain).field("count", &self.count).finish_non_exhaustive()
    }
}

/// An exclusive view of columns of equal length on a device, one after the other.
///
/// A plan that transforms them in place takes the view, and they are of the other representation
/// then: a batch or a set that the view was of keeps the type that it had.
pub struct ColumnsMut<'a, Q: Queue + 'a, R> {
    pub(crate) view: Mut<'a, Q, M31>,
    pub(crate) domain: CanonicDomain,
    pub(crate) count: usize,
    pub(crate) representation: PhantomData<R>,
}

impl<'a, Q: Queue + 'a, R: Representation> ColumnsMut<'a, Q, R> {
    /// The columns that a view of a buffer holds, one after the other, or is to hold.
    ///
    /// # Errors
    /// As [`ColumnsRef::new`].
    pub fn new(domain: CanonicDomain, view: Mut<'a, Q, M31>) -> Result<Self, FftError> {
        let count = whole_columns(domain, view.len())? as usize;
        Ok(Self { view, domain, count, representation: PhantomData })
    }

    /// The domain of the columns.
    #[must_use]
    pub fn domain(&self) -> CanonicDomain {
        self.domain
    }

    /// Number of columns.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// All elements, with a stride of `domain().len()` between columns.
    ///
    /// Who writes them answers for the representation.
    #[must_use]
    pub fn into_view(self) -> Mut<'a, Q, M31> {
        self.view
    }
}

impl<'a, Q: Queue + 'a, R> fmt::Debug for ColumnsMut<'a, Q, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ColumnsMut").field("domain", &self.domain).field("count", &self.count).finish_non_exhaustive()
    }
}

/// The columns of `domain` that `len` elements are, as a launch record names them.
pub(crate) fn whole_columns(domain: CanonicDomain, len: usize) -> Result<u32, FftError> {
    if !len.is_multiple_of(domain.len()) {
        return Err(FftError::PartialColumn { column_len: domain.len(), got: len });
    }
    column_count(domain, len / domain.len())
}
