use chacha20::{ChaCha20Rng, rand_core::Rng};
use core_types::Ring;
use zeroize::Zeroizing;

use super::trees::TreeSecret;
use crate::{Gate, GateKind};

pub(super) type Row = Zeroizing<Vec<u64>>;

/// What the dealer hides in keys and shares, in the order of the bundle's rows. Nothing here branches on a mask.
pub(super) struct Secrets {
    /// Thresholds and payloads of the key trees.
    pub(super) trees: Vec<TreeSecret>,
    /// Ring elements to share additively; the input mask `r` first.
    pub(super) words: Vec<Row>,
    /// Bits, one per word, to share by XOR.
    pub(super) bits: Vec<Row>,
}

impl Secrets {
    /// The secrets of `gate` for the rows of masks `r`, with fresh bits `c` where the gate opens a bit. A secret of an
    /// element without a row of masks gets fresh ones.
    pub(super) fn draw(rng: &mut ChaCha20Rng, gate: &Gate, masks: &[Row]) -> Self {
        let mut secrets = Self::of_gate(rng, gate, masks);
        if gate.masks_outputs() {
            let (ring, count) = (gate.out_ring(), secrets.words[0].len());
            let row = |rng: &mut ChaCha20Rng| (0..count).map(|_| ring.reduce(rng.next_u64())).collect();
            secrets.words.extend((0..gate.output_words()).map(|_| Row::new(row(rng))));
        }
        secrets
    }

    fn of_gate(rng: &mut ChaCha20Rng, gate: &Gate, rows: &[Row]) -> Self {
        let r: &[u64] = rows.first().map_or(&[], |r| r);
        let (ring, f) = (gate.ring(), gate.f());
        let masks = || Row::new(r.to_vec());
        // every tree compares with the mask
        let trees = gate.trees().iter().map(|_| TreeSecret { alphas: masks(), betas: Row::default() }).collect();
        let mut secrets = Self { trees, words: vec![masks()], bits: Vec::new() };
        let mut fresh_bits = || Row::new(r.iter().map(|_| u64::from(rng.next_u32() & 1)).collect());
        let sign_ring = gate.sign_ring();
        let msb = || map(r, |r| sign_ring.msb(r));
        let minus_shifted = || map(r, |r| ring.neg(r >> f));
        match gate.kind() {
            GateKind::FullPredicates | GateKind::SignPredicates | GateKind::LowPredicates => {
                if gate.kind() == GateKind::SignPredicates {
                    secrets.bits.push(msb());
                }
                for _ in 0..gate.masks() {
                    let c = fresh_bits();
                    secrets.words.push(c.clone());
                    secrets.bits.push(c);
                }
            }
            GateKind::Relu => {
                let c = fresh_bits();
                secrets.bits.push(map2(&msb(), &c, |g, c| g ^ c));
                secrets.words.push(c.clone());
                secrets.words.push(map2(r, &c, |r, c| c * r));
            }
            GateKind::TruncateReduce => {
                let c = fresh_bits();
                secrets.words.extend([minus_shifted(), c.clone()]);
                secrets.bits.push(c);
            }
            GateKind::GapArs => {
                let c = fresh_bits();
                // f >= 1, so n - f is at most 63
                let wrap = map(&msb(), |g| g << (ring.bits() - f));
                secrets.words.extend([minus_shifted(), c.clone(), wrap]);
                secrets.bits.push(c);
            }
            GateKind::Lrs => {
                let (c, c_wrap) = (fresh_bits(), fresh_bits());
                secrets.words.extend([minus_shifted(), c.clone(), c_wrap.clone()]);
                secrets.bits.extend([c, c_wrap]);
            }
            GateKind::Ars => {
                let (c, c_borrow, msb) = (fresh_bits(), fresh_bits(), msb());
                let g_c = map2(&msb, &c_borrow, |g, c| g * c);
                secrets.words.extend([minus_shifted(), c.clone(), c_borrow.clone(), msb, g_c]);
                secrets.bits.extend([c, c_borrow]);
            }
            GateKind::ReluArs => {
                let (c, c_sign, msb) = (fresh_bits(), fresh_bits(), msb());
                let shifted = map(r, |r| r >> f);
                let times_c = |row: &Row| map2(row, &c_sign, |value, c| value * c);
                let products = [times_c(&c), times_c(&shifted), times_c(&msb)];
                secrets.bits.extend([c.clone(), map2(&msb, &c_sign, |g, c| g ^ c)]);
                secrets.words.extend([c, c_sign.clone(), shifted, msb]);
                secrets.words.extend(products);
            }
            GateKind::Suf => {
                if let Some(program) = gate.program() {
                    secrets.suf(program, r, &mut fresh_bits);
                }
            }
            GateKind::Lut => {
                let (c, out) = (fresh_bits(), gate.out_ring());
                let rho = Row::new(r.iter().map(|_| out.reduce(rng.next_u64())).collect());
                let e = map(&c, |c| out.sub(1, c << 1));
                let rho_e = map2(&rho, &e, |rho, e| out.mul(rho, e));
                secrets.words.extend([e, rho, rho_e]);
                secrets.bits.push(c);
            }
            GateKind::Product => {
                let fresh = || Row::new(r.iter().map(|_| ring.reduce(rng.next_u64())).collect());
                let b = rows.get(1).cloned().unwrap_or_else(fresh);
                let product = map2(r, &b, |a, b| ring.mul(a, b));
                secrets.words.extend([b, product]);
            }
            GateKind::IntervalPowers => {
                secrets.words.extend((2..=gate.degree()).map(|j| map(r, |r| power_of_negative(ring, r, j))));
                secrets.trees = vec![TreeSecret { alphas: masks(), betas: powers(ring, r, gate.degree() + 1) }];
            }
        }
        secrets
    }
}

/// `(-r)^j` for `0 <= j < words`, `[words][elements]`.
pub(super) fn powers(ring: Ring, r: &[u64], words: u32) -> Row {
    // the full capacity at once, since growing would leave copies behind
    let mut powers = Row::new(Vec::with_capacity(words as usize * r.len()));
    for j in 0..words {
        powers.extend(r.iter().map(|&r| power_of_negative(ring, r, j)));
    }
    powers
}

/// `(-r)^j`; `j` is public.
pub(super) fn power_of_negative(ring: Ring, r: u64, j: u32) -> u64 {
    (0..j).fold(1, |power, _| ring.mul(power, ring.neg(r)))
}

pub(super) fn map(r: &[u64], f: impl Fn(u64) -> u64) -> Row {
    Row::new(r.iter().map(|&r| f(r)).collect())
}

pub(super) fn map2(r: &[u64], c: &[u64], f: impl Fn(u64, u64) -> u64) -> Row {
    Row::new(r.iter().zip(c).map(|(&r, &c)| f(r, c)).collect())
}
