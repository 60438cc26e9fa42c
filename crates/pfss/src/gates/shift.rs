//! Shifts that are exact for every input of the ring.

use core_types::Ring;
use zeroize::Zeroizing;

use super::{
    BitShares, Pending,
    pending::{Opened, Rest},
    tree::check_inputs,
    truncate::C_ROW,
};
use crate::{GateKind, KeyBundle, PfssError, Walk, convert};

type Row = Zeroizing<Vec<u64>>;

/// Trees: the key of the low `f` bits, then that of the low `n` or `n - 1` bits.
const LOW_TREE: usize = 0;
const HIGH_TREE: usize = 1;
/// Bit rows: the carry, then the wrap, borrow or sign.
const CARRY: usize = 0;
const SECOND: usize = 1;

/// Rows of the words section behind `[-(r >> f)]` and the mask `[c]` of the carry: the mask `[c']` of the second bit
/// and, for the signed shift, `[g]` and `[g c']` with `g = msb(r)`.
const C_SECOND_ROW: usize = 3;
const G_ROW: usize = 4;
const G_C_ROW: usize = 5;

impl KeyBundle {
    /// The first step of `floor(x / 2^f)` for unsigned `x`, exact for every `x`, from the masked inputs `x_hat`.
    ///
    /// With `wrap = 1[x_hat < r]`, the result is `(x_hat >> f) - (r >> f) - carry + 2^(n-f) wrap` (SIGMA, PETS 2024,
    /// section 4.2). Both bits are opened in one round.
    ///
    /// # Errors
    /// As [`eval_relu`](Self::eval_relu).
    pub fn eval_lrs<Q: Walk>(self, q: &Q, x_hat: &[u64]) -> Result<Pending, PfssError> {
        self.check_use(GateKind::Lrs, x_hat.len())?;
        let (ring, x_hat) = (self.gate().ring(), check_inputs(&self, x_hat)?);
        let bits = self.shift_bits(q, &x_hat, ring.bits())?;
        let rest = Unsigned {
            ring,
            f: self.gate().f(),
            base: self.shifted_base(ring, &x_hat),
            c: self.word_copy(C_ROW),
            c_wrap: self.word_copy(C_SECOND_ROW),
        };
        Ok(Pending::new(&self, &bits, 0, rest))
    }

    /// The first step of `floor(x / 2^f)` for signed `x`, exact for every `x`, from the masked inputs `x_hat`.
    ///
    /// The unsigned shift is off by `2^(n-f) msb(x)`, so the result is `(x_hat >> f) - (r >> f) - carry + 2^(n-f) δ`
    /// with `δ = wrap - msb(x)`. With `g = msb(r)`, `h = msb(x_hat)` and `b` the borrow of the low `n - 1` bits,
    /// `δ = g b` if `h = 0` and `δ = -(1 - g)(1 - b)` if `h = 1`. As `h` is public and the dealer knows `g`, both cases
    /// are linear in the opened bit `b ^ c'`: one round, where the composition of SIGMA (PETS 2024) takes three.
    ///
    /// # Errors
    /// As [`eval_relu`](Self::eval_relu).
    pub fn eval_ars<Q: Walk>(self, q: &Q, x_hat: &[u64]) -> Result<Pending, PfssError> {
        self.check_use(GateKind::Ars, x_hat.len())?;
        let (ring, x_hat) = (self.gate().ring(), check_inputs(&self, x_hat)?);
        let bits = self.shift_bits(q, &x_hat, ring.bits() - 1)?;
        let rest = Signed {
            ring,
            f: self.gate().f(),
            base: self.shifted_base(ring, &x_hat),
            c: self.word_copy(C_ROW),
            c_borrow: self.word_copy(C_SECOND_ROW),
            g: self.word_copy(G_ROW),
            g_c: self.word_copy(G_C_ROW),
            x_hat,
        };
        Ok(Pending::new(&self, &bits, 0, rest))
    }

    /// The first step of `floor(max(x, 0) / 2^f)`, `x` read as signed, exact for every `x`, from the masked inputs.
    ///
    /// On `x >= 0` the wrap is `(1 - msb(x_hat)) msb(r)` (SIGMA, PETS 2024, lemma 2), so with `d = 1[x >= 0]` the
    /// result is `d ((x_hat >> f) - (r >> f) - carry + 2^(n-f) (1 - msb(x_hat)) msb(r))`. Sign and carry are opened in
    /// one round, and the dealer shares the products of the sign's mask with all other terms.
    ///
    /// # Errors
    /// As [`eval_relu`](Self::eval_relu).
    pub fn eval_relu_ars<Q: Walk>(self, q: &Q, x_hat: &[u64]) -> Result<Pending, PfssError> {
        self.check_use(GateKind::ReluArs, x_hat.len())?;
        let (ring, x_hat) = (self.gate().ring(), check_inputs(&self, x_hat)?);
        let mut bits = self.carry_bits(q, LOW_TREE, self.gate().f(), &x_hat)?;
        bits.extend(self.sign_bits(q, HIGH_TREE, &x_hat)?);
        let bits = BitShares::new(self.party(), self.count(), bits);
        let rest =
            ReluShift { ring, f: self.gate().f(), rows: core::array::from_fn(|row| self.word_copy(row + 1)), x_hat };
        Ok(Pending::new(&self, &bits, 0, rest))
    }

