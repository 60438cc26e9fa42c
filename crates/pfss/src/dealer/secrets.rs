use chacha20::{ChaCha20Rng, rand_core::Rng};
use core_types::Ring;
use zeroize::Zeroizing;

use crate::{Gate, GateKind};

type Row = Zeroizing<Vec<u64>>;

/// The values that the dealer shares besides the tree keys, in the order of the bundle's rows. Nothing here branches
/// on a mask.
pub(super) struct Secrets {
    /// Ring elements to share additively; the input mask `r` first.
    pub(super) words: Vec<Row>,
    /// Bits, one per word, to share by XOR.
    pub(super) bits: Vec<Row>,
}

impl Secrets {
    /// The secrets of `gate` for the masks `r`, with fresh bits `c` where the gate opens a bit.
    pub(super) fn draw(rng: &mut ChaCha20Rng, gate: &Gate, r: &[u64]) -> Self {
        let (ring, f) = (gate.ring(), gate.f());
        let mut secrets = Self { words: vec![Row::new(r.to_vec())], bits: Vec::new() };
        let mut fresh_bits = || Row::new(r.iter().map(|_| u64::from(rng.next_u32() & 1)).collect());
        match gate.kind() {
            GateKind::FullPredicates | GateKind::SignPredicates | GateKind::LowPredicates => {
                if gate.kind() == GateKind::SignPredicates {
                    secrets.bits.push(map(r, |r| ring.msb(r)));
                }
                for _ in 0..gate.masks() {
                    let c = fresh_bits();
                    secrets.words.push(c.clone());
                    secrets.bits.push(c);
                }
            }
            GateKind::Relu => {
                let c = fresh_bits();
                secrets.bits.push(map2(r, &c, |r, c| ring.msb(r) ^ c));
                secrets.words.push(c.clone());
                secrets.words.push(map2(r, &c, |r, c| c * r));
            }
            GateKind::TruncateReduce | GateKind::GapArs => {
                let c = fresh_bits();
                secrets.words.push(map(r, |r| ring.neg(r >> f)));
                secrets.words.push(c.clone());
                if gate.kind() == GateKind::GapArs {
                    // f >= 1, so n - f is at most 63
                    secrets.words.push(map(r, |r| ring.msb(r) << (ring.bits() - f)));
                }
                secrets.bits.push(c);
            }
            GateKind::IntervalPowers => {
                secrets.words.extend((2..=gate.degree()).map(|j| map(r, |r| power_of_negative(ring, r, j))));
            }
        }
        secrets
    }
}

/// `(-r)^j`; `j` is public.
pub(super) fn power_of_negative(ring: Ring, r: u64, j: u32) -> u64 {
    (0..j).fold(1, |power, _| ring.mul(power, ring.neg(r)))
}

fn map(r: &[u64], f: impl Fn(u64) -> u64) -> Row {
    Row::new(r.iter().map(|&r| f(r)).collect())
}

fn map2(r: &[u64], c: &[u64], f: impl Fn(u64, u64) -> u64) -> Row {
    Row::new(r.iter().zip(c).map(|(&r, &c)| f(r, c)).collect())
}
