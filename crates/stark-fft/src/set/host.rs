//! Columns of several sizes in host memory, and how they are put in order.

use core::{fmt, marker::PhantomData};

use core_types::field::M31;

use crate::{CanonicDomain, FftError, HostColumns, Order, Representation, SetShape};

/// Columns of several sizes in host memory, the biggest first, one after the other.
pub struct HostColumnSet<R> {
    pub(super) shape: SetShape,
    pub(super) elements: Vec<M31>,
    representation: PhantomData<R>,
}

impl<R: Representation> HostColumnSet<R> {
    /// The columns of `shape`.
    ///
    /// # Errors
    /// [`FftError::SetLength`] unless the number of elements matches the shape.
    pub fn new(shape: SetShape, elements: Vec<M31>) -> Result<Self, FftError> {
        if elements.len() != shape.len() {
            return Err(FftError::SetLength { expected: shape.len(), got: elements.len() });
        }
        Ok(Self { shape, elements, representation: PhantomData })
    }

    /// The columns of all `parts`, ordered by size, the biggest first.
    ///
    /// Columns of one size keep their order.
    ///
    /// # Errors
    /// [`FftError::TooManyColumns`] as [`SetShape::new`].
    pub fn from_columns(parts: &[HostColumns<R>]) -> Result<Self, FftError> {
        let mut sorted: Vec<&HostColumns<R>> = parts.iter().collect();
        sorted.sort_by_key(|part| core::cmp::Reverse(part.domain())); // stable
        let mut sizes: Vec<(CanonicDomain, usize)> = Vec::new();
        for part in &sorted {
            match sizes.last_mut() {
                Some((domain, count)) if *domain == part.domain() => *count += part.count(),
                _ => sizes.push((part.domain(), part.count())),
            }
        }
        let elements = sorted.iter().flat_map(|part| part.as_slice()).copied().collect();
        Self::new(SetShape::new(&sizes)?, elements)
    }

    /// The sizes of the columns.
    #[must_use]
    pub fn shape(&self) -> &SetShape {
        &self.shape
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

impl<O: Order> HostColumnSet<O> {
    /// The same values in another order.
    #[must_use]
    pub fn into_order<T: Order>(self) -> HostColumnSet<T> {
        let mut elements = Vec::with_capacity(self.elements.len());
        for group in self.shape.groups() {
            let log_size = group.domain().log_size();
            for column in self.elements[group.elements()].chunks(group.domain().len()) {
                let natural = |p| O::from_natural(T::to_natural(p, log_size), log_size);
                elements.extend((0..column.len()).map(|p| column[natural(p)]));
            }
        }
        HostColumnSet { shape: self.shape, elements, representation: PhantomData }
    }
}

impl<R> fmt::Debug for HostColumnSet<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostColumnSet").field("shape", &format_args!("{}", self.shape)).finish_non_exhaustive()
    }
}
