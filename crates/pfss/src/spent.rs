//! The keys that this process has spent.

use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
};

use crate::{Party, PfssError};

/// Nonces of deals, each with the party whose keys are spent.
///
/// It only ever grows, by some 30 bytes for each bundle.
static SPENT: Mutex<BTreeSet<([u8; 16], u8)>> = Mutex::new(BTreeSet::new());

/// Spends the keys of a deal.
///
/// This process uses them once, however often they are read from their bytes.
pub(crate) fn spend(nonce: [u8; 16], party: Party) -> Result<(), PfssError> {
    let mut spent = SPENT.lock().unwrap_or_else(PoisonError::into_inner);
    if spent.insert((nonce, party.number())) { Ok(()) } else { Err(PfssError::ReusedBundle { nonce }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_party_spends_a_deal_once() {
        let nonce = *b"spent in a test.";
        for party in Party::BOTH {
            assert_eq!(spend(nonce, party), Ok(()));
            assert_eq!(spend(nonce, party), Err(PfssError::ReusedBundle { nonce }));
        }
    }
}
