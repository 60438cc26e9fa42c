//! Dealers whose randomness follows from a secret seed and from what they deal.
//!
//! The randomness is BLAKE3, keyed with the seed, of a description of the deal and of the masks of
//! its input: whatever differs between two deals makes them independent.

use core::fmt;

use chacha20::{ChaCha20Rng, rand_core::SeedableRng};
use zeroize::Zeroizing;

use super::{Dealer, Wire};
use crate::{PfssError, secret::seed::and_wipe_stack};

/// A secret from which the same deal can be made more than once.
///
/// It is for dealers that make each party's keys apart: each of them makes both bundles of a deal,
/// and keeps one. Whoever has the seed and the masks of an input has the keys of both parties, so
/// it stays with dealers. It is wiped when dropped.
///
/// ```
/// use pfss::{DealerSeed, Gate, Inputs, Ring, Wire};
///
/// let (q, gate) = (runtime::cpu()?, Gate::relu(8)?);
/// let seed = DealerSeed::from_os()?;
/// let ring = Ring::new(8).ok_or("a ring has 1 to 64 bits")?;
/// let input = Wire::from_masks(ring, &[77]);
/// let deal = |label: &[u8]| {
///     seed.dealer(label, &input).deal_wired(&q, &gate, Inputs::Open(&[&input]))
/// };
/// let ([first, _], _) = deal(b"layer 1")?;
/// let ([_, again], _) = deal(b"layer 1")?;
/// assert_eq!(first.nonce(), again.nonce());
/// let ([other, _], _) = deal(b"layer 2")?;
/// assert_ne!(first.nonce(), other.nonce());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct DealerSeed(Box<Zeroizing<[u8; Self::BYTES]>>);

impl DealerSeed {
    /// Bytes of a seed.
    pub const BYTES: usize = 32;

    /// A seed from the operating system.
    ///
    /// # Errors
    /// [`PfssError::Entropy`] if the system has no randomness.
    pub fn from_os() -> Result<Self, PfssError> {
        let mut seed = Box::new(Zeroizing::new([0; Self::BYTES]));
        getrandom::fill(&mut seed[..]).map_err(|e| PfssError::Entropy { reason: e.to_string() })?;
        Ok(Self(seed))
    }

    /// The seed with these bytes, which must be uniform and secret.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; Self::BYTES]) -> Self {
        let mut seed = Box::new(Zeroizing::new([0; Self::BYTES]));
        seed.copy_from_slice(bytes);
        Self(seed)
    }

    /// The dealer of one deal: the one that `deal` describes, for the values on the wire `input`.
    ///
    /// The description is public, and different for every deal: the number of the deal, the gate
    /// and its parameters. The same seed, description and masks give the same bundles, whose keys a
    /// process accepts once. If a description served several deals, equal nonces would show that
    /// their masks are equal.
    #[must_use]
    pub fn dealer(&self, deal: &[u8], input: &Wire) -> Dealer {
        let mut streams = Zeroizing::new([0; 2 * Self::BYTES]);
        and_wipe_stack(|| {
            let mut hasher = blake3::Hasher::new_keyed(&self.0);
            hasher.update(b"pfss dealer v1");
            // lengths first, so that no two inputs have the same bytes
            for length in [deal.len() as u64, input.count() as u64, input.ring().bits().into()] {
                hasher.update(&length.to_le_bytes());
            }
            hasher.update(deal);
            for mask in input.masks() {
                hasher.update(&mask.to_le_bytes());
            }
            hasher.finalize_xof().fill(&mut streams[..]);
        });
        // Nonces are public, and come from the other half.
        let [rng, nonces] = [0, Self::BYTES].map(|at| {
            let mut seed = Zeroizing::new([0; Self::BYTES]);
            seed.copy_from_slice(&streams[at..at + Self::BYTES]);
            ChaCha20Rng::from_seed(*seed)
        });
        Dealer { rng, nonces, insecure: false }
    }
}

impl fmt::Debug for DealerSeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DealerSeed(..)")
    }
}

#[cfg(test)]
mod tests {
    use core_types::Ring;

    use super::*;
    use crate::{Gate, Inputs};

    /// Both bundles of a ReLU, and the masks of its output.
    fn deal(seed: u8, label: &str, ring: u32, masks: &[u64]) -> ([Vec<u8>; 2], Vec<u64>) {
        let (q, input) = (runtime::cpu().unwrap(), Wire::from_masks(Ring::new(ring).unwrap(), masks));
        let gate = Gate::relu(ring).unwrap().with_masked_outputs().unwrap();
        let mut dealer = DealerSeed::from_bytes(&[seed; 32]).dealer(label.as_bytes(), &input);
        let (bundles, wires) = dealer.deal_wired(&q, &gate, Inputs::Open(&[&input])).unwrap();
        (bundles.map(|bundle| bundle.to_bytes().to_vec()), wires[0].masks().to_vec())
    }

    #[test]
    fn a_deal_repeats_and_whatever_differs_makes_another() {
        let masks = [5, 6, 7, 8, 9, 10, 11, 12];
        let first = deal(1, "a", 8, &masks);
        assert_eq!(first, deal(1, "a", 8, &masks));
        let changed = [5, 6, 7, 8, 9, 10, 11, 13];
        for other in [
            deal(2, "a", 8, &masks),
            deal(1, "b", 8, &masks),
            deal(1, "", 8, &masks),
            deal(1, "a", 9, &masks),
            deal(1, "a", 8, &changed),
            deal(1, "a", 8, &masks[..7]),
        ] {
            assert_ne!(first.0[0], other.0[0]);
            assert_ne!(first.0[1], other.0[1]);
            assert_ne!(first.1, other.1);
        }
    }

    #[test]
    fn two_seeds_of_the_system_differ() {
        let [a, b] = [DealerSeed::from_os().unwrap(), DealerSeed::from_os().unwrap()];
        assert_ne!(a.0[..], b.0[..]);
    }
}
