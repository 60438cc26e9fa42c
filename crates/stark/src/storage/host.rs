//! Coefficients in host memory, for a device that has no room for them.

use backend_api::{BackendError, BufferMut as _, BufferRef as _, Mut, Ref, Register};
use core_types::field::M31;

use crate::StarkOps;

/// The coefficients of all columns but the composition polynomial's, in host memory.
pub(crate) struct HostColumns<Q: StarkOps> {
    words: HostWords<Q>,
    /// A second queue of the device, which copies while the first one works.
    branch: Q,
    /// Why the words are gone, if they are.
    lost: Option<BackendError>,
}

/// Words in host memory.
enum HostWords<Q: Register> {
    /// The device copies them itself.
    Shown(Q::Registered<M31>),
    /// The host cannot pin this much memory.
    Plain(Vec<M31>),
}

impl<Q: StarkOps> HostColumns<Q> {
    /// Allocates `words` words.
    pub(crate) fn new(q: &Q, words: usize) -> Result<Self, BackendError> {
        let words = match q.register(zeros(words)?) {
            Ok(shown) => HostWords::Shown(shown),
            Err(BackendError::OutOfMemory { .. }) => HostWords::Plain(zeros(words)?),
            Err(error) => return Err(error),
        };
        Ok(Self { words, branch: q.fork()?, lost: None })
    }

    /// Copies words, from `first` on, to the device, while it works.
    pub(crate) fn bring(&self, first: usize, to: Mut<'_, Q, M31>) -> Result<(), BackendError> {
        if let Some(error) = &self.lost {
            return Err(error.clone());
        }
        match &self.words {
            HostWords::Shown(words) => self.branch.write_registered(words, first, to),
            HostWords::Plain(words) => self.branch.write(&words[first..first + to.len()], to),
        }
    }

    /// Waits, and copies words of the device to the place from `first` on.
    pub(crate) fn keep(&mut self, from: Ref<'_, Q, M31>, first: usize) -> Result<(), BackendError> {
        match &mut self.words {
            HostWords::Shown(words) => {
                let at = words.as_ptr();
                let copied = self.branch.read_registered(from, words, first);
                if words.as_ptr() != at {
                    // The copy may still be running, so newly allocated memory has replaced all words.
                    self.lost = copied.clone().err();
                }
                copied
            }
            HostWords::Plain(words) => {
                let place = first..first + from.len();
                words[place].copy_from_slice(&self.branch.read(from)?);
                Ok(())
            }
        }
    }

    /// Copies columns of the caller to the device, while it works.
    pub(crate) fn upload(&self, columns: &[&[M31]], to: Mut<'_, Q, M31>) -> Result<(), BackendError> {
        self.branch.write_parts(columns, to)
    }
}

/// Returns `words` zeros, if the host has memory for them.
fn zeros(words: usize) -> Result<Vec<M31>, BackendError> {
    let mut zeros = Vec::new();
    let bytes = (words as u64).saturating_mul(size_of::<M31>() as u64);
    zeros.try_reserve_exact(words).map_err(|_| BackendError::OutOfMemory { bytes })?;
    zeros.resize(words, M31::ZERO);
    Ok(zeros)
}
