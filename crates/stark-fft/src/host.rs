//! Columns in host memory, and how they are put in order.

use core::{cmp::Reverse, fmt, marker::PhantomData};

use core_types::field::M31;

use crate::{CanonicDomain, FftError, Order, Representation, SetShape, shape::check_len};

/// Columns of one size or of several in host memory, the biggest first, one after the other.
pub struct HostColumns<R> {
    shape: SetShape,
    elements: Vec<M31>,
    representation: PhantomData<R>,
}

impl<R: Representation> HostColumns<R> {
    /// Columns of `domain.len()` elements each.
    ///
    /// Their number follows from the length of `elements`.
    ///
    /// # Errors
    /// [`FftError::PartialColumn`] if the length is not a multiple of the column's,
    /// [`FftError::TooManyColumns`] beyond 2^32 - 1.
    pub fn new(domain: CanonicDomain, elements: Vec<M31>) -> Result<Self, FftError> {
        if !elements.len().is_multiple_of(domain.len()) {
            return Err(FftError::PartialColumn { column_len: domain.len(), got: elements.len() });
        }
        Self::with_shape(SetShape::new(&[(domain, elements.len() >> domain.log_size())])?, elements)
    }

    /// The columns of `shape`.
    ///
    /// # Errors
    /// [`FftError::SetLength`] unless the number of elements matches the shape.
    pub fn with_shape(shape: SetShape, elements: Vec<M31>) -> Result<Self, FftError> {
        check_len(&shape, elements.len())?;
        Ok(Self { shape, elements, representation: PhantomData })
    }

    /// The columns of all `parts`, ordered by size, the biggest first.
    ///
    /// Columns of one size keep their order.
    ///
    /// # Errors
    /// [`FftError::TooManyColumns`] as [`SetShape::new`].
    pub fn from_columns(parts: &[Self]) -> Result<Self, FftError> {
        let mut sorted = Vec::new();
        for part in parts {
            for group in part.shape.groups() {
                sorted.push((group.domain(), group.count(), &part.elements[group.elements()]));
            }
        }
        sorted.sort_by_key(|(domain, ..)| Reverse(*domain)); // stable
        let mut sizes: Vec<(CanonicDomain, usize)> = Vec::new();
        for &(domain, added, _) in &sorted {
            match sizes.last_mut() {
                Some((last, count)) if *last == domain => *count += added,
                _ => sizes.push((domain, added)),
            }
        }
        let elements = sorted.iter().flat_map(|(.., elements)| *elements).copied().collect();
        Self::with_shape(SetShape::new(&sizes)?, elements)
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

    /// Column `c`, counted from the first of the biggest ones.
    #[must_use]
    pub fn column(&self, c: usize) -> Option<&[M31]> {
        let group = self.shape.groups().iter().find(|group| group.columns().contains(&c))?;
        self.elements[group.elements()].chunks(group.domain().len()).nth(c - group.columns().start)
    }

    /// All columns, one after the other.
    #[must_use]
    pub fn as_slice(&self) -> &[M31] {
        &self.elements
    }
}

impl<O: Order> HostColumns<O> {
    /// The same values in another order.
    #[must_use]
    pub fn into_order<T: Order>(self) -> HostColumns<T> {
        let mut elements = Vec::with_capacity(self.elements.len());
        for group in self.shape.groups() {
            let log_size = group.domain().log_size();
            for column in self.elements[group.elements()].chunks(group.domain().len()) {
                let natural = |p| O::from_natural(T::to_natural(p, log_size), log_size);
                elements.extend((0..column.len()).map(|p| column[natural(p)]));
            }
        }
        HostColumns { shape: self.shape, elements, representation: PhantomData }
    }
}

impl<R> fmt::Debug for HostColumns<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostColumns").field("shape", &format_args!("{}", self.shape)).finish_non_exhaustive()
    }
}
