//! The dealer: draws everything secret and splits it into two bundles.
//!
//! With a uniform `u`, a secret word `v` has the shares `[v]_0 = u` and `[v]_1 = v - u`, and a
//! secret bit `b` the shares `<b>_0 = u` and `<b>_1 = b ^ u`. Every `u` of a bundle, and party 0's
//! roots, come from one seed.

mod dealing;
mod derive;
mod draw;
mod hide;
mod secrets;
mod trees;
mod wire;

use core::fmt;
use std::sync::Arc;

use backend_api::ops::fss::FssOps;
use chacha20::{
    ChaCha20Rng,
    rand_core::{Rng, SeedableRng},
};
use core_types::{Label, PrgKeys, Ring};
use zeroize::Zeroizing;

use crate::{
    Gate, KeyBundle, Party, PfssError,
    bundle::{BundleKeys, Header, check_size},
    lanes::LANES,
    secret::section::Section,
    secret::seed::{Seed, and_wipe_stack},
};
pub use derive::DealerSeed;
use draw::uniform;
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
        debug_assert_eq!(secrets.words.len() as u64, gate.word_rows(), "a row for each word");
        debug_assert_eq!(secrets.bits.len() as u64, gate.bit_rows(), "a row for each bit");
        debug_assert_eq!(secrets.trees.len(), gate.trees().len(), "a secret for each tree");
        let outputs = gate.output_mask_row().map_or_else(Vec::new, |first| secrets.words[first as usize..].to_vec());
        // Party 0's roots and shares are uniform.
        let (seed, padded) = (self.seed(), count.next_multiple_of(LANES as usize));
        let trees = TreeDealer { q, gate, prg: PrgKeys::from_nonce(nonce), count };
        let [mut zero, mut one] = [(); 2].map(|()| BundleKeys::default());
        zero.expand(&seed, gate, padded);
        // Trees hide thresholds and payloads.
        let mut sections = trees.sections();
        one.roots = Section::zeroed(zero.roots.len());
        let mut filled = 0;
        for (index, (tree, secret)) in gate.trees().into_iter().zip(&secrets.trees).enumerate() {
            let len = tree.rows().root as usize * padded;
            let roots = self.roots(&zero.roots[filled..][..len], padded);
            trees.fill(index, secret, &roots, &mut sections)?;
            one.roots[filled..][..len].copy_from_slice(&roots[padded..][..len]);
            filled += len;
        }
        [zero.leaf, one.leaf] = sections.leaves;
        zero.common = Arc::new(sections.common);
        one.common = Arc::clone(&zero.common);
        // Words are shared additively; lanes past the last element share zero.
        one.words = Section::zeroed(zero.words.len());
        let width = padded.max(LANES as usize);
        let rows = one.words.chunks_mut(width).zip(zero.words.chunks(width));
        for (row, ((theirs, shares), values)) in rows.zip(secrets.words).enumerate() {
            let ring = gate.word_ring(row);
            and_wipe_stack(|| {
                theirs.iter_mut().zip(shares).for_each(|(word, &share)| *word = ring.neg(share));
                theirs.iter_mut().zip(values.iter()).for_each(|(word, &value)| *word = ring.add(*word, value));
            });
        }
        // Bits are shared by XOR.
        let packed = padded / LANES as usize;
        one.bits = Section::zeroed(zero.bits.len());
        let rows = one.bits.chunks_mut(packed.max(1)).zip(zero.bits.chunks(packed.max(1)));
        for ((theirs, shares), values) in rows.zip(secrets.bits) {
            let values = values.chunks(LANES as usize).map(pack);
            theirs.iter_mut().zip(shares).zip(values).for_each(|((word, &share), bits)| *word = share ^ bits);
        }
        // Headers are equal apart from the party.
        let bundle = |party, keys, seed| {
            let header = Header { gate: gate.clone(), party, count, nonce, open_inputs };
            KeyBundle { header, keys, seed, first: 0, reusable: self.insecure }
        };
        let seed = gate.is_seeded(Party::Zero).then_some(seed);
        Ok(([bundle(Party::Zero, zero, seed), bundle(Party::One, one, None)], outputs))
    }

    /// A public name for one deal.
    pub(crate) fn nonce(&mut self) -> [u8; 16] {
        let mut nonce = [0; 16];
        self.nonces.fill_bytes(&mut nonce);
        nonce
    }

    /// A fresh seed for one party's uniform shares.
    pub(crate) fn seed(&mut self) -> Seed {
        let mut seed = Seed::default();
        and_wipe_stack(|| self.rng.fill_bytes(seed.bytes_mut()));
        seed
    }

    /// Uniform words of `ring`.
    pub(crate) fn uniform(&mut self, ring: Ring, len: usize) -> Row {
        uniform(&mut self.rng, ring, len)
    }

    /// Roots of both parties for one tree, a row of `padded` each, from party 0's in `zero`.
    ///
    /// `zero` is empty for a truth table, which takes all bits as randomness; trees reserve two.
    fn roots(&mut self, zero: &[Label], padded: usize) -> Zeroizing<Vec<Label>> {
        let is_table = zero.is_empty();
        let mut roots = Zeroizing::new(vec![Label::default(); 2 * padded]);
        let (given, fresh) = roots.split_at_mut(zero.len());
        given.copy_from_slice(zero);
        self.rng.fill_bytes(bytemuck::cast_slice_mut(fresh));
        for root in fresh {
            // the first words of the generator are the high ones
            let label = Label::new(u128::from_le(root.bits()).rotate_left(64));
            *root = if is_table { label } else { label.seed() };
        }
        roots
    }
}

/// Up to 32 bits in one word, the first in the lowest place.
fn pack(bits: &[u64]) -> u32 {
    bits.iter().enumerate().fold(0, |word, (lane, &bit)| word | (bit as u32) << lane)
}

impl fmt::Debug for Dealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Dealer(..)")
    }
}
