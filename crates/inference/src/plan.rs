//! The keys of a model on a batch, in the order in which its operations take them.

use std::{collections::HashSet, vec};

use backend_api::ops::fss::FssOps;
use pfss::{Dealer, Gate, KeyBundle, MatrixShape, MatrixTriple, Party, PfssError, Traffic};
use sha2::{Digest as _, Sha256};

use crate::{Call, Engine, InferenceError, Model};

/// The ring of all values.
pub(crate) const RING_BITS: u32 = 64;

/// Keys to be made for one batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deal {
    /// Keys of a gate for a number of elements.
    Gate(Gate, usize),
    /// A triple for products of matrices.
    Matrix(MatrixShape),
}

/// One party's keys for one batch.
#[derive(Debug)]
pub enum Key {
    /// Keys of a gate.
    Gate(KeyBundle),
    /// A triple for products of matrices.
    Matrix(MatrixTriple),
}

/// A step of a model that needs keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its name within the model.
    pub name: String,
    /// Its keys.
    pub deals: Vec<Deal>,
}

/// Everything public about a run of a model on a batch: the steps with their keys, hence bytes and rounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    title: String,
    steps: Vec<Step>,
    outputs: usize,
}

impl Deal {
    /// Makes the keys, for party 0 and party 1.
    ///
    /// # Errors
    /// As [`Dealer::deal`] and [`Dealer::deal_matrix`].
    pub fn make<Q: FssOps>(&self, q: &Q, dealer: &mut Dealer) -> Result<[Key; 2], PfssError> {
        Ok(match self {
            Self::Gate(gate, count) => dealer.deal(q, gate, *count)?.map(Key::Gate),
            Self::Matrix(shape) => dealer.deal_matrix(*shape)?.map(Key::Matrix),
        })
    }

    /// Bytes that each party sends, step digests included, and rounds.
    #[must_use]
    pub fn traffic(&self) -> (u64, u64) {
        match self {
            Self::Gate(gate, count) => gate.traffic(*count),
            Self::Matrix(shape) => shape.traffic(),
        }
    }

    /// Whether `key` is what this deal makes.
    #[must_use]
    pub fn makes(&self, key: &Key) -> bool {
        match (self, key) {
            (Self::Gate(gate, count), Key::Gate(bundle)) => bundle.gate() == gate && bundle.count() == *count,
            (Self::Matrix(shape), Key::Matrix(triple)) => triple.shape() == *shape,
            _ => false,
        }
    }

    fn hash(&self, hasher: &mut Sha256) {
        match self {
            Self::Gate(gate, count) => {
                hasher.update(b"gate");
                hasher.update(gate.digest());
                hasher.update((*count as u64).to_le_bytes());
            }
            Self::Matrix(MatrixShape { batch, rows, inner, cols }) => {
                hasher.update(b"matrix");
                [batch, rows, inner, cols].iter().for_each(|len| hasher.update((**len as u64).to_le_bytes()));
            }
        }
    }
}

impl Key {
    /// The party whose key this is.
    #[must_use]
    pub fn party(&self) -> Party {
        match self {
            Self::Gate(bundle) => bundle.party(),
            Self::Matrix(triple) => triple.party(),
        }
    }

    /// The nonce of the deal.
    #[must_use]
    pub fn nonce(&self) -> [u8; 16] {
        match self {
            Self::Gate(bundle) => bundle.nonce(),
            Self::Matrix(triple) => triple.nonce(),
        }
    }
}

impl Plan {
    /// Runs `model` to see what it needs.
    pub(crate) fn of(model: &Model) -> Result<Self, InferenceError> {
        let mut planner = Planner { steps: Vec::new() };
        let input = model.input(&vec![0; model.count() * model.input_len()])?;
        let outputs = model.run(&mut planner, input)?.words.len();
        let title = format!("{} for {} inputs", model.architecture().name(), model.count());
        Ok(Self { title, steps: planner.steps, outputs })
    }

    /// The steps in the order of their run.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Every deal in the order of its use.
    pub fn deals(&self) -> impl Iterator<Item = &Deal> {
        self.steps.iter().flat_map(|step| &step.deals)
    }

    /// Makes all keys, for party 0 and party 1. `progress` hears of each step before it is dealt.
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
        let (bytes, rounds) =
            self.deals().map(Deal::traffic).fold((0, 0), |sum, deal| (sum.0 + deal.0, sum.1 + deal.1));
        // The server gives its shares of the logits, the client its step digest.
        let (digest, shares) = (16, 16 + 8 * self.outputs as u64);
        let (sent, received) = if party == Party::One { (shares, digest) } else { (digest, shares) };
        Traffic { sent_bytes: bytes + sent, received_bytes: bytes + received, rounds: rounds + 1 }
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

/// Keys in the order of their use.
pub(crate) struct Keys(vec::IntoIter<Key>);

impl Keys {
    /// Takes keys that pass [`check`](Self::check).
    pub(crate) fn new(plan: &Plan, party: Party, keys: Vec<Key>) -> Result<Self, InferenceError> {
        Self::check(plan, party, &keys)?;
        Ok(Self(keys.into_iter()))
    }

    /// Whether keys are those of `plan`, of `party`, each of a deal of its own.
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
                return Err(refused(format!("key {index} is for another gate or count")));
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
            _ => Err(InferenceError::Keys { reason: "the model asks for keys of a gate that are not next".into() }),
        }
    }

    pub(crate) fn matrix(&mut self) -> Result<MatrixTriple, InferenceError> {
        match self.0.next() {
            Some(Key::Matrix(triple)) => Ok(triple),
            _ => Err(InferenceError::Keys { reason: "the model asks for a matrix triple that is not next".into() }),
        }
    }
}

/// Runs a model on zeros to record its steps.
struct Planner {
    steps: Vec<Step>,
}

impl Engine for Planner {
    fn constant(&self, _: u64) -> u64 {
        0
    }

    fn parameter(&self, _: &str, len: usize) -> Result<Vec<u64>, InferenceError> {
        Ok(vec![0; len])
    }

    fn call(&mut self, step: &str, call: &Call<'_>) -> Result<Vec<u64>, InferenceError> {
        self.steps.push(Step { name: step.to_owned(), deals: call.deals()? });
        Ok(vec![0; call.len()])
    }
}