    /// XOR shares of the carry out of the low `f` bits and, in a second row, out of the low `k`.
    fn shift_bits<Q: Walk>(&self, q: &Q, x_hat: &[u64], k: u32) -> Result<BitShares, PfssError> {
        let mut bits = self.carry_bits(q, LOW_TREE, self.gate().f(), x_hat)?;
        bits.extend(self.carry_bits(q, HIGH_TREE, k, x_hat)?);
        Ok(BitShares::new(self.party(), self.count(), bits))
    }
}

/// `base - carry + 2^(n-f) wrap`.
struct Unsigned {
    ring: Ring,
    f: u32,
    base: Row,
    c: Row,
    c_wrap: Row,
}

impl Rest<Vec<u64>> for Unsigned {
    fn finish(self: Box<Self>, opened: &Opened) -> Vec<u64> {
        let ring = self.ring;
        opened.map(|e| {
            let carry = convert::bit(ring, opened.party, opened.bit(CARRY, e), self.c[e]);
            let wrap = convert::bit(ring, opened.party, opened.bit(SECOND, e), self.c_wrap[e]);
            ring.add(ring.sub(self.base[e], carry), wrap << (ring.bits() - self.f)) // 1 <= f < n
        })
    }
}

/// `base - carry + 2^(n-f) δ`.
struct Signed {
    ring: Ring,
    f: u32,
    x_hat: Vec<u64>,
    base: Row,
    c: Row,
    c_borrow: Row,
    g: Row,
    g_c: Row,
}

impl Rest<Vec<u64>> for Signed {
    fn finish(self: Box<Self>, opened: &Opened) -> Vec<u64> {
        let (ring, party) = (self.ring, opened.party);
        opened.map(|e| {
            let carry = convert::bit(ring, party, opened.bit(CARRY, e), self.c[e]);
            let w = opened.bit(SECOND, e);
            let borrow = convert::bit(ring, party, w, self.c_borrow[e]);
            let g_borrow = convert::bit_times_word(ring, w, self.g[e], self.g_c[e]);
            let delta = match ring.msb(self.x_hat[e]) {
                0 => g_borrow,
                _ => self.g[e].wrapping_add(borrow).wrapping_sub(g_borrow).wrapping_sub(party.public(1)),
            };
            ring.add(ring.sub(self.base[e], carry), delta << (ring.bits() - self.f)) // 1 <= f < n
        })
    }
}

/// `d ((x_hat >> f) - ρ - carry + 2^(n-f) (1 - msb(x_hat)) g)` with `ρ = r >> f` and `g = msb(r)`.
struct ReluShift {
    ring: Ring,
    f: u32,
    x_hat: Vec<u64>,
    /// `[c]`, `[c']`, `[ρ]`, `[g]`, `[c c']`, `[ρ c']`, `[g c']`, where `c` masks the carry and `c'` the sign.
    rows: [Row; 7],
}

impl Rest<Vec<u64>> for ReluShift {
    fn finish(self: Box<Self>, opened: &Opened) -> Vec<u64> {
        let (ring, party) = (self.ring, opened.party);
        let [c_row, c_sign, rho, g, c_c, rho_c, g_c] = &self.rows;
        opened.map(|e| {
            let (carry, sign, x_hat) = (opened.bit(CARRY, e), opened.bit(SECOND, e), self.x_hat[e]);
            let times_sign = |value, product| convert::bit_times_word(ring, sign, value, product);
            let d = convert::bit(ring, party, sign, c_sign[e]);
            let d_c = times_sign(c_row[e], c_c[e]);
            // carry = w + (1 - 2w) c, so d carry is d c or d - d c
            let d_carry = if carry == 0 { d_c } else { ring.sub(d, d_c) };
            let wrap = times_sign(g[e], g_c[e]) << (ring.bits() - self.f); // 1 <= f < n
            let wrap = if ring.msb(x_hat) == 0 { wrap } else { 0 };
            let shifted = ring.sub(d.wrapping_mul(x_hat >> self.f), times_sign(rho[e], rho_c[e]));
            ring.add(ring.sub(shifted, d_carry), wrap)
        })
    }
}
