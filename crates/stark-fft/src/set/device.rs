//! Columns of several sizes in one buffer on a device.

use core::{fmt, marker::PhantomData, ops::Range};

use backend_api::{
    BackendError, Buffer, Queue,
    ops::circle::{CircleEvalAtPoint, CircleOps},
};
use core_types::{
    circle::CirclePoint,
    field::{M31, QM31},
    params::circle::CirclePointParams,
};

use super::{ColumnSetMut, ColumnSetRef, HostColumnSet};
use crate::{Coefficients, ColumnsMut, ColumnsRef, FftError, Representation, SetShape};

/// Columns of several sizes in one buffer on a device, the biggest first.
///
/// The commitment trees of a circle STARK take columns in this form.
///
/// ```
/// use stark_fft::{
///     BitReversed, CanonicDomain, ColumnSet, HostColumnSet, HostColumns, LdeSetPlan, M31, RowOrder, TwiddleTree,
/// };
///
/// let q = runtime::cpu()?;
/// let column = |log_size: u32, count: u32| {
///     let rows = (0..count << log_size).map(M31::from_u32).collect();
///     HostColumns::<RowOrder>::new(CanonicDomain::new(log_size)?, rows)
/// };
/// // One table of 8 rows and two columns, one of 32 rows and one column.
/// let trace = HostColumnSet::from_columns(&[column(3, 2)?, column(5, 1)?])?.into_order::<BitReversed>();
/// assert_eq!(trace.shape().to_string(), "1 x 2^5 + 2 x 2^3");
///
/// let plan = LdeSetPlan::new(trace.shape(), 1)?; // domains twice as big
/// let tree = TwiddleTree::new(&q, CanonicDomain::new(6)?)?;
/// let values = ColumnSet::upload(&q, &trace)?;
/// let (polynomials, extended) = plan.interpolate_and_extend(&q, &tree, values)?;
/// assert_eq!(extended.shape().to_string(), "1 x 2^6 + 2 x 2^4");
/// assert_eq!(polynomials.group(1).map(|group| group.count()), Some(2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ColumnSet<Q: Queue, R> {
    pub(super) buf: Q::Buf<M31>,
    pub(super) shape: SetShape,
    representation: PhantomData<R>,
}

impl<Q: Queue, R: Representation> ColumnSet<Q, R> {
    /// Copies columns to the device.
    ///
    /// # Errors
    /// [`FftError::Backend`] if memory is short.
    pub fn upload(q: &Q, host: &HostColumnSet<R>) -> Result<Self, FftError> {
        Ok(Self::labelled(host.shape.clone(), q.upload(&host.elements)?))
    }

    /// The columns of `shape` that a buffer holds.
    ///
    /// # Errors
    /// [`FftError::SetLength`] unless the length of the buffer matches the shape.
    pub fn from_buf(shape: SetShape, buf: Q::Buf<M31>) -> Result<Self, FftError> {
        if buf.len() != shape.len() {
            return Err(FftError::SetLength { expected: shape.len(), got: buf.len() });
        }
        Ok(Self::labelled(shape, buf))
    }

    /// The columns of `shape` in a buffer that has its elements.
    pub(super) fn labelled(shape: SetShape, buf: Q::Buf<M31>) -> Self {
        Self { buf, shape, representation: PhantomData }
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
    pub fn download(&self, q: &Q) -> Result<HostColumnSet<R>, FftError> {
        HostColumnSet::new(self.shape.clone(), q.download(&self.buf)?)
    }

    /// The sizes of the columns.
    #[must_use]
    pub fn shape(&self) -> &SetShape {
        &self.shape
    }

    /// A view of all columns.
    #[must_use]
    pub fn view(&self) -> ColumnSetRef<'_, Q, R> {
        ColumnSetRef::of(&self.shape, self.buf.view())
    }

    /// A view of all columns, to write.
    #[must_use]
    pub fn view_mut(&mut self) -> ColumnSetMut<'_, Q, R> {
        ColumnSetMut::of(&self.shape, self.buf.view_mut())
    }

    /// The columns of group `i`, which are of one size.
    #[must_use]
    pub fn group(&self, i: usize) -> Option<ColumnsRef<'_, Q, R>> {
        self.view().group(i)
    }

    /// The columns of group `i`, to write.
    #[must_use]
    pub fn group_mut(&mut self, i: usize) -> Option<ColumnsMut<'_, Q, R>> {
        let group = self.shape.groups().get(i)?;
        let view = self.buf.slice_mut(group.elements()).ok()?;
        Some(ColumnsMut { view, domain: group.domain(), count: group.count(), representation: PhantomData })
    }

    /// The columns `range`, cut where the size changes.
    ///
    /// They are counted from the first of the biggest columns.
    ///
    /// # Errors
    /// [`FftError::Backend`] with the columns if the range exceeds their number.
    pub fn slice(&self, range: Range<usize>) -> Result<Vec<ColumnsRef<'_, Q, R>>, FftError> {
        let len = self.shape.count();
        if range.start > range.end || range.end > len {
            return Err(BackendError::OutOfRange { start: range.start, end: range.end, len }.into());
        }
        let mut parts = Vec::new();
        for group in self.shape.groups() {
            let columns = group.columns();
            let (start, end) = (range.start.max(columns.start), range.end.min(columns.end));
            if start < end {
                let at = |column: usize| group.elements().start + (column - columns.start) * group.domain().len();
                let view = self.buf.slice(at(start)..at(end))?;
                let (domain, count) = (group.domain(), end - start);
                parts.push(ColumnsRef { view, domain, count, representation: PhantomData });
            }
        }
        Ok(parts)
    }
}

impl<Q: CircleOps> ColumnSet<Q, Coefficients> {
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
        let mut results = q.alloc::<QM31>(self.shape.count())?;
        for group in self.shape.groups() {
            let columns = group.count() as u32; // checked when the shape was made
            let params = CirclePointParams { log_size: group.domain().log_size(), columns, point };
            q.circle_eval_at_point(CircleEvalAtPoint {
                params: &params,
                coefficients: self.buf.slice(group.elements())?,
                results: results.slice_mut(group.columns())?,
            })?;
        }
        Ok(q.download(&results)?)
    }
}

impl<Q: Queue, R> fmt::Debug for ColumnSet<Q, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ColumnSet").field("shape", &format_args!("{}", self.shape)).finish_non_exhaustive()
    }
}
