//! Keys of many runs on weights that are opened once.
//!
//! The dealer makes a key and a mask for each matrix of weights, once, and for each run the other
//! keys of the plan and a triple for each product by weights.

use core::ops::RangeInclusive;
use std::{collections::HashSet, slice, vec};

use backend_api::ops::fss::FssOps;
use pfss::{Dealer, OpenedWeights, Party, PfssError, Ring, Traffic, WeightKey, WeightMask, WeightShape, WeightTriple};
use sha2::{Digest as _, Sha256};

use super::{
    deal::{Deal, Key, SEED},
    plan::{Plan, total},
    queue::{check_count, check_nonce, check_party},
    stored::Keys,
};
use crate::InferenceError;

/// The step of keys and triples of weights.
pub(crate) const WEIGHTS_STEP: &str = "weights";
/// Bytes of the file of a key of weights: a header and a seed.
///
/// Source: the documentation of [`WeightKey::to_bytes`].
const WEIGHT_KEY: u64 = 88 + SEED;
/// Bytes of the nonce of the key of the weights, in a triple of opened weights.
const KEY_NONCE: u64 = 16;

/// A product by a matrix of weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WeightProduct {
    /// The ring of the weights and of the product.
    pub ring: Ring,
    /// Rows of the first factor.
    pub rows: usize,
    /// The shape of the weights.
    pub weights: WeightShape,
}

/// The public plan of runs of a model on a batch, with weights that are opened once.
///
/// [`Model::opened_plan`](crate::Model::opened_plan) makes it;
/// [`Model::plan`](crate::Model::plan) is for runs that open the weights themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenedPlan {
    /// The steps other than products by weights.
    pub(crate) others: Plan,
    /// The products by weights, in the order of the run.
    pub(crate) products: Vec<WeightProduct>,
}

/// One party's keys of a run on opened weights.
#[derive(Debug)]
pub struct OpenedKeys {
    /// Triples of the products by weights, in their order.
    pub products: Vec<WeightTriple>,
    /// All other keys, in the order of their use.
    pub others: Keys,
}

impl WeightProduct {
    /// The fewest and the most bytes of `party`'s file of a triple for one run.
    pub(crate) fn file_bytes(&self, party: Party) -> RangeInclusive<u64> {
        let keys = Deal::Matrix(self.ring, self.weights.product(self.rows)).file_bytes(party);
        *keys.start()..=keys.end() + KEY_NONCE
    }

    /// Checks that `what` number `index` is for these weights.
    fn check(&self, what: &str, index: usize, ring: Ring, shape: WeightShape) -> Result<(), InferenceError> {
        let sizes = [self.weights, shape].map(|WeightShape { inner, cols }| format!("{inner} x {cols}"));
        let rings = [self.ring, ring].map(|ring| format!("{} bits", ring.bits()));
        for [expected, got] in [sizes, rings] {
            if expected != got {
                let reason = format!("{what} {index} of weights: expected {expected}, got {got}");
                return Err(InferenceError::Keys { reason });
            }
        }
        Ok(())
    }
}

impl OpenedPlan {
    /// The products by weights, in the order of the run.
    #[must_use]
    pub fn products(&self) -> &[WeightProduct] {
        &self.products
    }

    /// The steps other than products by weights, with their keys.
    #[must_use]
    pub fn others(&self) -> &Plan {
        &self.others
    }

    /// The files of the keys that open the weights: a step and the bytes of each.
    pub(crate) fn weight_files(&self) -> impl Iterator<Item = (&str, u64)> {
        self.products.iter().map(|_| (WEIGHTS_STEP, WEIGHT_KEY))
    }

    /// `party`'s files of keys of a run: the step and the fewest bytes of each, in their order.
    pub(crate) fn run_files(&self, party: Party) -> impl Iterator<Item = (&str, u64)> {
        let products = self.products.iter().map(move |product| (WEIGHTS_STEP, *product.file_bytes(party).start()));
        products.chain(self.others.files(party))
    }

