//! What all ranks have to agree on before anything is exchanged.

use core::fmt;

/// A call of a rank: all ranks make the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Call {
    /// The name of the call.
    pub name: &'static str,
    /// The type of the elements.
    pub element: &'static str,
    /// Lengths in elements that ranks have to have alike: of each share, of a part, or the root and the length.
    pub lens: Vec<usize>,
}

impl Call {
    /// A call named `name` on elements of type `T`.
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
