//! The dealer: draws everything secret and splits it into two bundles.
//!
//! With a uniform `u`, a secret word `v` has the shares `[v]_0 = u` and `[v]_1 = v - u`, and a
//! secret bit `b` the shares `<b>_0 = u` and `<b>_1 = b ^ u`.

mod dealing;
mod draw;
mod hide;
mod secrets;
mod trees;
mod wire;

use core::fmt;

use backend_api::ops::fss::FssOps;
use chacha20::{
    ChaCha20Rng,
    rand_core::{Rng, SeedableRng},
};
use core_types::{Label, PrgKeys, Ring};
use zeroize::Zeroizing;

use crate::{
    Gate, KeyBundle, Party, PfssError,
    bundle::{Header, check_size},
    lanes::LANES,
    tree::KeyTree,
};
use secrets::{Row, Secrets};
use trees::TreeDealer;
pub use wire::{Inputs, Wire};

/// The trusted third party that makes correlated keys for both parties and then leaves.
///
/// Whoever holds a dealer, or the randomness it drew, can open every secret masked by its bundles:
/// it must run apart from both parties, and each bundle must reach its own party only. Its state is
/// wiped when it is dropped.
pub struct Dealer {
    /// Makes everything that is secret.
    rng: ChaCha20Rng,
    /// Makes the public nonces, which therefore say nothing about the secret stream.
    nonces: ChaCha20Rng,
    /// Whether anyone can reproduce the dealer's output.
    ///
    /// Its bundles then protect nothing and may be used again.
    pub(crate) insecure: bool,
}

const _: () = wiped_on_drop::<ChaCha20Rng>();

const fn wiped_on_drop<T: zeroize::ZeroizeOnDrop>() {}

impl Dealer {
    /// A dealer with ChaCha20 seeded by the operating system.
    ///
    /// # Errors
    /// [`PfssError::Entropy`] if the system has no randomness.
    pub fn from_os() -> Result<Self, PfssError> {
        let generator = || -> Result<ChaCha20Rng, PfssError> {
            let mut seed = Zeroizing::new([0; 32]);
            getrandom::fill(&mut seed[..]).map_err(|e| PfssError::Entropy { reason: e.to_string() })?;
            Ok(ChaCha20Rng::from_seed(*seed))
        };
        Ok(Self { rng: generator()?, nonces: generator()?, insecure: false })
    }

    /// A dealer with reproducible output.
    ///
    /// **For tests and benchmarks only:** its bundles protect nothing, and a process accepts them
    /// each time they are dealt.
    #[must_use]
    pub fn insecure_from_seed(seed: u64) -> Self {
        Self::insecure_from_seeds(seed, !seed)
    }

    /// [`insecure_from_seed`](Self::insecure_from_seed) with a separate seed for the nonces.
    ///
    /// **For tests only.** Nonces are public, while everything drawn from `secrets` is not.
    #[must_use]
    pub fn insecure_from_seeds(secrets: u64, nonces: u64) -> Self {
        let (rng, nonces) = (ChaCha20Rng::seed_from_u64(secrets), ChaCha20Rng::seed_from_u64(nonces));
        Self { rng, nonces, insecure: true }
    }

    /// Deals keys for `count` evaluations of `gate`, for party 0 and party 1.
    ///
    /// Each element has a fresh uniform mask.
    ///
    /// # Errors
    /// [`PfssError::Bundle`] with [`BundleError::Overflow`](crate::BundleError::Overflow) if
    /// `count` is 2^32 or more or the bundle does not fit the address space;
    /// [`PfssError::Backend`].
    pub fn deal<Q: FssOps>(&mut self, q: &Q, gate: &Gate, count: usize) -> Result<[KeyBundle; 2], PfssError> {
        self.deal_wired(q, gate, Inputs::Fresh(count)).map(|(bundles, _)| bundles)
    }