    /// Deals the keys that open the weights, for party 0 and party 1, and the dealer's masks.
    ///
    /// They are dealt once for a model: the masks serve every later [`deal_run`](Self::deal_run).
    ///
    /// # Errors
    /// As [`Dealer::deal_weights`].
    pub fn deal_weights(&self, dealer: &mut Dealer) -> Result<([Vec<WeightKey>; 2], Vec<WeightMask>), PfssError> {
        let (mut keys, mut masks) = ([Vec::new(), Vec::new()], Vec::new());
        for product in &self.products {
            let (dealt, mask) = dealer.deal_weights(product.ring, product.weights)?;
            keys.iter_mut().zip(dealt).for_each(|(keys, key)| keys.push(key));
            masks.push(mask);
        }
        Ok((keys, masks))
    }

    /// Deals the keys of one run, for party 0 and party 1.
    ///
    /// `progress` is called with each step before it is dealt, first with `weights` for all
    /// products by them.
    ///
    /// # Errors
    /// [`InferenceError::Keys`] if the masks are not of this plan's weights, and as
    /// [`Plan::deal`].
    pub fn deal_run<Q: FssOps>(
        &self,
        q: &Q,
        dealer: &mut Dealer,
        masks: &[WeightMask],
        mut progress: impl FnMut(&str),
    ) -> Result<[OpenedKeys; 2], InferenceError> {
        progress(WEIGHTS_STEP);
        let triples = self.deal_triples(q, dealer, masks)?;
        let ([zero, one], [zero_products, one_products]) = (self.others.deal(q, dealer, progress)?, triples);
        let keys = |products, others: Vec<Key>| OpenedKeys { products, others: others.into() };
        Ok([keys(zero_products, zero), keys(one_products, one)])
    }

    /// Makes the triples of one run, for party 0 and party 1.
    ///
    /// # Errors
    /// [`InferenceError::Keys`] if the masks are not of this plan's weights, and as
    /// [`Dealer::deal_weight_triple`].
    pub(crate) fn deal_triples<Q: FssOps>(
        &self,
        q: &Q,
        dealer: &mut Dealer,
        masks: &[WeightMask],
    ) -> Result<[Vec<WeightTriple>; 2], InferenceError> {
        check_count("masks of weights", self.products.len(), masks.len())?;
        let mut triples = [Vec::new(), Vec::new()];
        for (index, (product, mask)) in self.products.iter().zip(masks).enumerate() {
            product.check("mask", index, mask.ring(), mask.shape())?;
            let dealt = dealer.deal_weight_triple(q, mask, product.rows)?;
            triples.iter_mut().zip(dealt).for_each(|(triples, triple)| triples.push(triple));
        }
        Ok(triples)
    }

    /// A digest of all deals; two parties with different plans refuse each other.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        let mut hasher = Sha256::new();
        hasher.update(b"trefoil inference opened plan v1");
        hasher.update(self.others.digest());
        for WeightProduct { ring, rows, weights: WeightShape { inner, cols } } in &self.products {
            hasher.update(ring.bits().to_le_bytes());
            [rows, inner, cols].iter().for_each(|len| hasher.update((**len as u64).to_le_bytes()));
        }
        hasher.finalize().into()
    }

    /// Bytes that `party`'s triples of a run take in memory, from its beginning on.
    #[must_use]
    pub fn triple_memory_bytes(&self, party: Party) -> u64 {
        let triple = |&WeightProduct { ring, rows, weights }: &WeightProduct| {
            Deal::Matrix(ring, weights.product(rows)).memory_bytes(party)
        };
        self.products.iter().map(triple).sum()
    }

    /// The bytes and rounds of each party to open the weights, exactly.
    #[must_use]
    pub fn opening_traffic(&self) -> Traffic {
        let (bytes, rounds) = total(self.products.iter().map(|product| product.weights.traffic(product.ring)));
        Traffic { sent_bytes: bytes, received_bytes: bytes, rounds }
    }

    /// The bytes and rounds of `party` for a run, exactly: a function of the plan, never of data.
    #[must_use]
    pub fn run_traffic(&self, party: Party) -> Traffic {
        let products = self.products.iter().map(|product| product.weights.product_traffic(product.ring, product.rows));
        let ((bytes, rounds), others) = (total(products), self.others.traffic(party));
        Traffic {
            sent_bytes: others.sent_bytes + bytes,
            received_bytes: others.received_bytes + bytes,
            rounds: others.rounds + rounds,
        }
    }
}

