//! Columns of one size on a device, with what their elements are in the type.

use core::{fmt, marker::PhantomData, ops::Range};

use backend_api::{
    Buffer, Queue,
    ops::circle::{CircleEvalAtPoint, CircleOps},
};
use core_types::{
    circle::CirclePoint,
    field::{M31, QM31},
    params::circle::CirclePointParams,
};

use crate::{
    CanonicDomain, Coefficients, ColumnsMut, ColumnsRef, FftError, HostColumns, Representation, domain::column_count,
    view::whole_columns,
};

/// Columns of equal length on a device, one after the other.
pub struct Columns<Q: Queue, R> {
    pub(crate) buf: Q::Buf<M31>,
    pub(crate) domain: CanonicDomain,
    pub(crate) count: u32,
    pub(crate) representation: PhantomData<R>,
}

impl<Q: Queue, R: Representation> Columns<Q, R> {
    /// Copies columns to the device.
    ///
    /// # Errors
    /// [`FftError::TooManyColumns`] beyond 2^32 - 1, [`FftError::Backend`] if memory is short.
    pub fn upload(q: &Q, host: &HostColumns<R>) -> Result<Self, FftError> {
        let count = column_count(host.domain(), host.count())?;
        Ok(Self { buf: q.upload(host.as_slice())?, domain: host.domain(), count, representation: PhantomData })
    }

    /// Columns that a buffer holds, one after the other.
    ///
    /// # Errors
    /// [`FftError::PartialColumn`] if they are not whole, [`FftError::TooManyColumns`] beyond
    /// 2^32 - 1.
    pub fn from_buf(domain: CanonicDomain, buf: Q::Buf<M31>) -> Result<Self, FftError> {
        let count = whole_columns(domain, buf.len())?;
        Ok(Self { buf, domain, count, representation: PhantomData })
    }

    /// The buffer that holds them.
    #[must_use]
    pub fn into_buf(self) -> Q::Buf<M31> {
        self.buf
    }

    /// Waits and copies the columns to the host.
    ///
    /// # Errors
    /// [`FftError::Backend`] if the device failed or computed a word outside the field.
    pub fn download(&self, q: &Q) -> Result<HostColumns<R>, FftError> {
        HostColumns::new(self.domain, q.download(&self.buf)?)
    }

    /// The domain of the columns.
    #[must_use]
    pub fn domain(&self) -> CanonicDomain {
        self.domain
    }

    /// Number of columns.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count as usize
    }

    /// A view of all columns.
    #[must_use]
    pub fn view(&self) -> ColumnsRef<'_, Q, R> {
        ColumnsRef { view: self.buf.view(), domain: self.domain, count: self.count(), representation: PhantomData }
    }

    /// A view of all columns, to write.
    #[must_use]
    pub fn view_mut(&mut self) -> ColumnsMut<'_, Q, R> {
        let (domain, count) = (self.domain, self.count());
        ColumnsMut { view: self.buf.view_mut(), domain, count, representation: PhantomData }
    }

    /// A view of the columns `range`.
    ///
    /// # Errors
    /// [`FftError::Backend`] with the elements if the range exceeds the number of columns.
    pub fn slice(&self, range: Range<usize>) -> Result<ColumnsRef<'_, Q, R>, FftError> {
        self.view().slice(range)
    }

    /// A view of the columns `range`, to write.
    ///
    /// # Errors
    /// As [`slice`](Self::slice).
    pub fn slice_mut(&mut self, range: Range<usize>) -> Result<ColumnsMut<'_, Q, R>, FftError> {
        let (elements, count) = (self.elements(range.clone()), range.len());
        let view = self.buf.slice_mut(elements)?;
        Ok(ColumnsMut { view, domain: self.domain, count, representation: PhantomData })
    }

    fn elements(&self, columns: Range<usize>) -> Range<usize> {
        let at = |column: usize| column.saturating_mul(self.domain.len());
        at(columns.start)..at(columns.end)
    }
}

impl<Q: CircleOps> Columns<Q, Coefficients> {
    /// Evaluates every polynomial at a point of the circle over the secure field.
    ///
    /// Values are in the order of the columns.
    ///
    /// # Errors
    /// [`FftError::OffCircle`] before any device work; [`FftError::Backend`] after.
    pub fn eval_at_point(&self, q: &Q, point: CirclePoint<QM31>) -> Result<Vec<QM31>, FftError> {
        if !point.is_on_circle() {
            return Err(FftError::OffCircle);
        }
        let params = CirclePointParams { log_size: self.domain.log_size(), columns: self.count, point };
        let mut results = q.alloc::<QM31>(self.count())?;
        q.circle_eval_at_point(CircleEvalAtPoint {
            params: &params,
            coefficients: self.buf.view(),
            results: results.view_mut(),
        })?;
        Ok(q.download(&results)?)
    }
}

impl<Q: Queue, R> fmt::Debug for Columns<Q, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Columns").field("domain", &self.domain).field("count", &self.count).finish_non_exhaustive()
    }
}
