//! Keys that were checked against a plan, in the order of their use.

use std::{collections::HashSet, vec};

use pfss::{KeyBundle, MatrixTriple, Party, PfssError};

use super::{
    deal::{Deal, Key},
    plan::Plan,
    stored::{KeySource, Keys, Stored},
};
use crate::InferenceError;

/// Keys in the order of their use.
pub(crate) struct KeyQueue {
    keys: Queued,
    /// Whether each key is used together with the one before it.
    is_alongside: vec::IntoIter<bool>,
    /// Bytes of the keys of the current gate.
    gate_bytes: u64,
    /// The most bytes of keys that were in memory at once.
    most_bytes: u64,
}

enum Queued {
    Memory(vec::IntoIter<Key>),
    Source(Box<dyn KeySource>),
}

/// A check of keys against a plan, one after the other.
pub(crate) struct KeyCheck {
    party: Party,
    /// The nonces of the keys before.
    nonces: HashSet<[u8; 16]>,
}

impl KeyQueue {
    /// Takes keys that match `plan` and `party`; no deal occurs twice.
    pub(crate) fn new(plan: &Plan, party: Party, keys: Keys) -> Result<Self, InferenceError> {
        check_count("keys", plan.deals().count(), keys.len())?;
        let is_alongside: Vec<bool> = plan.deals().map(Deal::is_alongside).collect();
        let (is_alongside, gate_bytes) = (is_alongside.into_iter(), 0);
        match keys.0 {
            Stored::Memory(keys) => {
                let mut check = KeyCheck::new(party);
                plan.deals().zip(&keys).try_for_each(|(deal, key)| check.next(deal, key))?;
                let most_bytes = keys.iter().map(Key::memory_bytes).sum();
                Ok(Self { keys: Queued::Memory(keys.into_iter()), is_alongside, gate_bytes, most_bytes })
            }
            Stored::Source(source) => {
                check_party(party, source.party())?;
                // They were read for the plan of their folder, which may be another.
                let different = plan.deals().zip(source.deals()).position(|(expected, deal)| expected != deal);
                if let Some(index) = different {
                    return Err(other_gate(index));
                }
                Ok(Self { keys: Queued::Source(source), is_alongside, gate_bytes, most_bytes: 0 })
            }
        }
    }

    /// The most bytes of keys that were in memory at once.
    pub(crate) fn most_bytes(&self) -> u64 {
        self.most_bytes
    }

    pub(crate) fn gate(&mut self) -> Result<KeyBundle, InferenceError> {
        match self.next()? {
            Some(Key::Gate(bundle)) => Ok(bundle),
            _ => Err(InferenceError::Keys { reason: "expected gate keys next, got a matrix triple or no key".into() }),
        }
    }

    pub(crate) fn matrix(&mut self) -> Result<MatrixTriple, InferenceError> {
        match self.next()? {
            Some(Key::Matrix(triple)) => Ok(triple),
            _ => Err(InferenceError::Keys { reason: "expected a matrix triple next, got gate keys or no key".into() }),
        }
    }

    fn next(&mut self) -> Result<Option<Key>, InferenceError> {
        match &mut self.keys {
            Queued::Memory(keys) => Ok(keys.next()),
            Queued::Source(source) => {
                // The keys of the gate before were used, and wiped, but for those that are used together.
                if !self.is_alongside.next().unwrap_or_default() {
                    self.gate_bytes = 0;
                }
                let key = source.next_key()?;
                self.gate_bytes += key.as_ref().map_or(0, Key::memory_bytes);
                self.most_bytes = self.most_bytes.max(self.gate_bytes);
                Ok(key)
            }
        }
    }
}

impl KeyCheck {
    pub(crate) fn new(party: Party) -> Self {
        Self { party, nonces: HashSet::new() }
    }

    /// Checks that the next key fits `deal` and the party, and that its nonce is new.
    pub(crate) fn next(&mut self, deal: &Deal, key: &Key) -> Result<(), InferenceError> {
        check_party(self.party, key.party())?;
        if !deal.makes(key) {
            return Err(other_gate(self.nonces.len()));
        }
        check_nonce(&mut self.nonces, key.nonce())?;
        Ok(())
    }
}

pub(super) fn check_party(expected: Party, got: Party) -> Result<(), PfssError> {
    if expected == got { Ok(()) } else { Err(PfssError::WrongParty { expected, got }) }
}

/// Checks that no deal occurs twice.
pub(super) fn check_nonce(nonces: &mut HashSet<[u8; 16]>, nonce: [u8; 16]) -> Result<(), PfssError> {
    if nonces.insert(nonce) { Ok(()) } else { Err(PfssError::ReusedBundle { nonce }) }
}

/// Checks the number of keys or other secrets.
pub(super) fn check_count(what: &str, expected: usize, got: usize) -> Result<(), InferenceError> {
    if expected == got {
        return Ok(());
    }
    Err(InferenceError::Keys { reason: format!("expected {expected} {what}, got {got}") })
}

fn other_gate(index: usize) -> InferenceError {
    let reason = format!("key {index} is for a different gate or element count than the plan");
    InferenceError::Keys { reason }
}
