//! Shifts that are exact for every input of the ring.
//!
//! With `q = (x_hat >> f) - (r >> f) - 1[x_hat mod 2^f < r mod 2^f]` and `wrap = 1[x_hat < r]`:
//! - unsigned, `x >> f = q + 2^(n-f) wrap`,
//! - signed, `x >> f = q + 2^(n-f) (wrap - msb(x))`,
//! - `max(x, 0) >> f = d (q + 2^(n-f) (1 - msb(x_hat)) msb(r))` with `d = 1[x >= 0]`
//!
//! (SIGMA, PETS 2024, section 4.2 and lemma 2).

use core_types::{
    Ring,
    params::share::{Threshold, WordTerm},
};

use super::{
    relu::sign,
    shares::sums::BundleSums,
    tasks::compare::Compare,
    truncate::{CARRY, SHIFTED, carry, lower_half},
};
use crate::{
    Gate,
    gate::kinds::shift::{Ars, C_SECOND_ROW, G_C_ROW, G_ROW, Lrs, ReluArs},
};

/// The row of opened bits after the carry: the wrap, borrow or sign.
const SECOND: u32 = 1;

impl Lrs {
    /// The plan of `floor(x / 2^f)` for unsigned `x`, which opens carry and wrap in one round.
    pub(super) fn plan(&self, gate: &Gate) -> Compare {
        let ring = gate.ring();
        let wrap = WordTerm::bit(SECOND, C_SECOND_ROW).times(top(ring, self.shift));
        let sums = BundleSums::new(ring, ring).of_shifted(0, self.shift).sum(SHIFTED.into_iter().chain([wrap]));
        Compare::new(gate, vec![carry(ring, self.shift), carry(ring, ring.bits())], sums)
    }
}

impl Ars {
    /// The plan of `floor(x / 2^f)` for signed `x`.
    ///
    /// The result is `q + 2^(n-f) δ` with `δ = wrap - msb(x)`. With `g = msb(r)`,
    /// `h = msb(x_hat)` and `b` the borrow of the low `n - 1` bits, `δ = g b` if `h = 0` and
    /// `δ = -(1 - g)(1 - b)` if `h = 1`. As `h` is public and the dealer has `g`, both cases are
    /// linear in the opened bit `b ^ c'`: one round, whereas composing SIGMA's gates (PETS 2024)
    /// takes three.
    pub(super) fn plan(&self, gate: &Gate) -> Compare {
        let ring = gate.ring();
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
        let delta = delta.map(|term| term.times(top(ring, self.shift)));
        let sums = BundleSums::new(ring, ring).of_shifted(0, self.shift).sum(SHIFTED.into_iter().chain(delta));
        Compare::new(gate, vec![carry(ring, self.shift), carry(ring, ring.bits() - 1)], sums)
    }
}

impl ReluArs {
    /// The plan of `floor(max(x, 0) / 2^f)`, `x` read as signed.
    ///
    /// On `x >= 0` the wrap is `(1 - msb(x_hat)) msb(r)` (SIGMA, PETS 2024, lemma 2). Sign and
    /// carry are opened in one round, and the dealer shares the products of the sign's mask with
    /// all other terms.
    pub(super) fn plan(&self, gate: &Gate) -> Compare {
        let ring = gate.ring();
        let sums = BundleSums::new(ring, ring).of_shifted(0, self.shift);
        let sums = sums.sum(relu_shift(lower_half(ring), top(ring, self.shift)));
        Compare::new(gate, vec![carry(ring, self.shift), sign(ring)], sums)
    }
}

/// `2^(n-shift)`: the offset that a wrap around the ring adds to a shifted word.
const fn top(ring: Ring, shift: u32) -> u64 {
    1 << (ring.bits() - shift) // 1 <= shift < n
}

/// Terms of `d ((x_hat >> f) - ρ - carry + 2^(n-f) (1 - msb(x_hat)) g)`.
///
/// `ρ = r >> f` and `g = msb(r)`. `c` masks the carry and `c'` the sign `d`. The shifted input is
/// the variable, and `low` is true if the top bit of the input is 0. With the opened carry `w`,
/// `d carry` is `d c` or `d - d c`.
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
