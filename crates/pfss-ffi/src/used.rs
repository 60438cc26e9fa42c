use std::{
    collections::HashSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use pfss::{KeyBundle, Party, PfssError};

use crate::status::Failure;

/// Deals, by their nonces, and parties.
type Deals = HashSet<([u8; 16], Party)>;

/// The keys that a backend and its batches have evaluated, however often they were read from their bytes.
#[derive(Clone, Default)]
pub(crate) struct Used(Arc<Mutex<Deals>>);

impl Used {
    /// Refuses keys that were evaluated.
    pub(crate) fn check(&self, keys: &KeyBundle) -> Result<(), Failure> {
        let (nonce, party) = (keys.nonce(), keys.party());
        if self.set().contains(&(nonce, party)) { Err(PfssError::ReusedBundle { nonce }.into()) } else { Ok(()) }
    }

    /// Notes the keys of a deal as evaluated.
    pub(crate) fn insert(&self, nonce: [u8; 16], party: Party) {
        self.set().insert((nonce, party));
    }

    fn set(&self) -> MutexGuard<'_, Deals> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
