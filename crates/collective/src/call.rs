//! What all ranks have to agree on before anything is exchanged.

use core::{fmt, ops::Range};

use backend_api::CollectiveError;

/// A call of a rank: all ranks make the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Call {
    /// The name of the call.
    pub name: &'static str,
    /// The type of the elements.
    pub element: &'static str,
    /// Lengths in elements that must be equal on all ranks.
    ///
    /// These are the lengths of the shares, the length of a part, or the root and the length.
    pub lens: Vec<usize>,
}

impl Call {
    /// An all-gather of elements of type `T`, with the lengths of the shares.
    ///
    /// See [`all_gather`](backend_api::Collective::all_gather).
    ///
    /// # Errors
    /// [`CollectiveError::Shares`] if there is not one share for each rank.
    pub fn all_gather<T>(ranks: usize, shares: &[Range<usize>]) -> Result<Self, CollectiveError> {
        let (expected, got) = (ranks, shares.len());
        if expected != got {
            return Err(CollectiveError::Shares { expected, got });
        }
        Ok(Self::new::<T>("all-gather", shares.iter().map(ExactSizeIterator::len).collect()))
    }

    /// An [`all_to_all`](backend_api::Collective::all_to_all), and the length of a part.
    ///
    /// `src` and `dst` are the lengths of its views, in elements of type `T`.
    ///
    /// # Errors
    /// [`CollectiveError::Parts`] if the views are not of one length, a multiple of the number of
    /// ranks.
    pub fn all_to_all<T>(ranks: usize, src: usize, dst: usize) -> Result<(Self, usize), CollectiveError> {
        if src != dst || !src.is_multiple_of(ranks) {
            return Err(CollectiveError::Parts { ranks, src, dst });
        }
        let part = src / ranks;
        Ok((Self::new::<T>("all-to-all", vec![part]), part))
    }

    /// A broadcast of `len` elements of type `T`, with the root and the length.
    ///
    /// See [`broadcast`](backend_api::Collective::broadcast).
    ///
    /// # Errors
    /// [`CollectiveError::Root`] if there is no such rank.
    pub fn broadcast<T>(ranks: usize, root: usize, len: usize) -> Result<Self, CollectiveError> {
        if root >= ranks {
            return Err(CollectiveError::Root { ranks, got: root });
        }
        Ok(Self::new::<T>("broadcast", vec![root, len]))
    }

    /// [`barrier`](backend_api::Collective::barrier).
    #[must_use]
    pub fn barrier() -> Self {
        Self::new::<u32>("barrier", vec![])
    }

    /// Another call, named `name`, on elements of type `T`.
    #[must_use]
    pub fn new<T>(name: &'static str, lens: Vec<usize>) -> Self {
        Self { name, element: core::any::type_name::<T>(), lens }
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, element, lens } = self;
        let element = element.rsplit("::").next().unwrap_or(element);
        write!(f, "{name} of {element}")?;
        match &lens[..] {
            [] => Ok(()),
            [len] => write!(f, " ({len})"),
            // Shares are many where ranks are.
            [first, .., last] => write!(f, " ({first} to {last}, {} in all)", lens.iter().sum::<usize>()),
        }
    }
}
