//! One party's keys of a run: all in memory, or read when a gate uses them.

use core::fmt;

use pfss::Party;

use super::deal::{Deal, Key};
use crate::InferenceError;

/// One party's keys of a run, in the order of their use.
///
/// Keys that were dealt in this process are in memory. Keys of a spent folder are read from their
/// files by the gate that uses them, and wiped after it: see
/// [`Plan::most_memory_bytes`](crate::Plan::most_memory_bytes). `Debug` shows their number.
pub struct Keys(pub(super) Stored);

pub(super) enum Stored {
    Memory(Vec<Key>),
    Source(Box<dyn KeySource>),
}

/// Keys outside of memory, which were checked before.
pub(crate) trait KeySource: Send {
    /// The party whose keys these are.
    fn party(&self) -> Party;

    /// The deals of the keys that are left, in the order of their use. No deal was read twice.
    fn deals(&self) -> Vec<&Deal>;

    /// Reads the next key, and checks that it is the one that was checked.
    ///
    /// # Errors
    /// [`InferenceError::Folder`] if it is another, [`InferenceError::Io`] if it cannot be read.
    fn next_key(&mut self) -> Result<Option<Key>, InferenceError>;
}

impl Keys {
    /// Keys that are read when they are used.
    pub(crate) fn from_source(source: impl KeySource + 'static) -> Self {
        Self(Stored::Source(Box::new(source)))
    }

    /// The number of keys.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.0 {
            Stored::Memory(keys) => keys.len(),
            Stored::Source(source) => source.deals().len(),
        }
    }

    /// Whether no key is left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl From<Vec<Key>> for Keys {
    fn from(keys: Vec<Key>) -> Self {
        Self(Stored::Memory(keys))
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys").field("len", &self.len()).finish_non_exhaustive()
    }
}
