//! Views of columns, within a batch or a buffer of the caller's.

use core::{fmt, marker::PhantomData, ops::Range};

use backend_api::{BufferMut, BufferRef, Mut, Queue, Ref};
use core_types::field::M31;

use crate::{
    CanonicDomain, FftError, Group, HostColumns, Representation, SetShape,
    domain::column_count,
    shape::{ColumnSizes, check_len, cut},
};

/// Makes a view of columns of the view `$view` of a buffer, which `$has` their elements.
macro_rules! columns_view {
    ($columns:ident, $view:ident, $has:literal) => {
        impl<'a, Q: Queue + 'a, R: Representation> $columns<'a, Q, R> {
            #[doc = concat!("The columns of one size that a view of a buffer ", $has, ".")]
            ///
            /// They lie one after the other.
            ///
            /// # Errors
            /// [`FftError::PartialColumn`] if they are not whole, [`FftError::TooManyColumns`]
            /// beyond 2^32 - 1.
            pub fn new(domain: CanonicDomain, view: $view<'a, Q, M31>) -> Result<Self, FftError> {
                let sizes = ColumnSizes::One(whole_columns(domain, view.len())?);
                Ok(Self { view, sizes, representation: PhantomData })
            }

            #[doc = concat!("The columns of `shape` that a view of a buffer ", $has, ".")]
            ///
            /// They lie one after the other.
            ///
            /// # Errors
            /// [`FftError::SetLength`] unless the length of the view matches the shape.
            pub fn with_shape(shape: &'a SetShape, view: $view<'a, Q, M31>) -> Result<Self, FftError> {
                check_len(shape, view.len())?;
                Ok(Self { view, sizes: ColumnSizes::All(shape.groups()), representation: PhantomData })
            }

            /// The columns of each size, the biggest size first.
            #[must_use]
            pub fn sizes(&self) -> &[Group] {
                self.sizes.groups()
            }

            /// Number of columns.
            #[must_use]
            pub fn count(&self) -> usize {
                self.sizes().iter().map(Group::count).sum()
            }
        }

        impl<'a, Q: Queue + 'a, R> fmt::Debug for $columns<'a, Q, R> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($columns)).field("sizes", &self.sizes.groups()).finish_non_exhaustive()
            }
        }
    };
}

/// A view of columns of one size or of several on a device, the biggest first.
pub struct ColumnsRef<'a, Q: Queue + 'a, R> {
    pub(crate) view: Ref<'a, Q, M31>,
    pub(crate) sizes: ColumnSizes<'a>,
    pub(crate) representation: PhantomData<R>,
}

columns_view!(ColumnsRef, Ref, "holds");

impl<'a, Q: Queue + 'a, R: Representation> ColumnsRef<'a, Q, R> {
    /// All elements, one column after the other.
    #[must_use]
    pub fn view(&self) -> Ref<'a, Q, M31> {
        self.view
    }

    /// The columns of group `i`, which are of one size.
    #[must_use]
    pub fn group(&self, i: usize) -> Option<Self> {
        let group = self.sizes().get(i)?;
        let view = self.view.slice(group.elements()).ok()?;
        let sizes = ColumnSizes::One(Group::alone(group.domain(), group.columns_in_record()));
        Some(Self { view, sizes, representation: PhantomData })
    }

    /// The columns of each group, the biggest size first.
    pub fn groups(&self) -> impl Iterator<Item = Self> {
        (0..self.sizes().len()).filter_map(|i| self.group(i))
    }

    /// The columns `range`, cut where the size changes.
    ///
    /// They are counted from the first of the biggest columns.
    ///
    /// # Errors
    /// [`FftError::Backend`] with the columns if the range exceeds their number.
    pub fn slice(&self, range: Range<usize>) -> Result<Vec<Self>, FftError> {
        let part = |(elements, group): (Range<usize>, Group)| {
            let view = self.view.slice(elements)?;
            Ok::<_, FftError>(Self { view, sizes: ColumnSizes::One(group), representation: PhantomData })
        };
        cut(self.sizes(), range)?.into_iter().map(part).collect()
    }

    /// Waits and copies the columns to the host.
    ///
    /// # Errors
    /// [`FftError::Backend`] if the device failed or computed a word outside the field.
    pub fn read(&self, q: &Q) -> Result<HostColumns<R>, FftError> {
        HostColumns::with_shape(SetShape::of(self.sizes()), q.read(q.shorten(self.view))?)
    }
}

impl<'a, Q: Queue + 'a, R> Clone for ColumnsRef<'a, Q, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<'a, Q: Queue + 'a, R> Copy for ColumnsRef<'a, Q, R> {}

/// An exclusive view of columns of one size or of several on a device, the biggest first.
///
/// A plan that transforms them in place takes the view, and they are of the other representation
/// then: a batch that the view was of keeps the type that it had.
pub struct ColumnsMut<'a, Q: Queue + 'a, R> {
    pub(crate) view: Mut<'a, Q, M31>,
    pub(crate) sizes: ColumnSizes<'a>,
    pub(crate) representation: PhantomData<R>,
}

columns_view!(ColumnsMut, Mut, "holds, or is to hold");

impl<'a, Q: Queue + 'a, R: Representation> ColumnsMut<'a, Q, R> {
    /// All elements, one column after the other.
    ///
    /// Who writes them answers for the representation.
    #[must_use]
    pub fn into_view(self) -> Mut<'a, Q, M31> {
        self.view
    }

    /// The columns of each group, which are of one size.
    ///
    /// # Errors
    /// None that the constructors have not reported.
    pub fn into_groups(self) -> Result<Vec<Self>, FftError> {
        let count = self.count();
        self.into_slices(0..count)
    }

    /// The columns `range`, cut where the size changes.
    pub(crate) fn into_slices(self, range: Range<usize>) -> Result<Vec<Self>, FftError> {
        let (mut parts, mut end, mut rest) = (Vec::new(), 0, self.view);
        for (elements, group) in cut(self.sizes.groups(), range)? {
            let (_, later) = rest.split_at(elements.start - end)?;
            let (view, later) = later.split_at(elements.len())?;
            parts.push(Self { view, sizes: ColumnSizes::One(group), representation: PhantomData });
            (end, rest) = (elements.end, later);
        }
        Ok(parts)
    }
}

/// The columns of `domain` that `len` elements are.
pub(crate) fn whole_columns(domain: CanonicDomain, len: usize) -> Result<Group, FftError> {
    if !len.is_multiple_of(domain.len()) {
        return Err(FftError::PartialColumn { column_len: domain.len(), got: len });
    }
    Ok(Group::alone(domain, column_count(domain, len / domain.len())?))
}
