//! Truncation with one comparison of the bits that are dropped.
//!
//! With `carry = 1[x_hat mod 2^f < r mod 2^f]`, the reduced result is
//! `(x_hat >> f) - (r >> f) - carry` modulo `2^(n-f)`. The signed one of `-2^(n-2) <= x < 2^(n-2)`
//! adds `(1 - msb(x_hat')) 2^(n-f) msb(r) - 2^(n-f-2)` for `x_hat' = x_hat + 2^(n-2)`, which
//! replaces `x_hat` (SIGMA, PETS 2024, section 4.2). That is an identity over the integers, so the
//! signed result may be in a wider ring.
//!
//! The carry is opened under a mask, or comes from a comparison key with the payload 1 (Boyle et
//! al., EUROCRYPT 2021), whose shares are additive: larger keys, but no second round.

use core_types::{
    Ring,
    params::share::{Threshold, WordTerm},
};

use super::{intervals::PayloadPlan, shares::sums::BundleSums, tasks::compare::Compare, walk::comparison::Comparison};
use crate::{
    Gate,
    answers::ComparisonProgram,
    gate::kinds::truncate::{BASE_ROW, C_ROW, GapArs, TruncateReduce},
    tree::cluster::TreePoints,
};

/// The row of the opened carry.
pub(super) const CARRY: u32 = 0;

impl TruncateReduce {
    /// The plan of `floor(x / 2^f)` in the ring of `n - f` bits.
    ///
    /// It is faithful, without the error of one unit that dropping the carry costs.
    pub(super) fn plan(&self, gate: &Gate) -> Compare {
        let sums = BundleSums::new(gate.ring(), gate.out_ring()).of_shifted(0, self.shift).sum(SHIFTED);
        Compare::new(gate, vec![carry(gate.ring(), self.shift)], sums)
    }
}

impl GapArs {
    /// The plan of `floor(x / 2^f)` for signed `x` with `-2^(n-2) <= x < 2^(n-2)`.
    ///
    /// As `x' = x + 2^(n-2)` lies in the lower half of the ring, the wrap of `x' + r` is `msb(r)`
    /// whenever the top bit of `x_hat'` is 0, so one comparison of `f` bits is enough.
    pub(super) fn plan(&self, gate: &Gate) -> Compare {
        // The carry is computed on x': the offset is a multiple of 2^f, so the low bits of x_hat' and x_hat agree.
        Compare::new(gate, vec![carry(gate.ring(), self.shift)], self.sums(gate, OPENED_CARRY))
    }

    /// The same with the carry from the payload key: `1[y < r mod 2^f]` at `y = x_hat mod 2^f`.
    pub(super) fn plan_in_one_round(&self, gate: &Gate) -> PayloadPlan {
        let points = TreePoints::new(gate.trees()[0], &[0]); // the gate's only tree, of one payload word
        let carry = WordTerm::word(gate.word_rows() as u32); // the row after the words of the bundle
        PayloadPlan::new(points, self.sums(gate, carry).under_output_masks(gate))
    }

    /// The sum, given the carry.
    fn sums(&self, gate: &Gate, carry: WordTerm) -> BundleSums {
        let (ring, offset) = (gate.ring(), 1u64 << (gate.n() - 2)); // 3 <= n <= 64 for this gate
        let wrap = WordTerm::word(self.wrap_row()).when(Threshold { shift: offset, ..lower_half(ring) });
        // shift <= n - 2, so the shifted offset is whole
        let back = WordTerm::ONE.times(offset >> self.shift).minus();
        let sums = BundleSums::new(ring, gate.out_ring()).of_shifted(offset, self.shift);
        sums.sum(shifted(carry).into_iter().chain([wrap, back]))
    }
}

/// Shares of `1[x_hat mod 2^k < r mod 2^k]` for an `x` in `ring`.
///
/// They come from the comparison key of the low `k` bits. The bit is the carry out of the low `f`
/// bits, the borrow of the low `n - 1`, or the wrap of all `n`.
pub(super) fn carry(ring: Ring, k: u32) -> Comparison {
    let domain = Ring::new(k).unwrap_or(ring); // 1 <= k <= n for gates with such a tree
    Comparison::new(&ComparisonProgram::carry(domain, ring))
}

/// The opened carry.
const OPENED_CARRY: WordTerm = WordTerm::bit(CARRY, C_ROW);

/// [`shifted`] with the opened carry.
pub(super) const SHIFTED: [WordTerm; 3] = shifted(OPENED_CARRY);

/// `(x_hat >> f) - (r >> f) - carry`, where the shifted input is the variable of the sums.
const fn shifted(carry: WordTerm) -> [WordTerm; 3] {
    [WordTerm::ONE.power(1), WordTerm::word(BASE_ROW), carry.minus()]
}

/// The comparison that holds where the top bit of a word of `ring` is 0.
pub(super) const fn lower_half(ring: Ring) -> Threshold {
    Threshold { shift: 0, bound: 1 << (ring.bits() - 1), bits: ring.bits(), wanted: 1 }
}
