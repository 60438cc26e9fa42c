//! Columns of one size in host memory, and how they are put in order.

use core::{fmt, marker::PhantomData};

use core_types::field::M31;

use crate::{CanonicDomain, FftError, Order, Representation};

/// Columns of equal length in host memory, one after the other.
pub struct HostColumns<R> {
    domain: CanonicDomain,
    elements: Vec<M31>,
    representation: PhantomData<R>,
}

impl<R: Representation> HostColumns<R> {
    /// Columns of `domain.len()` elements each.
    ///
    /// Their number follows from the length of `elements`.
    ///
    /// # Errors
    /// [`FftError::PartialColumn`] if the length is not a multiple of the column's.
    pub fn new(domain: CanonicDomain, elements: Vec<M31>) -> Result<Self, FftError> {
        if !elements.len().is_multiple_of(domain.len()) {
            return Err(FftError::PartialColumn { column_len: domain.len(), got: elements.len() });
        }
        Ok(Self { domain, elements, representation: PhantomData })
    }

    /// The domain of the columns.
    #[must_use]
    pub fn domain(&self) -> CanonicDomain {
        self.domain
    }

    /// Number of columns.
    #[must_use]
    pub fn count(&self) -> usize {
        self.elements.len() >> self.domain.log_size()
    }

    /// Column `c`.
    #[must_use]
    pub fn column(&self, c: usize) -> Option<&[M31]> {
        self.elements.chunks(self.domain.len()).nth(c)
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
        let log_size = self.domain.log_size();
        let mut elements = Vec::with_capacity(self.elements.len());
        for column in self.elements.chunks(self.domain.len()) {
            elements.extend((0..column.len()).map(|p| column[O::from_natural(T::to_natural(p, log_size), log_size)]));
        }
        HostColumns { domain: self.domain, elements, representation: PhantomData }
    }
}

impl<R> fmt::Debug for HostColumns<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostColumns").field("domain", &self.domain).field("len", &self.elements.len()).finish()
    }
}