/// Keys that open weights, checked against a plan, in the order of the run.
pub(crate) struct WeightKeys(vec::IntoIter<WeightKey>);

impl WeightKeys {
    /// Takes keys that pass [`check`](Self::check).
    pub(crate) fn new(plan: &OpenedPlan, party: Party, keys: Vec<WeightKey>) -> Result<Self, InferenceError> {
        Self::check(plan, party, &keys)?;
        Ok(Self(keys.into_iter()))
    }

    /// Checks that keys match `plan` and `party`, and that no deal occurs twice.
    pub(crate) fn check(plan: &OpenedPlan, party: Party, keys: &[WeightKey]) -> Result<(), InferenceError> {
        check_count("keys of weights", plan.products.len(), keys.len())?;
        let mut nonces = HashSet::new();
        for (index, (product, key)) in plan.products.iter().zip(keys).enumerate() {
            check_party(party, key.party())?;
            product.check("key", index, key.ring(), key.shape())?;
            check_nonce(&mut nonces, key.nonce())?;
        }
        Ok(())
    }

    pub(crate) fn take(&mut self) -> Result<WeightKey, InferenceError> {
        self.0.next().ok_or_else(|| missing("key"))
    }
}

/// Triples and opened weights, checked against a plan, in the order of the run.
pub(crate) struct WeightProducts<'a> {
    triples: vec::IntoIter<WeightTriple>,
    weights: slice::Iter<'a, OpenedWeights>,
}

impl<'a> WeightProducts<'a> {
    pub(crate) fn new(
        plan: &OpenedPlan,
        party: Party,
        triples: Vec<WeightTriple>,
        weights: &'a [OpenedWeights],
    ) -> Result<Self, InferenceError> {
        check_opened(plan, party, weights)?;
        check_triples(plan, party, &triples, weights.iter().map(OpenedWeights::nonce))?;
        Ok(Self { triples: triples.into_iter(), weights: weights.iter() })
    }

    pub(crate) fn take(&mut self) -> Result<(WeightTriple, &'a OpenedWeights), InferenceError> {
        self.triples.next().zip(self.weights.next()).ok_or_else(|| missing("triple"))
    }
}

/// Checks that opened weights match `plan` and `party`.
pub(crate) fn check_opened(plan: &OpenedPlan, party: Party, weights: &[OpenedWeights]) -> Result<(), InferenceError> {
    check_count("opened weights", plan.products.len(), weights.len())?;
    for (index, (product, opened)) in plan.products.iter().zip(weights).enumerate() {
        check_party(party, opened.party())?;
        product.check("opened matrix", index, opened.ring(), opened.shape())?;
    }
    Ok(())
}

/// Checks that triples match `plan`, `party` and the nonces of the keys of the weights.
pub(crate) fn check_triples(
    plan: &OpenedPlan,
    party: Party,
    triples: &[WeightTriple],
    key_nonces: impl IntoIterator<Item = [u8; 16]>,
) -> Result<(), InferenceError> {
    check_count("triples of weights", plan.products.len(), triples.len())?;
    let (mut nonces, pairs) = (HashSet::new(), triples.iter().zip(key_nonces));
    for (index, (product, (triple, key_nonce))) in plan.products.iter().zip(pairs).enumerate() {
        check_party(party, triple.party())?;
        product.check("triple", index, triple.ring(), triple.weights())?;
        if triple.rows() != product.rows {
            let (expected, got) = (product.rows, triple.rows());
            let reason = format!("triple {index} of weights: expected {expected} rows, got {got}");
            return Err(InferenceError::Keys { reason });
        }
        if triple.key_nonce() != key_nonce {
            return Err(PfssError::OtherWeights { expected: triple.key_nonce(), got: key_nonce }.into());
        }
        check_nonce(&mut nonces, triple.nonce())?;
    }
    Ok(())
}

fn missing(what: &str) -> InferenceError {
    InferenceError::Keys { reason: format!("expected a {what} of weights next, got none") }
}
