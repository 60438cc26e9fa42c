//! Keys that were checked against a plan, in the order of their use.

use std::{collections::HashSet, vec};

use pfss::{KeyBundle, MatrixTriple, Party, PfssError};

use super::{deal::Key, plan::Plan};
use crate::InferenceError;

/// Keys in the order of their use.
pub(crate) struct KeyQueue(vec::IntoIter<Key>);

impl KeyQueue {
    /// Takes keys that pass [`check`](Self::check).
    pub(crate) fn new(plan: &Plan, party: Party, keys: Vec<Key>) -> Result<Self, InferenceError> {
        Self::check(plan, party, &keys)?;
        Ok(Self(keys.into_iter()))
    }

    /// Checks that keys match `plan` and `party`, and that no deal occurs twice.
    pub(crate) fn check(plan: &Plan, party: Party, keys: &[Key]) -> Result<(), InferenceError> {
        let refused = |reason: String| InferenceError::Keys { reason };
        let expected = plan.deals().count();
        if keys.len() != expected {
            return Err(refused(format!("expected {expected} keys, got {}", keys.len())));
        }
        let mut nonces = HashSet::new();
        for (index, (deal, key)) in plan.deals().zip(keys).enumerate() {
            if key.party() != party {
                return Err(PfssError::WrongParty { expected: party, got: key.party() }.into());
            }
            if !deal.makes(key) {
                return Err(refused(format!("key {index} is for a different gate or element count than the plan")));
            }
            if !nonces.insert(key.nonce()) {
                return Err(PfssError::ReusedBundle { nonce: key.nonce() }.into());
            }
        }
        Ok(())
    }

    pub(crate) fn gate(&mut self) -> Result<KeyBundle, InferenceError> {
        match self.0.next() {
            Some(Key::Gate(bundle)) => Ok(bundle),
            _ => Err(InferenceError::Keys { reason: "expected gate keys next, got a matrix triple or no key".into() }),
        }
    }

    pub(crate) fn matrix(&mut self) -> Result<MatrixTriple, InferenceError> {
        match self.0.next() {
            Some(Key::Matrix(triple)) => Ok(triple),
            _ => Err(InferenceError::Keys { reason: "expected a matrix triple next, got gate keys or no key".into() }),
        }
    }
}
