//! The keys of a model on a batch, in the order in which its operations take them.

use backend_api::ops::fss::FssOps;
use pfss::{Dealer, Party, PfssError, Traffic};
use sha2::{Digest as _, Sha256};

use super::deal::{Deal, Key};

/// A step of a model that needs keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its name within the model.
    pub name: String,
    /// Its keys.
    pub deals: Vec<Deal>,
}

/// The public plan of a run of a model on a batch.
///
/// It has the steps with their keys, and so bytes and rounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The model and the size of the batch in words.
    pub(crate) title: String,
    pub(crate) steps: Vec<Step>,
    /// Elements of the result.
    pub(crate) outputs: usize,
}

impl Step {
    /// Bytes that `party`'s keys of the step take in memory together.
    #[must_use]
    pub fn memory_bytes(&self, party: Party) -> u64 {
        self.deals.iter().map(|deal| deal.memory_bytes(party)).sum()
    }
}

impl Plan {
    /// The steps in the order of their run.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Every deal in the order of its use.
    pub fn deals(&self) -> impl Iterator<Item = &Deal> {
        self.steps.iter().flat_map(|step| &step.deals)
    }

    /// `party`'s files of keys: the step and the fewest bytes of each, in the order of their use.
    pub(crate) fn files(&self, party: Party) -> impl Iterator<Item = (&str, u64)> {
        self.steps
            .iter()
            .flat_map(move |step| step.deals.iter().map(move |deal| (&*step.name, *deal.file_bytes(party).start())))
    }

    /// Deals all keys, for party 0 and party 1.
    ///
    /// `progress` is called with each step before it is dealt.
    ///
    /// # Errors
    /// As [`Deal::make`].
    pub fn deal<Q: FssOps>(
        &self,
        q: &Q,
        dealer: &mut Dealer,
        mut progress: impl FnMut(&str),
    ) -> Result<[Vec<Key>; 2], PfssError> {
        let mut all = [Vec::new(), Vec::new()];
        for step in &self.steps {
            progress(&step.name);
            for deal in &step.deals {
                all.iter_mut().zip(deal.make(q, dealer)?).for_each(|(keys, key)| keys.push(key));
            }
        }
        Ok(all)
    }

    /// The bytes and rounds of `party`, exactly: a function of the plan, never of data.
    #[must_use]
    pub fn traffic(&self, party: Party) -> Traffic {
        let (bytes, rounds) = total(self.deals().map(Deal::traffic));
        // The server gives its shares of the logits, the client its step digest.
        let (digest, shares) = (16, 16 + 8 * self.outputs as u64);
        let (sent, received) = if party == Party::One { (shares, digest) } else { (digest, shares) };
        Traffic { sent_bytes: bytes + sent, received_bytes: bytes + received, rounds: rounds + 1 }
    }

    /// The most bytes of `party`'s keys that a run from a folder has in memory at once.
    ///
    /// They are the keys of the gate that has most, since each gate reads its keys and wipes them;
    /// the two look-ups of a function by table count together. On top of it come shares of values,
    /// the expanded masks of a product of matrices, a copy of a triple while it is read, and the
    /// bytes of files of at most 64 KiB, which are read at the beginning.
    #[must_use]
    pub fn most_memory_bytes(&self, party: Party) -> u64 {
        most_memory_bytes(self.deals(), party)
    }

    /// A digest of the title and all deals; two parties with different plans refuse each other.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        let mut hasher = Sha256::new();
        hasher.update(b"trefoil inference plan v1");
        hasher.update(self.title.as_bytes());
        for step in &self.steps {
            hasher.update((step.name.len() as u64).to_le_bytes());
            hasher.update(step.name.as_bytes());
            step.deals.iter().for_each(|deal| deal.hash(&mut hasher));
        }
        hasher.finalize().into()
    }
}

/// The most bytes of `party`'s keys of any of these deals, and of those alongside it.
pub(crate) fn most_memory_bytes<'a>(deals: impl IntoIterator<Item = &'a Deal>, party: Party) -> u64 {
    let (mut most, mut gate) = (0, 0);
    for deal in deals {
        gate = deal.memory_bytes(party) + if deal.is_alongside() { gate } else { 0 };
        most = most.max(gate);
    }
    most
}

/// The sums of bytes and rounds.
pub(super) fn total(traffic: impl Iterator<Item = (u64, u64)>) -> (u64, u64) {
    traffic.fold((0, 0), |sum, part| (sum.0 + part.0, sum.1 + part.1))
}
