//! Shifts that are exact for every input of the ring.

use core_types::params::share::{Threshold, WordTerm};
use zeroize::Zeroizing;

use super::{
    BitShares, Pending,
    sums::Sums,
    tree::check_inputs,
    truncate::{CARRY, SHIFTED, lower_half},
};
use crate::{GateKind, KeyBundle, MaskedKeys, PfssError, Walk};

/// Trees: the key of the low `f` bits, then that of the low `n` or `n - 1` bits.
const LOW_TREE: usize = 0;
const HIGH_TREE: usize = 1;
/// The row of opened bits after the carry: the wrap, borrow or sign.
const SECOND: u32 = 1;

/// Rows of the words section after `[-(r >> f)]` and the mask `[c]` of the carry: the mask `[c']` of the second bit
/// and, for the signed shift, `[g]` and `[g c']` with `g = msb(r)`.
const C_SECOND_ROW: u32 = 3;
const G_ROW: u32 = 4;
const G_C_ROW: u32 = 5;

impl MaskedKeys {
    /// The first step of `floor(x / 2^f)` for unsigned `x`, exact for every `x`, from the masked inputs `x_hat`.
    ///
    /// With `wrap = 1[x_hat < r]`, the result is `(x_hat >> f) - (r >> f) - carry + 2^(n-f) wrap` (SIGMA, PETS 2024,
    /// section 4.2). Both bits are opened in one round.
    ///
    /// # Errors
    /// As [`eval_relu`](Self::eval_relu).
    pub fn eval_lrs<Q: Walk>(self, q: &Q, x_hat: &[u64]) -> Result<Pending, PfssError> {
        let Self(bundle) = self;
        bundle.check_use(GateKind::Lrs, x_hat.len())?;
        let (ring, x_hat) = (bundle.gate().ring(), check_inputs(&bundle, x_hat)?);
        let bits = bundle.shift_bits(q, &x_hat, ring.bits())?;
        let (n, f) = (ring.bits(), bundle.gate().f());
        let wrap = WordTerm::bit(SECOND, C_SECOND_ROW).times(1 << (n - f)); // 1 <= f < n
        let sums = Sums::new(ring, ring).of_shifted(0, f).sum(SHIFTED.into_iter().chain([wrap]));
        Ok(Pending::summed(bundle, &bits, 0, Some(x_hat), sums))
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
        let Self(bundle) = self;
        bundle.check_use(GateKind::Ars, x_hat.len())?;
        let (ring, x_hat) = (bundle.gate().ring(), check_inputs(&bundle, x_hat)?);
        let bits = bundle.shift_bits(q, &x_hat, ring.bits() - 1)?;
        let (n, f) = (ring.bits(), bundle.gate().f());
        let (borrow, g) = (WordTerm::bit(SECOND, C_SECOND_ROW), WordTerm::word(G_ROW));
        let g_borrow = WordTerm::selected(SECOND, G_ROW, G_C_ROW);
        let low = lower_half(ring);
        let high = Threshold { wanted: 0, ..low };
        // g b where h = 0, g + b - g b - 1 where h = 1
        let delta = [
            g_borrow.when(low),
            g.when(high),
            borrow.when(high),
            g_borrow.minus().when(high),
            WordTerm::ONE.minus().when(high),
        ];
        let delta = delta.map(|term| term.times(1 << (n - f))); // 1 <= f < n
        let sums = Sums::new(ring, ring).of_shifted(0, f).sum(SHIFTED.into_iter().chain(delta));
        Ok(Pending::summed(bundle, &bits, 0, Some(x_hat), sums))
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
        let Self(bundle) = self;
        bundle.check_use(GateKind::ReluArs, x_hat.len())?;
        let (ring, x_hat) = (bundle.gate().ring(), check_inputs(&bundle, x_hat)?);
        let carry = Zeroizing::new(bundle.carry_bits(q, LOW_TREE, bundle.gate().f(), &x_hat)?);
        let sign = Zeroizing::new(bundle.sign_bits(q, HIGH_TREE, &x_hat)?);
        let bits = BitShares::new(bundle.party(), bundle.count(), [&carry[..], &sign].concat());
        let (n, f) = (ring.bits(), bundle.gate().f());
        let sums = Sums::new(ring, ring).of_shifted(0, f).sum(relu_shift(lower_half(ring), 1 << (n - f))); // 1 <= f < n
        Ok(Pending::summed(bundle, &bits, 0, Some(x_hat), sums))
    }
}

impl KeyBundle {
    /// XOR shares of the carry out of the low `f` bits and, in a second row, out of the low `k`.
    fn shift_bits<Q: Walk>(&self, q: &Q, x_hat: &[u64], k: u32) -> Result<BitShares, PfssError> {
        let first = Zeroizing::new(self.carry_bits(q, LOW_TREE, self.gate().f(), x_hat)?);
        let second = Zeroizing::new(self.carry_bits(q, HIGH_TREE, k, x_hat)?);
        Ok(BitShares::new(self.party(), self.count(), [&first[..], &second].concat()))
    }
}

/// `d ((x_hat >> f) - ρ - carry + 2^(n-f) (1 - msb(x_hat)) g)` with `ρ = r >> f` and `g = msb(r)`, where `c` masks the carry
/// and `c'` the sign `d`, the shifted input is the variable, and `low` holds where the top bit of the input is 0.
///
/// With the opened carry `w`, `d carry` is `d c` or `d - d c`.
fn relu_shift(low: Threshold, top: u64) -> [WordTerm; 6] {
    // the words section: `[c]`, `[c']`, `[ρ]`, `[g]`, `[c c']`, `[ρ c']`, `[g c']`
    let [c, c_sign, rho, g, c_c, rho_c, g_c] = [1, 2, 3, 4, 5, 6, 7];
    let d = WordTerm::bit(SECOND, c_sign);
    let d_times = |value, product| WordTerm::selected(SECOND, value, product);
    [
        d.power(1),
        d_times(rho, rho_c).minus(),
        d_times(c, c_c).minus().given(CARRY, 0),
        d.minus().given(CARRY, 1),
        d_times(c, c_c).given(CARRY, 1),
        d_times(g, g_c).times(top).when(low),
    ]
}