    /// Deals keys for inputs masked by the given `masks` instead of fresh ones.
    ///
    /// **For tests only:** a mask that is known, or used twice, protects nothing.
    ///
    /// # Errors
    /// As [`deal`](Self::deal).
    pub fn insecure_deal_for_masks<Q: FssOps>(
        &mut self,
        q: &Q,
        gate: &Gate,
        masks: &[u64],
    ) -> Result<[KeyBundle; 2], PfssError> {
        check_size(gate, masks.len() as u64)?;
        let masks = Row::new(masks.iter().map(|&mask| gate.ring().reduce(mask)).collect());
        self.deal_masked(q, gate, &[masks], false).map(|(bundles, _)| bundles)
    }

    /// Deals keys for inputs under the given masks, and returns the masks of output words.
    ///
    /// The first rows of masks are for the inputs, at most one for each secret of an element. There
    /// are masks of output words if the gate masks them.
    fn deal_masked<Q: FssOps>(
        &mut self,
        q: &Q,
        gate: &Gate,
        masks: &[Row],
        open_inputs: bool,
    ) -> Result<([KeyBundle; 2], Vec<Row>), PfssError> {
        let (nonce, count) = (self.nonce(), masks.first().map_or(0, |masks| masks.len()));
        // The gate draws its secrets; output masks are the last words.
        let secrets = Secrets::draw(&mut self.rng, gate, masks);
        let outputs = gate.output_mask_row().map_or_else(Vec::new, |first| secrets.words[first as usize..].to_vec());
        // Trees hide thresholds and payloads.
        let padded = count.next_multiple_of(LANES as usize);
        let trees = TreeDealer { q, gate, prg: PrgKeys::from_nonce(nonce), count };
        let mut keys = trees.empty();
        for (tree, secret) in gate.trees().into_iter().zip(&secrets.trees) {
            let roots = self.roots(tree, padded);
            trees.add(tree, secret, &roots, &mut keys)?;
        }
        // Words are shared additively.
        for (row, values) in secrets.words.into_iter().enumerate() {
            let ring = gate.word_ring(row);
            // lanes past the last element share zero
            let mut share = self.uniform(ring, padded);
            keys[0].words.extend_from_slice(&share);
            share.iter_mut().for_each(|share| *share = ring.neg(*share));
            share.iter_mut().zip(values.iter()).for_each(|(share, &value)| *share = ring.add(*share, value));
            keys[1].words.extend_from_slice(&share);
        }
        // Bits are shared by XOR.
        for values in secrets.bits {
            for lanes in values.chunks(LANES as usize) {
                let bits = lanes.iter().enumerate().fold(0u32, |word, (lane, &bit)| word | (bit as u32) << lane);
                let share = self.rng.next_u32();
                keys[0].bits.push(share);
                keys[1].bits.push(share ^ bits);
            }
        }
        // Headers are equal apart from the party.
        let mut parties = Party::BOTH.into_iter();
        let bundles = keys.map(|keys| {
            let party = parties.next().unwrap_or(Party::One); // two keys, two parties
            let header = Header { gate: gate.clone(), party, count, nonce, open_inputs };
            KeyBundle { header, keys, reusable: self.insecure }
        });
        Ok((bundles, outputs))
    }

    /// A public name for one deal.
    pub(crate) fn nonce(&mut self) -> [u8; 16] {
        let mut nonce = [0; 16];
        self.nonces.fill_bytes(&mut nonce);
        nonce
    }

    pub(crate) fn uniform(&mut self, ring: Ring, len: usize) -> Zeroizing<Vec<u64>> {
        Zeroizing::new((0..len).map(|_| ring.reduce(self.rng.next_u64())).collect())
    }

    /// Roots of both parties, one row each.
    ///
    /// Truth tables take all bits as randomness, trees reserve two.
    fn roots(&mut self, tree: KeyTree, padded: usize) -> Zeroizing<Vec<Label>> {
        let block = |rng: &mut ChaCha20Rng| u128::from(rng.next_u64()) << 64 | u128::from(rng.next_u64());
        let label = |bits| if tree.rows().root > 0 { Label::new(bits).seed() } else { Label::new(bits) };
        Zeroizing::new((0..2 * padded).map(|_| label(block(&mut self.rng))).collect())
    }
}

impl fmt::Debug for Dealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Dealer(..)")
    }
}
