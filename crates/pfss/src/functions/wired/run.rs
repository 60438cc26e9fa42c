//! Dealing and evaluating a function between wires, gate after gate.

use backend_api::ops::fss::FssOps;
use zeroize::Zeroizing;

use super::WiredGates;
use crate::{Channel, Dealer, Inputs, KeyBundle, Party, PfssError, Session, Task, Wire, error::check_len};

/// One party's keys for a function between wires.
///
/// They are one bundle for each of [`WiredGates::gates`], in that order.
#[derive(Debug)]
pub struct WiredBundles(Vec<KeyBundle>);

/// Takes the bundles in the order of [`WiredGates::gates`]; evaluation checks them.
impl From<Vec<KeyBundle>> for WiredBundles {
    fn from(bundles: Vec<KeyBundle>) -> Self {
        Self(bundles)
    }
}

/// The bundles in the order of [`WiredGates::gates`].
impl From<WiredBundles> for Vec<KeyBundle> {
    fn from(bundles: WiredBundles) -> Self {
        bundles.0
    }
}

impl Dealer {
    /// Keys of a function of the values on the wire `input`, for party 0 and party 1.
    ///
    /// Each value of `input` has its own keys. The second result is the wire of the function's
    /// output, with a fresh mask for each value.
    ///
    /// # Errors
    /// [`PfssError::WireRing`] for a wire of another ring than the function's, and as
    /// [`deal`](Self::deal).
    pub fn deal_wired_function<Q: FssOps>(
        &mut self,
        q: &Q,
        gates: &WiredGates,
        input: &Wire,
    ) -> Result<([WiredBundles; 2], Wire), PfssError> {
        if input.ring() != gates.ring {
            return Err(PfssError::WireRing { expected: gates.ring.bits(), got: input.ring().bits() });
        }
        // The first gate takes the wire, as it is or shifted into the gate's ring.
        let lifted = gates.lift.as_ref().map(|lift| Wire::from_masks(lift.gate.ring(), &lift.words(input.masks())));
        let mut keys = [Vec::new(), Vec::new()];
        let mut outputs = Vec::new();
        for (index, gate) in gates.gates().enumerate() {
            let wire = [lifted.as_ref().unwrap_or(input)];
            let inputs = if index == 0 { Inputs::Open(&wire) } else { Inputs::Fresh(input.count()) };
            let (bundles, wires) = self.deal_wired(q, gate, inputs)?;
            for (keys, bundle) in keys.iter_mut().zip(bundles) {
                keys.push(bundle);
            }
            outputs = wires;
        }
        // The last gate has one word, whose mask is reduced as the word is.
        let masks = outputs.first().ok_or(PfssError::BareOutputs)?.masks();
        Ok((keys.map(WiredBundles), Wire::from_masks(gates.ring, masks)))
    }
}

impl WiredGates {
    /// Checks that the bundles are `party`'s, for these gates and `count` elements.
    fn check(&self, party: Party, count: usize, WiredBundles(bundles): &WiredBundles) -> Result<(), PfssError> {
        if !bundles.iter().map(KeyBundle::gate).eq(self.gates()) {
            return Err(PfssError::Program);
        }
        for (index, bundle) in bundles.iter().enumerate() {
            bundle.check_party(party)?;
            check_len("elements", bundle.count(), count)?;
            // only the first gate takes a wire
            if bundle.takes_open_inputs() != (index == 0) {
                return Err(PfssError::Program);
            }
        }
        Ok(())
    }

    /// A digest of the last gate, and of the ring, which the gates may not determine.
    fn opening_digest(&self) -> Result<[u8; 32], PfssError> {
        let last = self.gates().last().ok_or(PfssError::BareOutputs)?;
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"pfss wired function v1");
        hasher.update(&last.digest());
        hasher.update(&self.ring.bits().to_le_bytes());
        Ok(*hasher.finalize().as_bytes())
    }
}

impl<C: Channel> Session<C> {
    /// A function of the values on a wire: takes the open `x_hat` and opens `y_hat`.
    ///
    /// `y_hat` has a word for each word of `x_hat`. Both have `n` bits; bits of `x_hat` above are
    /// ignored. The rounds are given by [`WiredGates::cost`]. Inputs must lie in
    /// [`WiredFn::inputs`](super::WiredFn::inputs). Nothing checks this, as they are secret.
    ///
    /// # Errors
    /// [`PfssError::Program`] for keys of another function, [`PfssError::Length`] for another
    /// number of elements, both before a key is spent, and as [`eval`](Self::eval).
    pub fn wired_function<Q: FssOps>(
        &mut self,
        q: &Q,
        gates: &WiredGates,
        bundles: WiredBundles,
        x_hat: &[u64],
    ) -> Result<Vec<u64>, PfssError> {
        self.check_open()?;
        gates.check(self.party(), x_hat.len(), &bundles)?;
        let shift = gates.function.shift.task();
        let tasks = gates.lift.iter().map(|lift| Task::GapArs(lift.cert)).chain([Task::Suf]).chain(shift);
        // The first gate's input is open; its words are shifted as the masks were.
        let open = match &gates.lift {
            Some(lift) => lift.words(x_hat),
            None => Zeroizing::new(x_hat.to_vec()),
        };
        let mut shares: Option<Zeroizing<Vec<u64>>> = None;
        for (task, bundle) in tasks.zip(bundles.0) {
            let words = match &shares {
                None => self.eval(q, task, bundle.with_open_inputs()?, &open)?.words,
                Some(shares) => self.run(q, task, bundle, shares)?.words,
            };
            shares = Some(Zeroizing::new(words));
        }
        // The shares are masked, and opened modulo 2^n.
        let masked: Vec<u64> = shares.unwrap_or_default().iter().map(|&word| gates.ring.reduce(word)).collect();
        let opening = gates.opening_digest()?;
        self.closing(|session| {
            session.record_digest(&opening, masked.len());
            session.open_words(q, gates.ring, &masked)
        })
    }
}
