//! Columns on a device, with the representation of their elements in the type.

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
    CanonicDomain, Coefficients, ColumnsMut, ColumnsRef, FftError, HostColumns, Representation, SetShape,
    shape::{ColumnSizes, check_len},
    view::whole_columns,
};

/// Columns of one size or of several in one buffer on a device, the biggest first.
///
/// The commitment trees of a circle STARK take columns of several sizes.
///
/// ```
/// use stark_fft::{BitReversed, CanonicDomain, Columns, HostColumns, LdePlan, M31, RowOrder, TwiddleTree};
///
/// let q = runtime::cpu()?;
/// let column = |log_size: u32, count: u32| {
///     let rows = (0..count << log_size).map(M31::from_u32).collect();
///     HostColumns::<RowOrder>::new(CanonicDomain::new(log_size)?, rows)
/// };
/// // One table of 8 rows and two columns, one of 32 rows and one column.
/// let trace = HostColumns::from_columns(&[column(3, 2)?, column(5, 1)?])?.into_order::<BitReversed>();
/// assert_eq!(trace.shape().to_string(), "1 x 2^5 + 2 x 2^3");
///
/// let plan = LdePlan::with_shape(trace.shape(), 1)?; // domains twice as big
/// let tree = TwiddleTree::new(&q, CanonicDomain::new(6)?)?;
/// let values = Columns::upload(&q, &trace)?;
/// let (polynomials, extended) = plan.interpolate_and_extend(&q, &tree, values)?;
/// assert_eq!(extended.shape().to_string(), "1 x 2^6 + 2 x 2^4");
/// assert_eq!(polynomials.group(1).map(|group| group.count()), Some(2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Columns<Q: Queue, R> {
    buf: Q::Buf<M31>,
    shape: SetShape,
    representation: PhantomData<R>,
}

impl<Q: Queue, R: Representation> Columns<Q, R> {
    /// Copies columns to the device.
    ///
    /// # Errors
    /// [`FftError::Backend`] if memory is short.
    pub fn upload(q: &Q, host: &HostColumns<R>) -> Result<Self, FftError> {
        Ok(Self::labelled(host.shape().clone(), q.upload(host.as_slice())?))
    }

    /// Columns of one size that a buffer holds, one after the other.
    ///
    /// # Errors
    /// [`FftError::PartialColumn`] if they are not whole, [`FftError::TooManyColumns`] beyond
    /// 2^32 - 1.
    pub fn from_buf(domain: CanonicDomain, buf: Q::Buf<M31>) -> Result<Self, FftError> {
        let sizes = ColumnSizes::One(whole_columns(domain, buf.len())?);
        Ok(Self::labelled(SetShape::of(sizes.groups()), buf))
    }

    /// The columns of `shape` that a buffer holds.
    ///
    /// # Errors
    /// [`FftError::SetLength`] unless the length of the buffer matches the shape.
    pub fn with_shape(shape: SetShape, buf: Q::Buf<M31>) -> Result<Self, FftError> {
        check_len(&shape, buf.len())?;
        Ok(Self::labelled(shape, buf))
    }

    /// The columns of `shape` in a buffer that has its elements.
    pub(crate) fn labelled(shape: SetShape, buf: Q::Buf<M31>) -> Self {
        Self { buf, shape, representation: PhantomData }
    }

    /// The same elements in another representation.
    pub(crate) fn relabelled<S: Representation>(self) -> Columns<Q, S> {
        Columns::labelled(self.shape, self.buf)
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
        HostColumns::with_shape(self.shape.clone(), q.download(&self.buf)?)
    }

    /// The sizes of the columns.
    #[must_use]
    pub fn shape(&self) -> &SetShape {
        &self.shape
    }

    /// Number of columns.
    #[must_use]
    pub fn count(&self) -> usize {
        self.shape.count()
    }

    /// A view of all columns.
    #[must_use]
    pub fn view(&self) -> ColumnsRef<'_, Q, R> {
        ColumnsRef { view: self.buf.view(), sizes: ColumnSizes::All(self.shape.groups()), representation: PhantomData }
    }

    /// A view of all columns, to write.
    #[must_use]
    pub fn view_mut(&mut self) -> ColumnsMut<'_, Q, R> {
        let (view, sizes) = (self.buf.view_mut(), ColumnSizes::All(self.shape.groups()));
        ColumnsMut { view, sizes, representation: PhantomData }
    }

    /// The columns of group `i`, which are of one size.
    #[must_use]
    pub fn group(&self, i: usize) -> Option<ColumnsRef<'_, Q, R>> {
        self.view().group(i)
    }

    /// The columns of group `i`, to write.
    #[must_use]
    pub fn group_mut(&mut self, i: usize) -> Option<ColumnsMut<'_, Q, R>> {
        let columns = self.shape.groups().get(i)?.columns();
        self.slice_mut(columns).ok()?.pop()
    }

    /// The columns `range`, cut where the size changes.
    ///
    /// They are counted from the first of the biggest columns.
    ///
    /// # Errors
    /// [`FftError::Backend`] with the columns if the range exceeds their number.
    pub fn slice(&self, range: Range<usize>) -> Result<Vec<ColumnsRef<'_, Q, R>>, FftError> {
        self.view().slice(range)
    }

    /// The columns `range`, cut where the size changes, to write.
    ///
    /// # Errors
    /// As [`slice`](Self::slice).
    pub fn slice_mut(&mut self, range: Range<usize>) -> Result<Vec<ColumnsMut<'_, Q, R>>, FftError> {
        self.view_mut().into_slices(range)
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
        let mut results = q.alloc::<QM31>(self.count())?;
        for group in self.shape.groups() {
            let (log_size, columns) = (group.domain().log_size(), group.columns_in_record());
            q.circle_eval_at_point(CircleEvalAtPoint {
                params: &CirclePointParams { log_size, columns, point },
                coefficients: self.buf.slice(group.elements())?,
                results: results.slice_mut(group.columns())?,
            })?;
        }
        Ok(q.download(&results)?)
    }
}

impl<Q: Queue, R> fmt::Debug for Columns<Q, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Columns").field("shape", &format_args!("{}", self.shape)).finish_non_exhaustive()
    }
}
